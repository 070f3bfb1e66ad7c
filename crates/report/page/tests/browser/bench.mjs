// SPDX-License-Identifier: MIT OR Apache-2.0
// How fast a report with a million slices is: in numbers, which nobody's clock decides about.

import { execFileSync } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Threads that run and sleep in turn, until there are a million slices and more. */
const WORKLOAD = { tasks: { short: { instance: 64, loop: 8000, run: 100, sleep: 200, tandem: { application: "short" } }, longer: { instance: 16, loop: 34000, run: 60, sleep: 90, tandem: { application: "longer" } } } };

/** Measures, prints, and writes times.json. */
export async function bench(browser, results) {
  const folder = join(results, "inputs");
  const file = join(folder, "million.html");
  writeFileSync(join(folder, "million.json"), JSON.stringify(WORKLOAD));
  const words = ["simulate", "million.json", "-m", process.env.BENCH_MACHINE ?? "hikey960", "--report", "million.html", "--force"];
  const simulating = time(() => execFileSync(process.env.TANDEM_COMMAND, words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] }));
  const rounds = [];
  for (let round = 0; round < 5; round++) rounds.push(await once(browser, file));
  const median = (of) => rounds.map(of).sort((one, other) => one - other)[2];
  const measured = {
    slices: rounds[0].slices,
    file_bytes: statSync(file).size,
    simulate_ms: Math.round(simulating),
    load_ms: Math.round(median(({ load }) => load)),
    zoom_frame_ms: median(({ zoom }) => zoom).toFixed(1),
    zoom_frame_p95_ms: median(({ zoomWorst }) => zoomWorst).toFixed(1),
    zoom_frames_per_s: Math.round(1000 / median(({ zoom }) => zoom)),
    draw_ms: median(({ draw }) => draw).toFixed(1),
  };
  writeFileSync(join(results, "times.json"), `${JSON.stringify(measured, null, 2)}\n`);
  console.log("A run with a million slices, medians of five:", measured);
}

function time(run) {
  const began = performance.now();
  run();
  return performance.now() - began;
}

/** Loads the page, then zooms in by 60 frames and out by 60. */
async function once(browser, file) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const began = performance.now();
  await page.goto(`file://${file}`);
  await page.waitForSelector("html[data-ready]", { timeout: 300_000 });
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const load = performance.now() - began;
  const slices = await page.textContent("figure.timeline .says");
  await page.focus(".stage");
  const frames = await page.evaluate(async () => {
    const stage = document.querySelector(".stage");
    const box = stage.querySelector("canvas").getBoundingClientRect();
    const times = [];
    let before = null;
    await new Promise((done) => {
      const frame = (now) => {
        if (before !== null) times.push(now - before);
        before = now;
        if (times.length >= 120) return done();
        // A notch of the wheel in each frame: in for a second's worth, then out again.
        const deltaY = times.length < 60 ? -30 : 30;
        stage.querySelector("canvas").dispatchEvent(new WheelEvent("wheel", { deltaY, clientX: box.x + box.width * 0.6, clientY: box.y + 60, bubbles: true, cancelable: true }));
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    });
    return times;
  });
  const sorted = [...frames].sort((one, other) => one - other);
  const drawing = await page.evaluate(() => Number(document.querySelector(".stage").dataset.drawing));
  await page.close();
  return { load, slices: slices.split(" slices")[0], zoom: frames.reduce((sum, one) => sum + one, 0) / frames.length, zoomWorst: sorted[Math.floor(sorted.length * 0.95)], draw: drawing };
}
