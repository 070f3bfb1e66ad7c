// SPDX-License-Identifier: MIT OR Apache-2.0
// What all plots have in common.

import { plot } from "@observablehq/plot";
import { h } from "../dom.js";
import { redrawn } from "../frame.js";

/** A plot that is drawn again when its width or the page's colours change. `options` is called with the width. */
export function plotted(label, options) {
  const place = h("div", { class: "plot" });
  return redrawn(place, (width) => {
    const drawn = plot({ style: { background: "transparent", fontSize: "12px", fontFamily: "inherit", overflow: "visible" }, width, ...options(width) });
    drawn.setAttribute("role", "img");
    drawn.setAttribute("aria-label", label);
    drawn.querySelectorAll("[aria-label]").forEach((part) => part.removeAttribute("aria-label"));
    return drawn;
  });
}

/** Room for labels of this length at the left of a plot. */
export function roomFor(labels, width) {
  const longest = Math.max(0, ...labels.map((label) => label.length));
  return Math.round(Math.min(Math.max(longest * 6.6 + 14, 40), width * 0.42));
}

/** A label that fits into so many pixels. */
export function shortened(label, room) {
  const most = Math.max(Math.floor((room - 12) / 6.6), 4);
  return label.length <= most ? label : `${label.slice(0, most - 1)}…`;
}

/** The powers of ten from the least to the most of positive numbers, for a logarithmic axis. */
export function decades(values) {
  const sizes = values.map(Math.log10);
  const [first, last] = [Math.floor(Math.min(...sizes)), Math.ceil(Math.max(...sizes))];
  return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, index) => 10 ** (first + index));
}

/** How far each of some labels is moved down so that none stands on another; `at` is where each belongs, in pixels from above. */
export function apart(at, least = 14) {
  const order = [...at.keys()].sort((one, other) => at[one] - at[other]);
  const shift = new Array(at.length).fill(0);
  let before = -Infinity;
  for (const index of order) {
    const place = Math.max(at[index], before + least);
    shift[index] = place - at[index];
    before = place;
  }
  return shift;
}
