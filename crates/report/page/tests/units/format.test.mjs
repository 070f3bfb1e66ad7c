// SPDX-License-Identifier: MIT OR Apache-2.0

import assert from "node:assert/strict";
import { test } from "node:test";
import { count, instant, interval, measured, quantity } from "../../src/format.js";
import { ranges } from "../../src/timeline/model.js";
import { verdict, verdictOf } from "../../src/figures/verdict.js";
import { View } from "../../src/timeline/view.js";

const plain = (text) => text.replaceAll(/[\u00a0\u202f]/g, " ");

test("quantities have the prefix that leaves one to three digits before the point", () => {
  const cases = [[0, "0 s"], [1.5, "1.500 s"], [0.9996, "0.9996 s"], [0.012345, "12.35 ms"], [2.5e-9, "2.500 ns"], [12345, "12.35 ks"], [null, "–"]];
  for (const [value, text] of cases) assert.equal(plain(quantity(value, "s")), text);
});

test("an interval has as many decimals as two of its digits tell", () => {
  assert.equal(interval(1.23456, 0.0123), "1.235 ± 0.012");
  assert.equal(interval(1995.2, 92), "1995 ± 92");
  assert.equal(interval(2, null), "2.000");
  assert.equal(plain(measured(0.00123, 0.00004, "s")), "1.230 ± 0.040 ms");
  assert.equal(plain(measured(0, 0, "s")), "0.000 ± 0.000 s");
});

test("instants have all digits, and counts groups of three", () => {
  assert.equal(plain(instant(1234567890)), "1.234 567 890 s");
  assert.equal(plain(count(1234567)), "1 234 567");
  assert.equal(ranges([0, 1, 2, 5, 7, 8]), "0–2, 5, 7–8");
});

test("a ratio is better or worse only where its interval leaves 1 out", () => {
  assert.equal(verdict("time_s", 0.9, 0.05).word, "better");
  assert.equal(verdict("time_s", 1.1, 0.05).word, "worse");
  assert.equal(verdict("frames_per_s", 1.1, 0.05).word, "better");
  assert.equal(verdict("time_s", 0.9, 0.2).kind, "unsure");
  assert.equal(verdict("time_s", null, null).kind, "none");
});

test("who ignored what another one heeded is neither better nor worse", () => {
  const metrics = { energy_j: { ratio: 0.5, ratio_half_width: 0.01 } };
  const first = { metrics };
  assert.equal(verdictOf({ metrics }, first, "energy_j").word, "better");
  const ignoring = { metrics, ignored: { "cpu.max": "group /a used 2.00 CPUs of 0.22 that it may" } };
  assert.equal(verdictOf(ignoring, first, "energy_j").sign, "~");
  assert.equal(verdictOf(ignoring, ignoring, "energy_j").word, "better");
});

test("a view stays within its run", () => {
  const view = new View(1000);
  view.zoom(0.5, 0);
  assert.deepEqual([view.from, view.to], [0, 500]);
  view.pan(10);
  assert.deepEqual([view.from, view.to], [500, 1000]);
  view.zoom(100);
  assert.ok(view.isAll());
  view.show(400, 400.5);
  assert.equal(view.span, 100);
});
