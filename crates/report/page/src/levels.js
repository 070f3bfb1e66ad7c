// SPDX-License-Identifier: MIT OR Apache-2.0
// Levels of detail: what many slices, or many changes, are together, without looking at each.

import { CLASSES } from "./palette.js";
import { upper } from "./columns.js";

/** Entries of a level that become one of the next. */
const FANOUT = 16;

/** Slices of one line, with the time of each class in every group of them. */
export class Busy {
  /** `classes` is the class of each slice. */
  constructor(slices, classes) {
    this.slices = slices;
    this.classes = classes;
    this.groups = [];
    let below = null;
    let count = slices.count;
    while (count > FANOUT) {
      const next = Math.ceil(count / FANOUT);
      const sums = new Float64Array(next * CLASSES);
      if (below === null) {
        const { length } = slices;
        for (let index = 0; index < count; index++) sums[((index / FANOUT) | 0) * CLASSES + classes[index]] += length[index];
      } else {
        for (let index = 0; index < count; index++) {
          const to = ((index / FANOUT) | 0) * CLASSES;
          for (let kind = 0; kind < CLASSES; kind++) sums[to + kind] += below[index * CLASSES + kind];
        }
      }
      this.groups.push(sums);
      below = sums;
      count = next;
    }
  }

  /** Index of the slice that has `time`, or of the next one. */
  at(time) {
    const { start, length, count } = this.slices;
    const index = upper(start, time, 0, count) - 1;
    return index >= 0 && start[index] + length[index] > time ? index : index + 1;
  }

  /** Adds the time of each class between `from` and `to` into `sums`. Returns the index of the first slice that ends later. */
  sum(from, to, sums, first = this.at(from)) {
    const { start, length, count } = this.slices;
    const beyond = first < count && start[first] < to ? upper(start, to, first, count) : first;
    if (beyond <= first) return first;
    let low = first;
    let high = beyond;
    // The first and the last may be in there with a part only.
    const clip = (index) => Math.max(0, Math.min(start[index] + length[index], to) - Math.max(start[index], from));
    sums[this.classes[low]] += clip(low);
    low += 1;
    if (high > low) {
      high -= 1;
      sums[this.classes[high]] += clip(high);
    }
    this.whole(low, high, sums);
    return start[beyond - 1] + length[beyond - 1] > to ? beyond - 1 : beyond;
  }

  /** Adds the whole of the slices from `low` to before `high`. */
  whole(low, high, sums, level = -1) {
    const single = (index) => {
      if (level < 0) sums[this.classes[index]] += this.slices.length[index];
      else for (let kind = 0; kind < CLASSES; kind++) sums[kind] += this.groups[level][index * CLASSES + kind];
    };
    while (low < high && low % FANOUT !== 0) single(low++);
    while (high > low && high % FANOUT !== 0) single(--high);
    if (low >= high) return;
    if (level + 1 < this.groups.length) this.whole(low / FANOUT, high / FANOUT, sums, level + 1);
    else while (low < high) single(low++);
  }
}

/** What changes in steps, with the least and the most of every group of changes. */
export class Steps {
  constructor({ at, value }) {
    this.at = at;
    this.value = value;
    this.groups = [];
    let least = value;
    let most = value;
    while (least.length > FANOUT) {
      const count = Math.ceil(least.length / FANOUT);
      const [low, high] = [new Float64Array(count).fill(Infinity), new Float64Array(count).fill(-Infinity)];
      for (let index = 0; index < least.length; index++) {
        const to = (index / FANOUT) | 0;
        if (least[index] < low[to]) low[to] = least[index];
        if (most[index] > high[to]) high[to] = most[index];
      }
      this.groups.push([low, high]);
      [least, most] = [low, high];
    }
  }

  /** Index of the change that holds at `time`; -1 before the first. */
  index(time) {
    return upper(this.at, time) - 1;
  }

  /** The value at `time`; `null` before the first. */
  of(time) {
    const index = this.index(time);
    return index < 0 ? null : this.value[index];
  }

  /** The least and the most value between two indices, both included. */
  extent(low, high) {
    let [least, most] = [Infinity, -Infinity];
    const take = (level, index) => {
      const [lower, higher] = level < 0 ? [this.value, this.value] : this.groups[level];
      if (lower[index] < least) least = lower[index];
      if (higher[index] > most) most = higher[index];
    };
    let beyond = high + 1;
    for (let level = -1; low < beyond; level++) {
      if (level + 1 >= this.groups.length) {
        while (low < beyond) take(level, low++);
        break;
      }
      while (low < beyond && low % FANOUT !== 0) take(level, low++);
      while (beyond > low && beyond % FANOUT !== 0) take(level, --beyond);
      [low, beyond] = [low / FANOUT, beyond / FANOUT];
    }
    return [least, most];
  }
}
