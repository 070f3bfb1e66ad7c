// SPDX-License-Identifier: MIT OR Apache-2.0
// Elements of the page. Texts only ever become text nodes, whatever is in them.

import { download, stem, svgOf } from "./save.js";

/** An element with attributes and children: `h("p", { class: "note" }, "text", element)`. A function is an event's listener. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same of an SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(key, value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let last = 0;

/** An identifier that the page has once. */
export function fresh(kind) {
  last += 1;
  return `${kind}-${last}`;
}

/**
 * A figure: a title, what it shows in a sentence, the drawing, and the table behind it.
 * `table` is called when somebody opens it, or prints.
 */
export function figure(title, says, drawing, table) {
  const id = fresh("figure");
  const behind = table && h("details", { class: "behind" }, h("summary", {}, "The numbers as a table"));
  if (behind) {
    let made = false;
    behind.addEventListener("toggle", () => {
      if (behind.open && !made) behind.append(table());
      made ||= behind.open;
    });
  }
  return h(
    "figure",
    { id, "aria-labelledby": `${id}-title` },
    h("figcaption", {}, h("h4", { id: `${id}-title` }, title), says && h("p", { class: "says" }, says)),
    drawing,
    h("div", { class: "beside" }, behind, drawing.classList?.contains("plot") && saveButton(title, drawing)),
  );
}

function saveButton(title, drawing) {
  const save = () => download(new Blob([svgOf(drawing.querySelector("svg"))], { type: "image/svg+xml" }), `${stem(title)}.svg`);
  return h("button", { type: "button", class: "save", "aria-label": `Save as SVG: ${title}`, click: save }, "Save as SVG");
}

/** A table of rows; a column is `{ title, value, text, number }`, where `number` columns stand to the right. */
export function table(caption, columns, rows) {
  const cell = (column, row, index) => {
    const text = column.text ? column.text(row) : String(column.value(row) ?? "–");
    const attributes = { class: column.number ? "number" : column.wide ? "wide" : null };
    return index === 0 ? h("th", { ...attributes, scope: "row" }, text) : h("td", attributes, text);
  };
  const body = h("tbody", {}, rows.map((row) => h("tr", {}, columns.map((column, index) => cell(column, row, index)))));
  const heads = columns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null }, column.title));
  return scrolled(caption, h("table", {}, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), body));
}

/** A wide thing that scrolls by itself, by keyboard too. */
export function scrolled(label, content) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label }, content);
}
