// SPDX-License-Identifier: MIT OR Apache-2.0
// Levels of detail give what looking at every slice, or every change, gives.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Busy, Steps } from "../../src/levels.js";
import { CLASSES } from "../../src/palette.js";

/** A small generator, so that each run has the same numbers. */
function random(seed) {
  return () => {
    seed = (seed * 1664525 + 1013904223) >>> 0;
    return seed / 2 ** 32;
  };
}

function slices(count, draw) {
  const [start, length] = [new Float64Array(count), new Float64Array(count)];
  const classes = new Uint8Array(count);
  let time = 0;
  for (let index = 0; index < count; index++) {
    time += Math.floor(draw() * 50);
    start[index] = time;
    length[index] = 1 + Math.floor(draw() * 100);
    classes[index] = Math.floor(draw() * CLASSES);
    time += length[index];
  }
  return { busy: new Busy({ count, start, length }, classes), start, length, classes, end: time };
}

test("the time of each class in a span is that of its slices, however many there are", () => {
  const draw = random(1);
  for (const count of [1, 15, 16, 17, 255, 5000]) {
    const { busy, start, length, classes, end } = slices(count, draw);
    for (let round = 0; round < 50; round++) {
      const [from, to] = [draw() * end, draw() * end].sort((one, other) => one - other);
      const expected = new Float64Array(CLASSES);
      for (let index = 0; index < count; index++) {
        expected[classes[index]] += Math.max(0, Math.min(start[index] + length[index], to) - Math.max(start[index], from));
      }
      const sums = new Float64Array(CLASSES);
      busy.sum(from, to, sums);
      sums.forEach((sum, kind) => assert.ok(Math.abs(sum - expected[kind]) < 1e-3 * Math.max(1, expected[kind]), `${count} ${round} ${kind}: ${sum} ${expected[kind]}`));
    }
  }
});

test("columns side by side have all of the time, none of it twice", () => {
  const draw = random(2);
  const { busy, length, end } = slices(3000, draw);
  const sums = new Float64Array(CLASSES);
  const step = end / 777;
  let first = busy.at(0);
  for (let column = 0; column < 777; column++) first = busy.sum(column * step, (column + 1) * step, sums, first);
  const all = length.reduce((sum, one) => sum + one, 0);
  assert.ok(Math.abs(sums.reduce((sum, one) => sum + one, 0) / all - 1) < 1e-6);
});

test("a slice is found by any time within it, and the next one by a time before it", () => {
  const busy = new Busy({ count: 2, start: new Float64Array([10, 30]), length: new Float64Array([10, 5]) }, new Uint8Array(2));
  assert.deepEqual([0, 10, 19, 20, 29, 30, 34, 35].map((time) => busy.at(time)), [0, 0, 0, 1, 1, 1, 1, 2]);
});

test("the least and the most of a span of changes are those of each", () => {
  const draw = random(3);
  for (const count of [1, 16, 17, 300, 5000]) {
    const value = Float64Array.from({ length: count }, () => Math.floor(draw() * 1e6));
    const steps = new Steps({ at: Float64Array.from({ length: count }, (_, index) => index * 10), value });
    for (let round = 0; round < 50; round++) {
      const [low, high] = [Math.floor(draw() * count), Math.floor(draw() * count)].sort((one, other) => one - other);
      const part = value.slice(low, high + 1);
      assert.deepEqual(steps.extent(low, high), [Math.min(...part), Math.max(...part)]);
    }
    assert.deepEqual([steps.of(-1), steps.of(0), steps.of(9), steps.of(count * 10)], [null, value[0], value[0], value[count - 1]]);
  }
});
