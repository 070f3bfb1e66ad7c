// SPDX-License-Identifier: MIT OR Apache-2.0
// What is around the sections: title, contents, light and dark.

import { h } from "./dom.js";

/** The head of the page, with what it shows in a line. */
export function head(report) {
  return h("header", { class: "head" }, h("h1", {}, report.title), h("p", { class: "subtitle" }, subtitle(report)));
}

function subtitle({ runs, compared, experiments, waits, tandem }) {
  const several = (count, one, many) => (count === 0 ? [] : [count === 1 ? `one ${one}` : `${count} ${many}`]);
  const comparisons = compared.reduce((sum, { comparisons }) => sum + comparisons.length, 0);
  const what = [
    ...several(runs.length, "run", "runs"),
    ...several(comparisons, "comparison", "comparisons"),
    ...several(experiments.length, "experiment", "experiments"),
    ...several(waits.length, "run's waits", "runs' waits"),
  ];
  return `${what.join(", ")} · simulated, and drawn by tandem ${tandem}`;
}

/** The contents, which stay in sight. */
export function navigation(sections) {
  const links = sections.map(({ id, short }) => h("li", {}, h("a", { href: `#${id}` }, short)));
  return h("nav", { "aria-label": "Contents" }, h("ul", {}, links), h("div", { class: "tools" }, themeButton(), printButton()));
}

function printButton() {
  return h("button", { type: "button", click: () => print() }, "Print");
}

const NEXT = { auto: "light", light: "dark", dark: "auto" };
let theme = "auto";

function themeButton() {
  const button = h("button", { type: "button", id: "theme", title: "As the system, light or dark" }, "Colours: system");
  button.addEventListener("click", () => {
    theme = NEXT[theme];
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Colours: ${theme === "auto" ? "system" : theme}`;
    changed();
  });
  return button;
}

function changed() {
  document.dispatchEvent(new CustomEvent("report:theme"));
}

/** Tells all drawings when the colours change, and before and after a page is printed, which is always light. */
export function themes() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  let before = null;
  let closed = [];
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme ?? null;
    document.documentElement.dataset.theme = "light";
    closed = [...document.querySelectorAll("details.behind:not([open])")].filter((one) => one.dataset.print === "yes");
    closed.forEach((one) => (one.open = true));
    changed();
  });
  addEventListener("afterprint", () => {
    if (before === null) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = before;
    closed.forEach((one) => (one.open = false));
    changed();
  });
}

/** Redraws `draw()` into `place` when the colours change, or when the place's width does. */
export function redrawn(place, draw) {
  let width = 0;
  const again = () => {
    width = place.clientWidth || 720;
    place.replaceChildren(...[draw(Math.max(width, 280))].flat());
  };
  again();
  document.addEventListener("report:theme", again);
  document.addEventListener("report:placed", again, { once: true });
  new ResizeObserver(() => {
    if (place.clientWidth && Math.abs(place.clientWidth - width) > 1) again();
  }).observe(place);
  return place;
}
