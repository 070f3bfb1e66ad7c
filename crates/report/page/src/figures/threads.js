// SPDX-License-Identifier: MIT OR Apache-2.0
// The threads of a run, in a table that can be sorted.

import { h } from "../dom.js";
import { count, nanos, seconds } from "../format.js";

/** Rows that are shown before more are asked for. */
const FEW = 25;

const COLUMNS = [
  { title: "Thread", value: ({ name }) => name, text: ({ name }) => name },
  { title: "Application", value: ({ app }) => app ?? "", text: ({ app, system }) => (system ? "system" : (app ?? "–")) },
  { title: "On a CPU", number: true, value: ({ cpu_time_s }) => cpu_time_s, text: ({ cpu_time_s }) => seconds(cpu_time_s, 3) },
  { title: "Waited", number: true, value: ({ wait_time_s }) => wait_time_s, text: ({ wait_time_s }) => seconds(wait_time_s, 3) },
  { title: "Latency p99", number: true, value: (task) => task.wakeup_latency_ns?.p99 ?? -1, text: (task) => nanos(task.wakeup_latency_ns?.p99, 3) },
  { title: "Response p99", number: true, value: (task) => task.response_ns?.p99 ?? -1, text: (task) => nanos(task.response_ns?.p99, 3) },
  { title: "Missed", number: true, value: (task) => task.deadlines?.missed ?? -1, text: (task) => (task.deadlines ? `${count(task.deadlines.missed)} of ${count(task.deadlines.rounds)}` : "–") },
  { title: "Switches", number: true, value: ({ switches }) => switches, text: ({ switches }) => count(switches) },
  { title: "Migrations", number: true, value: ({ migrations }) => migrations, text: ({ migrations }) => count(migrations) },
];

/** The table of a run's threads. */
export function threadTable({ report }) {
  const state = { by: 2, down: true, all: report.tasks.length <= FEW };
  const body = h("tbody");
  const heads = COLUMNS.map(({ title, number }, index) => {
    const button = h("button", { type: "button", click: () => sort(index) }, title);
    return h("th", { scope: "col", class: number ? "number" : null }, button);
  });
  const more = h("button", { type: "button", class: "more", click: () => ((state.all = true), show()) });
  const sort = (index) => {
    state.down = state.by === index ? !state.down : Boolean(COLUMNS[index].number);
    state.by = index;
    show();
  };
  const show = () => {
    const { value } = COLUMNS[state.by];
    const order = (one, other) => (typeof one === "string" ? one.localeCompare(other) : one - other);
    const sorted = [...report.tasks].sort((one, other) => order(value(one), value(other)) * (state.down ? -1 : 1));
    const shown = state.all ? sorted : sorted.slice(0, FEW);
    body.replaceChildren(...shown.map(row));
    heads.forEach((head, index) => (index === state.by ? head.setAttribute("aria-sort", state.down ? "descending" : "ascending") : head.removeAttribute("aria-sort")));
    more.hidden = state.all;
    more.textContent = `Show all ${count(report.tasks.length)} threads`;
  };
  show();
  const caption = `${count(report.tasks.length + report.more_tasks)} threads${report.more_tasks > 0 ? `; those with the most CPU time are listed` : ""}. A heading sorts by its column.`;
  const element = h("table", { class: "sortable" }, h("caption", {}, caption), h("thead", {}, h("tr", {}, heads)), body);
  return [h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Threads" }, element), more];
}

function row(task) {
  return h("tr", {}, COLUMNS.map(({ text, number }, index) => h(index === 0 ? "th" : "td", { scope: index === 0 ? "row" : null, class: number ? "number" : null }, text(task))));
}
