// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of `tandem ui` in a real browser: what is clicked, seen and downloaded. `scripts/page-tests` runs it.
//
//   TANDEM_COMMAND  the command
//   CHROMIUM        the browser
//   RESULTS         a folder for screenshots
//
// playwright-core and axe-core are those of the page of reports, crates/report/page/node_modules.

import assert from "node:assert/strict";
import { spawn, execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";

const modules = createRequire(new URL("../../report/page/package.json", import.meta.url));
const { chromium } = modules("playwright-core");
const axe = await readFile(modules.resolve("axe-core/axe.min.js"), "utf8");
const command = path.resolve(process.env.TANDEM_COMMAND);
const SHORT = '{ "tasks": { "a": { "instance": 2, "loop": 20, "run": 1000, "sleep": 1000 } } }';
/** Three weeks, simulated: it does not end by itself while anybody waits. */
const LONG = '{ "tasks": { "a": { "instance": 8, "loop": 2000000000, "run": 900, "sleep": 100 } } }';
/** How long a test waits for what must come: nothing takes so long, however busy the computer is. */
const PATIENCE = 300_000;

let folder, server, url, browser;

before(async () => {
  await mkdir(process.env.RESULTS, { recursive: true });
  folder = await mkdtemp(path.join(tmpdir(), "tandem-page-"));
  server = spawn(command, ["ui"], { env: { ...process.env, TMPDIR: folder, TANDEM_STORE: "off" }, stdio: ["ignore", "pipe", "inherit"] });
  url = await new Promise((found) => server.stdout.once("data", (bytes) => found(String(bytes).trim())));
  const executablePath = process.env.CHROMIUM;
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"], timeout: PATIENCE });
});

after(async () => {
  await browser?.close();
  const ended = new Promise((done) => server.once("exit", done));
  server.kill("SIGINT");
  assert.equal(await ended, 0);
  await rm(folder, { recursive: true });
});

/** A page with nothing wrong on its console. */
async function open(options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const wrong = [];
  page.on("console", (message) => { if (message.type() === "error") wrong.push(message.text()); });
  page.on("pageerror", (error) => wrong.push(String(error)));
  await page.goto(url);
  await page.getByLabel("Scheduler", { exact: true }).waitFor();
  return { page, close: async () => { await context.close(); assert.deepEqual(wrong, []); } };
}

async function picture(page, name, options = {}) {
  await page.screenshot({ path: path.join(process.env.RESULTS, `ui-${name}.png`), ...options });
}

/** Serious findings of axe; the page's own rules let no other script in, so it comes through the debugger. */
async function findings(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { iframes: false }));
  return violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

/** Types a workload of one's own. */
async function edit(page, text, name) {
  const workload = page.locator("#workload");
  await workload.getByRole("button", { name: "Edit" }).click();
  await workload.getByLabel("Name of the file").fill(name);
  await workload.getByLabel("Text", { exact: true }).fill(text);
  await workload.getByText("No mistake in the text.").waitFor();
}

const done = (page) => page.locator("#state").getByText("✓ done").waitFor({ timeout: PATIENCE });

test("a mistake in a text is shown with its line and column, and a click goes there", async () => {
  const { page, close } = await open();
  const machine = page.locator("#machine");
  await machine.getByLabel("Description").selectOption("rk3399");
  await machine.getByRole("button", { name: "Edit" }).click();
  const area = machine.getByLabel("Text", { exact: true });
  await machine.getByText("No mistake in the text.").waitFor();
  const text = await area.inputValue();
  const at = text.split("\n").findIndex((line) => line.startsWith("["));
  const lines = text.split("\n");
  lines[at] += "x";
  await area.fill(lines.join("\n"));
  const place = machine.getByRole("button", { name: `line ${at + 1}, column` });
  await place.waitFor();
  await picture(page, "mistake");
  assert.deepEqual(await findings(page), []);
  await place.click();
  const caret = await area.evaluate((node) => node.value.slice(0, node.selectionStart).split("\n").length);
  assert.equal(caret, at + 1);
  assert.equal(await area.getAttribute("aria-invalid"), "true");
  page.once("dialog", (dialog) => dialog.accept());
  await machine.getByRole("button", { name: "As bundled" }).click();
  await machine.getByText("No mistake in the text.").waitFor();
  await close();
});

test("what was typed is there after another choice, a question and a reload", async () => {
  const { page, close } = await open();
  const machine = page.locator("#machine");
  const [chosen, area] = [machine.getByLabel("Description"), machine.getByLabel("Text", { exact: true })];
  await chosen.selectOption("rk3399");
  await machine.getByRole("button", { name: "Edit" }).click();
  await machine.getByText("No mistake in the text.").waitFor();
  const typed = `# mine\n${await area.inputValue()}`;
  await area.fill(typed);
  await machine.getByLabel("Name of the file").fill("mine");
  await chosen.selectOption("hikey960");
  await machine.getByText("No mistake in the text.").waitFor();
  assert.notEqual(await area.inputValue(), typed);
  await chosen.selectOption("rk3399");
  await page.waitForFunction((text) => document.querySelector("#machine [name=text]").value === text, typed);
  assert.equal(await machine.getByLabel("Name of the file").inputValue(), "mine");
  const asked = [];
  page.once("dialog", (dialog) => { asked.push(dialog.message()); dialog.dismiss(); });
  await machine.getByRole("button", { name: "As bundled" }).click();
  assert.equal(asked.length, 1);
  assert.equal(await area.inputValue(), typed);
  await edit(page, SHORT, "short");
  await page.getByRole("button", { name: "Add a scheduler" }).click();
  await page.getByLabel("Settings", { exact: true }).nth(1).fill("mode=powersave");
  await page.getByLabel("First seed").fill("7");
  await page.reload();
  await page.getByLabel("Scheduler", { exact: true }).nth(1).waitFor();
  assert.equal(await chosen.inputValue(), "rk3399");
  assert.equal(await area.inputValue(), typed);
  assert.equal(await machine.getByLabel("Name of the file").inputValue(), "mine");
  assert.equal(await page.locator("#workload").getByLabel("Text", { exact: true }).inputValue(), SHORT);
  assert.equal(await page.getByLabel("Settings", { exact: true }).nth(1).inputValue(), "mode=powersave");
  assert.equal(await page.getByLabel("First seed").inputValue(), "7");
  await close();
});

test("a text that is too large to be kept is asked for before the page goes", async () => {
  const { page, close } = await open();
  const workload = page.locator("#workload");
  await workload.getByRole("button", { name: "Edit" }).click();
  await workload.getByText("No mistake in the text.").waitFor();
  await workload.getByLabel("Text", { exact: true }).fill(`${SHORT}${" ".repeat(3 << 20)}${"\u2003".repeat(3 << 20)}`);
  const asked = [];
  page.on("dialog", (dialog) => { asked.push(dialog.type()); dialog.accept(); });
  await page.reload();
  assert.deepEqual(asked, ["beforeunload"]);
  void close;
  await page.context().close();
});

test("a run shows its numbers, its command and its report, and is saved as the command would print it", async () => {
  const { page, close } = await open();
  await edit(page, SHORT, "mine");
  await page.getByLabel("First seed").fill("7");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("heading", { name: /^Run 1: / }).waitFor();
  await done(page);
  await page.locator("#summary th", { hasText: /^energy$/ }).waitFor();
  await page.getByText("The same on the command line").click();
  const words = (await page.locator(".command pre").textContent()).split(" ");
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Save the JSON" }).click()]);
  assert.match(download.suggestedFilename(), /^tandem-\d+\.json$/);
  const saved = await readFile(await download.path(), "utf8");
  const own = await mkdtemp(path.join(folder, "own-"));
  await writeFile(path.join(own, "mine.json"), SHORT);
  const { stdout } = await promisify(execFile)(command, words.slice(1), { cwd: own, maxBuffer: 1 << 28 });
  assert.ok(saved === stdout, "the same bytes");
  await close();
});

test("a comparison grows, and its report can be saved and opened without the server", async () => {
  const { page, close } = await open();
  await edit(page, SHORT, "mine");
  await page.getByRole("button", { name: "Add a scheduler" }).click();
  assert.equal(await page.getByLabel("Scheduler", { exact: true }).nth(1).inputValue(), "tandem");
  // Of a thousand runs nobody is too late to see a few.
  await page.getByRole("spinbutton", { name: "Runs of each" }).fill("1000");
  const captions = new Set();
  let seen;
  const growth = new Promise((done) => { seen = done; });
  await page.exposeFunction("grown", (caption) => { if (captions.add(caption).size >= 2) seen(); });
  await page.evaluate(() => new MutationObserver(() => {
    const caption = document.querySelector("#summary caption")?.textContent;
    if (caption) globalThis.grown(caption);
  }).observe(document.getElementById("summary"), { childList: true }));
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await page.getByRole("heading", { name: /^Comparison/ }).waitFor();
  await page.locator("#reached").getByText(/^\d+\/2000 runs, \d+ (s|min|h) left$/).waitFor();
  await growth;
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.locator("#state").getByText("cancelled").waitFor();
  await page.getByRole("spinbutton", { name: "Runs of each" }).fill("5");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await done(page);
  await page.getByText("5 runs of each").first().waitFor();
  assert.equal(await page.locator("#summary tbody tr").count(), 2);
  const frame = page.frameLocator("#report");
  await frame.locator("h1, h2").first().waitFor();
  await picture(page, "comparison", { fullPage: true });
  assert.deepEqual(await findings(page), []);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Save the report" }).click()]);
  const file = path.join(folder, "saved.html");
  await download.saveAs(file);
  const alone = await browser.newPage();
  const asked = [];
  alone.on("request", (request) => { if (!/^(file|data|blob):/.test(request.url())) asked.push(request.url()); });
  await alone.goto(`file://${file}`);
  await alone.locator("h1, h2").first().waitFor();
  assert.deepEqual(asked, []);
  await alone.close();
  await close();
});

test("a run can be cancelled, and several wait for each other", async () => {
  const { page, close } = await open();
  await edit(page, LONG, "long");
  const run = page.getByRole("button", { name: "Run", exact: true });
  await run.click();
  await page.locator("#state").getByText("▶ runs").waitFor();
  await run.click();
  await page.locator("#state").getByText("waits").waitFor();
  await picture(page, "waiting");
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.locator("#state").getByText("cancelled").waitFor();
  await page.getByRole("navigation", { name: "Runs" }).getByRole("button", { name: /, runs$/ }).click();
  await page.getByRole("button", { name: "Cancel", exact: true }).click();
  await page.locator("#state").getByText("cancelled").waitFor();
  await close();
});

test("what the command finds wrong is shown, and never as markup", async () => {
  const { page, close } = await open();
  await page.getByLabel("Scheduler", { exact: true }).fill("<img src=x onerror=alert(1)>");
  page.on("dialog", () => assert.fail("a script ran"));
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.locator("#state").getByText("failed").waitFor();
  assert.match(await page.locator("#said").textContent(), /<img src=x/);
  assert.equal(await page.locator("#results img").count(), 0);
  await page.locator("#machine").getByRole("button", { name: "Edit" }).click();
  await page.locator("#machine").getByLabel("Name of the file").fill("../x");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByRole("alert").getByText("small letters").waitFor();
  await page.context().close();
  void close;
});

test("everything is found by keyboard, in light, dark and on a narrow screen", async () => {
  for (const [name, options] of [
    ["light", { colorScheme: "light" }],
    ["dark", { colorScheme: "dark" }],
    ["narrow", { viewport: { width: 390, height: 844 }, colorScheme: "light" }],
  ]) {
    const { page, close } = await open(options);
    await page.locator("#state").waitFor();
    await picture(page, name, { fullPage: true });
    assert.deepEqual(await findings(page), [], name);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
    assert.ok(wide, `${name}: nothing is wider than the screen`);
    const reached = new Set();
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press("Tab");
      reached.add(await page.evaluate(() => document.activeElement.name || document.activeElement.id || document.activeElement.textContent.trim()));
    }
    for (const wanted of ["To the results", "name", "edit", "scheduler", "governor", "add", "runs", "seed", "quiet", "Run"]) {
      assert.ok(reached.has(wanted), `${name}: ${wanted} of ${[...reached]}`);
    }
    await close();
  }
});

test("another page in the same browser gets nothing, even if it knows the address", async () => {
  const evil = createServer((_, answer) => answer.setHeader("content-type", "text/html").end("<!doctype html><title>other</title>"));
  await new Promise((listening) => evil.listen(0, "127.0.0.1", listening));
  const page = await browser.newPage();
  await page.goto(`http://127.0.0.1:${evil.address().port}/`);
  const got = await page.evaluate(async (url) => {
    const attempt = async (options) => { try { return `read ${(await fetch(url + "jobs", options)).status}`; } catch { return "nothing"; } };
    const framed = await new Promise((done) => {
      const frame = document.createElement("iframe");
      frame.src = url;
      frame.onload = () => { try { done(frame.contentDocument ? "empty" : "foreign"); } catch { done("foreign"); } };
      document.body.append(frame);
    });
    const script = await new Promise((done) => {
      const made = document.createElement("script");
      made.src = url + "ui.js";
      made.onload = () => done("loaded");
      made.onerror = () => done("nothing");
      document.body.append(made);
    });
    return [await attempt(), await attempt({ method: "POST", body: "{}" }), await attempt({ method: "POST", mode: "no-cors", body: "{}" }), framed, script];
  }, url);
  assert.deepEqual(got.slice(0, 2), ["nothing", "nothing"]);
  // An opaque answer tells nothing.
  assert.ok(["nothing", "read 0"].includes(got[2]), got[2]);
  assert.equal(got[4], "nothing");
  assert.equal(page.frames().filter((frame) => frame.url().startsWith(url)).length, 0, "not embedded");
  await page.close();
  evil.close();
});

test("several schedulers are run ten times each unless somebody says otherwise", async () => {
  const { page, close } = await open();
  const runs = page.getByRole("spinbutton", { name: "Runs of each" });
  assert.equal(await runs.inputValue(), "1");
  await edit(page, SHORT, "mine");
  await page.getByRole("button", { name: "Add a scheduler" }).click();
  assert.equal(await runs.inputValue(), "10");
  await page.getByRole("button", { name: "Compare", exact: true }).click();
  await done(page);
  await page.locator("#summary caption", { hasText: "10 runs of each, means ± 95 % intervals" }).waitFor();
  await page.getByRole("button", { name: "Remove scheduler 2" }).click();
  assert.equal(await runs.inputValue(), "1");
  await runs.fill("3");
  await page.getByRole("button", { name: "Add a scheduler" }).click();
  assert.equal(await runs.inputValue(), "3");
  await close();
});
