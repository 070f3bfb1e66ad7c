// SPDX-License-Identifier: MIT OR Apache-2.0
// Figures as files: what the page shows, for a paper or a mail.

import { h } from "./dom.js";

/** Offers `blob` as a file of this name. */
export function download(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A plot as an SVG that needs no style sheet: colours and fonts are the page's present ones. */
export function svgOf(plot) {
  const style = getComputedStyle(document.documentElement);
  const resolved = (value) => value.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  const copy = plot.cloneNode(true);
  for (const element of [copy, ...copy.querySelectorAll("*")]) {
    for (const { name, value } of [...element.attributes]) if (value.includes("var(")) element.setAttribute(name, resolved(value));
  }
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.style.background = style.getPropertyValue("--paper").trim();
  copy.style.color = style.getPropertyValue("--ink").trim();
  copy.style.fontFamily = "sans-serif";
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(copy)}\n`;
}

/** A file's name of a title: `energy-by-part`. */
export function stem(title) {
  return title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || "figure";
}
