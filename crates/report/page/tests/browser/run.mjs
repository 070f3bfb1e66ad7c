// SPDX-License-Identifier: MIT OR Apache-2.0
// Opens reports of the command in a browser without a window, and tries what people do with them.
//
//   node tests/browser/run.mjs [NAME…]
//
// Environment: TANDEM_COMMAND, CHROMIUM, RESULTS, BENCH: see scripts/page-tests. Exit status: 0 if all tests passed, else 1.

import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";
import { pages } from "./pages.mjs";
import { tests } from "./tests.mjs";
import { bench } from "./bench.mjs";

/** Milliseconds that a test waits for what must come: nothing takes so long, however busy the computer is. */
const PATIENCE = 300_000;
const results = process.env.RESULTS ?? "out";
mkdirSync(results, { recursive: true });
const wanted = process.argv.slice(2);
const chosen = tests.filter(({ name }) => wanted.length === 0 || wanted.some((word) => name.includes(word)));
const files = pages(results);
// A container's user has no other sandbox; what is opened here was made here.
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox"], timeout: PATIENCE });

let failed = 0;
for (const { name, file, options, run } of chosen) {
  // Without motion: a page that still scrolls smoothly moves a lane between its measuring and the click on it.
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, reducedMotion: "reduce", ...options, offline: true });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const mistakes = [];
  page.on("pageerror", (error) => mistakes.push(error.stack));
  page.on("console", (message) => message.type() === "error" && mistakes.push(message.text()));
  page.on("request", (request) => /^(file|data|blob|about):/.test(request.url()) || mistakes.push(`asks for ${request.url()}`));
  const began = performance.now();
  try {
    await page.goto(`file://${files[file]}`);
    await page.waitForSelector("html[data-ready]");
    await run({ page, results, context });
    if (mistakes.length > 0) throw new Error(mistakes.join("\n"));
    console.log(`ok     ${name} (${Math.round(performance.now() - began)} ms)`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}\n${error.stack}\n${mistakes.join("\n")}`);
    await page.screenshot({ path: `${results}/failed-${name.replaceAll(/\W+/g, "-")}.png` }).catch(() => {});
  }
  await context.close();
}
if (process.env.BENCH === "yes") await bench(browser, results);
await browser.close();
console.log(`Page: ${chosen.length - failed} passed, ${failed} failed; screenshots are in ${results}`);
process.exit(failed === 0 ? 0 : 1);
