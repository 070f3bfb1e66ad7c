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
