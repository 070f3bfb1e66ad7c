// SPDX-License-Identifier: MIT OR Apache-2.0
// An experiment: the numbers of each series with their intervals, and published ones beside them.

import { axisX, axisY, dot, gridX, ruleX, ruleY, text } from "@observablehq/plot";
import { figure, fresh, h, table } from "../dom.js";
import { digits, interval } from "../format.js";
import { plotted, roomFor, shortened } from "./plots.js";

/** The section of an experiment. */
export function experimentSections(experiment) {
  const id = fresh("experiment");
  const { title, about, seeds, disturbed, series } = experiment;
  const system = disturbed ? "with what every system does beside its workload" : "without what systems do beside their workloads";
  const shown = [h("p", {}, about), h("p", { class: "says" }, `${seeds} runs of each simulation, ${system}.`), series.map(seriesFigure), sensitivity(experiment.sensitivity)];
  return [{ id, short: title, element: h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), shown.flat(2).filter(Boolean)) }];
}

/** The places of cells in words: the values of axes that are not the same in all of them. */
function labels(cells) {
  const same = (axis) => cells.length > 1 && cells.every(({ at }) => at[axis] === cells[0].at[axis]);
  return cells.map(({ at }) => Object.entries(at).filter(([axis]) => !same(axis)).map(([, value]) => value).join(", ") || "all");
}

const SIGNS = { agrees: "✓ agrees", same_direction: "~ same direction", differs: "✗ differs" };

function seriesFigure({ what, unit, expression, cells }) {
  const names = labels(cells);
  const rows = cells.map((cell, index) => ({ ...cell, name: names[index], at: String(index), mean: cell.ours?.mean, half: cell.ours?.half_width }));
  const measured = rows.filter(({ mean }) => Number.isFinite(mean));
  const published = rows.filter(({ published }) => Number.isFinite(published));
  const label = `${what} in ${unit || "shares"}: ${measured.slice(0, 8).map(({ name, mean, half }) => `${name} ${interval(mean, half)}`).join("; ")}`;
  const drawing =
    measured.length + published.length > 0 &&
    plotted(label, (width) => {
      const room = roomFor(names, width);
      const ends = [...measured.flatMap(({ mean, half }) => [mean - (half ?? 0), mean + (half ?? 0)]), ...published.map(({ published }) => published), 0];
      const [least, most] = [Math.min(...ends), Math.max(...ends)];
      const pad = (most - least) * 0.05 || 1;
      return {
        height: rows.length * 24 + 72,
        marginLeft: room,
        marginRight: Math.min(130, width * 0.28),
        marginBottom: 40,
        x: { domain: [least < 0 ? least - pad : 0, most + pad], label: null },
        y: { type: "point", domain: rows.map(({ at }) => at), label: null, padding: 0.7 },
        marks: [
          gridX({ stroke: "var(--line)", strokeOpacity: 1 }),
          axisX({ ticks: Math.max(3, Math.round(width / 130)), label: unit || "share", labelAnchor: "center", labelArrow: "none" }),
          axisY({ tickSize: 0, label: null, tickFormat: (at) => shortened(names[Number(at)], room) }),
          ruleX([0], { stroke: "var(--ink)" }),
          ruleY(measured.filter(({ half }) => half), { y: "at", x1: (d) => d.mean - d.half, x2: (d) => d.mean + d.half, stroke: "var(--accent)", strokeWidth: 2 }),
          dot(measured, { x: "mean", y: "at", r: 4.5, fill: "var(--accent)", title: (d) => `${d.name}: ${interval(d.mean, d.half)} ${unit}` }),
          dot(published, { x: "published", y: "at", r: 5, symbol: "diamond", stroke: "var(--worse)", strokeWidth: 2, fill: "none", title: (d) => `${d.name}, published: ${digits(d.published)} ${unit}` }),
          text(rows, { frameAnchor: "right", y: "at", text: ({ mean, half }) => interval(mean, half), textAnchor: "start", dx: 8, fill: "var(--ink)" }),
        ],
      };
    });
  const axes = [...new Set(cells.flatMap(({ at }) => Object.keys(at)))];
  const columns = [
    ...(axes.length > 0 ? axes.map((axis) => ({ title: axis, text: (row) => cells[Number(row.at)].at[axis] ?? "" })) : [{ title: "Number", text: ({ name }) => name }]),
    { title: unit || "share", number: true, text: ({ mean, half, reason }) => (mean === undefined ? (reason ?? "–") : interval(mean, half)) },
  ];
  if (published.length > 0) {
    columns.push({ title: "Published", number: true, text: ({ published }) => (Number.isFinite(published) ? digits(published) : "–") });
    columns.push({ title: "Verdict", text: ({ verdict }) => SIGNS[verdict] ?? verdict.replace("_", " ") });
  }
  const says = [published.length > 0 && "Filled: ours, with the 95 % interval; hollow diamond: published.", expression && `Computed as ${expression}.`].filter(Boolean).join(" ");
  return figure(what, says, drawing || h("p", {}, "Nothing of it was measured."), () => table(`${what}, ${unit || "shares"}`, columns, rows));
}

function sensitivity(parameters) {
  if (!parameters || parameters.length === 0) return null;
  const rows = parameters.flatMap(({ what, target, not_valid, headlines }) => headlines.map((moved) => ({ what, target, not_valid, moved })));
  const columns = [
    { title: "Parameter", text: ({ what, target }) => `${what} (${target})` },
    { title: "Result", text: ({ moved }) => `${moved.what}, ${moved.unit}` },
    { title: "A fifth smaller", number: true, text: ({ moved }) => (moved.smaller === null ? "–" : digits(moved.smaller)) },
    { title: "As it is", number: true, text: ({ moved }) => digits(moved.unchanged) },
    { title: "A fifth larger", number: true, text: ({ moved }) => (moved.larger === null ? "–" : digits(moved.larger)) },
  ];
  return [h("h3", {}, "How far results move with parameters"), table("Sensitivity", columns, rows)];
}
