// SPDX-License-Identifier: MIT OR Apache-2.0
// What people do with a report: what they click, see and save.

import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { HOSTILE } from "./pages.mjs";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const DARK = { colorScheme: "dark" };
const NARROW = { viewport: { width: 390, height: 844 } };
const STAGE = ".stage";

export const tests = [];
const test = (name, file, run, options = {}) => tests.push({ name, file, options, run });

/** The part of the run that the timeline shows: from, to. */
const view = async (page) => (await page.getAttribute(STAGE, "data-view")).split(" ").map(Number);

/** Lets the page draw. */
const drawn = (page) => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** Findings of axe-core that hinder people: serious and critical ones. */
async function serious(page) {
  // By the debugger's own door, as the page lets no script in.
  const { violations, passes } = await page.evaluate(`${AXE}; axe.run(document, { resultTypes: ["violations", "passes"] })`);
  assert.ok(passes.length > 20, "axe-core has looked at the page");
  const found = violations.filter(({ impact }) => ["serious", "critical"].includes(impact));
  return found.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map(({ html, failureSummary }) => `${html.slice(0, 200)} ${failureSummary}`).join(" | ")}`);
}

/** The share of a canvas's pixels that are of one of the palette's hues: neither grey nor white. */
const coloured = (page, selector) =>
  page.$eval(selector, (canvas) => {
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let count = 0;
    for (let at = 0; at < data.length; at += 4) if (Math.max(data[at], data[at + 1], data[at + 2]) - Math.min(data[at], data[at + 1], data[at + 2]) > 60) count += 1;
    return count / (data.length / 4);
  });

for (const [file, names] of Object.entries({
  run: ["Summary", "Who ran where", "Machine", "Energy", "Latency", "Threads", "Provenance"],
  plain: ["Summary", "Machine", "Energy", "Latency", "Threads", "Provenance"],
  all: ["Summary", "Who ran where", "Machine", "Energy", "Latency", "Threads", "Comparison", "What governors save and cost", "Waits", "Provenance"],
  matrix: ["Comparisons", "Provenance"],
})) {
  test(`the contents of ${file} lead to its sections`, file, async ({ page }) => {
    assert.deepEqual(await page.$$eval("nav a", (links) => links.map((link) => link.textContent)), names);
    await page.click("nav li:last-child a");
    const id = (await page.getAttribute("nav li:last-child a", "href")).slice(1);
    await page.waitForFunction((id) => document.getElementById(id).getBoundingClientRect().top < innerHeight, id);
  });

  for (const [colours, options] of Object.entries({ light: {}, dark: DARK, narrow: NARROW })) {
    test(`${file} hinders nobody who reads it otherwise, ${colours}`, file, async ({ page, results }) => {
      assert.deepEqual(await serious(page), []);
      await page.screenshot({ path: `${results}/${file}-${colours}.png`, fullPage: true });
    }, options);
  }
}

test("a report fits a narrow screen", "all", async ({ page }) => {
  const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(content <= width, `${content} px of content on ${width} px`);
}, NARROW);

test("a report prints whole, light even where the screen is dark", "all", async ({ page, results }) => {
  await page.pdf({ path: `${results}/all.pdf`, format: "A4", printBackground: true });
  assert.ok(statSync(`${results}/all.pdf`).size > 50_000);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.isVisible("nav"), false);
}, DARK);

test("the timeline is zoomed and moved by keys, and says each slice", "run", async ({ page }) => {
  await page.focus(STAGE);
  const whole = await view(page);
  await page.keyboard.press("+");
  await drawn(page);
  const [from, to] = await view(page);
  assert.ok(Math.abs((to - from) / (whole[1] - whole[0]) - 0.5) < 1e-6);
  await page.keyboard.press("]");
  await drawn(page);
  assert.ok((await view(page))[0] > from);
  await page.keyboard.press("ArrowRight");
  const first = await page.textContent(".slice");
  assert.match(first, /^CPU \d+: \S+ \(\w+\) ran from [\d.\s]+s for /);
  await page.keyboard.press("ArrowDown");
  const other = await page.textContent(".slice");
  assert.notEqual(other.split(":")[0], first.split(":")[0]);
  await page.keyboard.press("ArrowLeft");
  const before = await page.textContent(".slice");
  assert.notEqual(before, other);
  assert.equal(before.split(":")[0], other.split(":")[0]);
  await page.keyboard.press("ArrowRight");
  assert.equal(await page.textContent(".slice"), other);
  await page.keyboard.press("Enter");
  await drawn(page);
  const near = await view(page);
  assert.ok(near[1] - near[0] < (to - from) / 5, "Enter shows the slice from near");
  await page.keyboard.press("Home");
  await drawn(page);
  assert.deepEqual(await view(page), whole);
});

test("the timeline is zoomed and moved by pointer and wheel", "run", async ({ page }) => {
  const box = await (await page.$(`${STAGE} canvas`)).boundingBox();
  const whole = await view(page);
  const middle = [box.x + box.width / 2, box.y + 40];
  await page.mouse.move(...middle);
  // Without being chosen, the wheel scrolls the page.
  await page.mouse.wheel(0, 1);
  await drawn(page);
  assert.deepEqual(await view(page), whole);
  const again = await (await page.$(`${STAGE} canvas`)).boundingBox();
  await page.mouse.click(again.x + again.width / 2, again.y + 40);
  await page.mouse.wheel(0, -100);
  await drawn(page);
  const zoomed = await view(page);
  assert.ok(zoomed[1] - zoomed[0] < (whole[1] - whole[0]) * 0.8);
  await page.mouse.down();
  await page.mouse.move(again.x + again.width / 2 - 200, again.y + 45, { steps: 4 });
  await page.mouse.up();
  await drawn(page);
  assert.ok((await view(page))[0] > zoomed[0], "dragging to the left shows what is later");
  await page.keyboard.down("Shift");
  await page.mouse.move(again.x + 300, again.y + 45);
  await page.mouse.down();
  await page.mouse.move(again.x + 500, again.y + 45, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await drawn(page);
  const marked = await view(page);
  assert.ok(marked[1] - marked[0] < (zoomed[1] - zoomed[0]) * 0.4, "what was marked is shown");
});

test("a click on a slice says which thread it is of", "run", async ({ page }) => {
  await page.focus(STAGE);
  for (let round = 0; round < 5; round++) await page.keyboard.press("+");
  await drawn(page);
  const canvas = await page.$(`${STAGE} canvas`);
  const box = await canvas.boundingBox();
  for (let x = 120; x < box.width && !/ran from/.test(await page.textContent(".slice")); x += 15) await page.mouse.click(box.x + x, box.y + 63);
  assert.match(await page.textContent(".slice"), /^CPU 1: /);
});

test("what is drawn is seen: lanes have colours, from afar and near", "run", async ({ page, results }) => {
  assert.ok((await coloured(page, `${STAGE} canvas`)) > 0.03);
  await page.focus(STAGE);
  for (let round = 0; round < 6; round++) await page.keyboard.press("+");
  await drawn(page);
  assert.ok((await coloured(page, `${STAGE} canvas`)) > 0.03);
  await (await page.$("figure.timeline")).screenshot({ path: `${results}/near.png` });
});

test("tables behind figures have the numbers of the report", "run", async ({ page }) => {
  await page.click("text=Who ran where, as a table");
  await page.waitForSelector("figure.timeline tbody tr");
  const shares = await page.$$eval("figure.timeline tbody tr:first-child td", (cells) => cells.map((cell) => parseFloat(cell.textContent)));
  const sum = shares.reduce((sum, share) => sum + share, 0);
  assert.ok(Math.abs(sum - 100) < 0.5, `the shares of a CPU's time are ${sum} %`);
  await page.click("text=The slices in view, as a table");
  await page.waitForFunction(() => document.querySelectorAll("figure.timeline details[open] tbody tr").length > 50);
});

test("a wait is shown in the timeline of its run", "all", async ({ page }) => {
  const whole = await view(page);
  await page.click(".chain button:has-text('Show in the timeline')");
  await drawn(page);
  const [from, to] = await view(page);
  assert.ok(to - from < (whole[1] - whole[0]) / 10);
  assert.equal(await page.evaluate(() => document.activeElement.className), "stage");
  assert.match(await page.textContent(".slice"), /^The timeline shows /);
});

test("colours tell threads where that is asked for", "run", async ({ page }) => {
  const legend = () => page.$$eval(".legend li", (items) => items.map((item) => item.textContent));
  assert.deepEqual(await legend(), ["game", "sound", "compiler", "system tasks"]);
  await page.selectOption(".controls label:has-text('Colours') select", "thread");
  const threads = await legend();
  assert.ok(threads.includes("render-0") && threads.includes("further threads"), String(threads));
});

test("lanes are threads where that is asked for, with their waits", "run", async ({ page, results }) => {
  await page.selectOption(".controls label:has-text('Lanes') select", "threads");
  await drawn(page);
  const legend = await page.$$eval(".legend li", (items) => items.map((item) => item.textContent));
  assert.ok(legend.includes("waits for a CPU"), String(legend));
  await page.focus(STAGE);
  await page.keyboard.press("ArrowRight");
  const said = new Set();
  for (let round = 0; round < 40; round++) {
    said.add((await page.textContent(".slice")).split(" ").slice(0, 3).join(" "));
    await page.keyboard.press("ArrowRight");
  }
  assert.ok([...said].some((text) => /^CPU \d+: /.test(text)), String([...said]));
  await page.click("text=Who ran where, as a table");
  await page.waitForFunction(() => document.querySelectorAll("figure.timeline tbody tr").length > 8);
  await (await page.$("figure.timeline")).screenshot({ path: `${results}/threads.png` });
});

test("tracks are hidden and shown", "run", async ({ page }) => {
  const height = async () => (await (await page.$(`${STAGE} canvas`)).boundingBox()).height;
  const before = await height();
  await page.click("label:has-text('Clocks')");
  await drawn(page);
  const without = await height();
  assert.ok(without < before);
  await page.click("label:has-text('Power of each CPU')");
  await drawn(page);
  assert.ok((await height()) > without);
});

test("the timeline is saved as a picture", "run", async ({ page }) => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("text=Save as PNG")]);
  assert.equal(download.suggestedFilename(), "timeline.png");
  const head = readFileSync(await download.path()).subarray(1, 4).toString();
  assert.equal(head, "PNG");
});

test("a plot is saved as an SVG that stands by itself", "run", async ({ page, results }) => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("figure:has-text('Energy by part') .save")]);
  assert.equal(download.suggestedFilename(), "energy-by-part.svg");
  const svg = readFileSync(await download.path(), "utf8");
  assert.ok(svg.startsWith("<?xml") && svg.includes("Cores and clusters") && !svg.includes("var("), svg.slice(0, 300));
  await download.saveAs(`${results}/energy-by-part.svg`);
});

test("threads are sorted by a click on a heading", "run", async ({ page }) => {
  const names = () => page.$$eval(".sortable tbody th", (cells) => cells.map((cell) => cell.textContent));
  await page.click(".sortable button:has-text('Thread')");
  const up = await names();
  assert.deepEqual(up, [...up].sort((one, other) => one.localeCompare(other)));
  await page.click(".sortable button:has-text('Thread')");
  assert.equal(await page.getAttribute(".sortable th:first-child", "aria-sort"), "descending");
});

test("colours follow the button", "run", async ({ page }) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.click("#theme");
  await page.click("#theme");
  assert.equal(await page.textContent("#theme"), "Colours: dark");
  assert.notEqual(await ground(), light);
  await page.click("#theme");
  assert.equal(await ground(), light);
});

test("a matrix shows the metric that is chosen", "matrix", async ({ page }) => {
  const caption = () => page.textContent(".matrix caption");
  assert.match(await caption(), /^Run time/);
  await page.selectOption("select >> nth=0", { label: "Energy" });
  assert.match(await caption(), /^Energy/);
  assert.equal(await page.$$eval(".matrix tbody tr", (rows) => rows.length), 4);
});

test("names that are code stay names", "hostile", async ({ page }) => {
  assert.equal(await page.title(), HOSTILE);
  assert.equal(await page.textContent("h1"), HOSTILE);
  assert.equal(await page.$$eval("main img", (images) => images.length), 0);
  assert.ok((await page.textContent(".warnings")).includes("<!-- <script>"));
});

test("the whole page is reached by keyboard", "run", async ({ page }) => {
  const seen = new Set();
  for (let round = 0; round < 60; round++) {
    await page.keyboard.press("Tab");
    seen.add(await page.evaluate(() => document.activeElement.className || document.activeElement.tagName));
  }
  for (const wanted of ["skip", "stage", "scroll", "SUMMARY", "INPUT"]) assert.ok(seen.has(wanted), `${wanted} of ${[...seen]}`);
});
