// SPDX-License-Identifier: MIT OR Apache-2.0
// How late threads were: every time of a run, or the percentiles of its report.

import { axisX, axisY, dot, gridX, gridY, line, text } from "@observablehq/plot";
import { figure, table } from "../dom.js";
import { count, nanos } from "../format.js";
import { classOf, colourOf } from "../palette.js";
import { apart, decades, plotted } from "./plots.js";

const WHAT = {
  wakeup_latency: ["Wakeup latency", "from the wakeup to the first instruction", "wakeup_latency_ns"],
  response: ["Response", "from what activates a round to the end of its work", "response_ns"],
  until_switch: ["Time from wakeup to switch", "as a trace has it: without leaving idle states, switching and cold caches", null],
};

/** The figures of a run's times. */
export function latencyFigures(run) {
  const distributions = run.timeline?.distributions ?? [];
  const shown = Object.keys(WHAT).filter((what) => distributions.some((one) => one.what === what));
  const figures = shown.map((what) => distribution(run, what, distributions.filter((one) => one.what === what)));
  // Without distributions, the percentiles of the report.
  const told = ["wakeup_latency", "response"].filter((what) => !shown.includes(what) && run.report?.[WHAT[what][2]]);
  return [...figures, ...told.map((what) => percentiles(run, what))];
}

/** Height of a plot within its axes. */
const INNER = 242;
/** What is shorter is drawn as this, in ns: a logarithmic axis has no 0. */
const SHORTEST = 100;

/** A share as "nines": the axis has as much room for the last per cent as for the first fifty. */
const nines = (share) => -Math.log10(Math.max(1 - share, 1e-9));
const TICKS = [0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999];
const share = (value) => (value === 0 ? "0" : `${+(value * 100).toFixed(4)} %`);

function distribution(run, what, own) {
  const [title, says] = WHAT[what];
  const { applications } = run.timeline;
  // Of a single application, all is the same.
  const applied = own.filter(({ application }) => application !== null);
  const series = (applied.length > 1 ? applied : own.slice(0, 1)).map((one) => ({ ...curve(one), name: one.application === null ? "all" : applications[one.application] }));
  const most = Math.max(...series.map(({ total }) => total));
  const ticks = TICKS.filter((tick) => nines(tick) <= nines(1 - 0.9 / most));
  const ends = series.map(({ name, points, kind }) => ({ ...points.at(-1), name, kind }));
  const bounds = decades(series.flatMap(({ points }) => [points[0].most, points.at(-1).most]));
  const top = Math.max(nines(ticks.at(-1)), ...ends.map(({ nines }) => nines)) * 1.02;
  const shifts = apart(ends.map((end) => (1 - end.nines / top) * INNER));
  const label = `${title} of ${series.map(({ name, points }) => `${name}, at most ${nanos(points.at(-1).most, 3)}`).join("; ")}`;
  const drawing = plotted(label, (width) => ({
    height: INNER + 58,
    marginTop: 20,
    marginLeft: 56,
    marginRight: Math.min(140, width * 0.24),
    marginBottom: 38,
    x: { type: "log", domain: [bounds[0], bounds.at(-1)], label: null },
    y: { domain: [0, top], label: null },
    marks: [
      gridX(bounds, { stroke: "var(--line)", strokeOpacity: 1 }),
      gridY(ticks.map(nines), { stroke: "var(--line)", strokeOpacity: 1 }),
      axisX(bounds, { tickFormat: (value) => nanos(value, 1), label: null }),
      axisY(ticks.map(nines), { tickFormat: (at) => share(1 - 10 ** -at), label: null, tickSize: 4 }),
      series.map(({ points, kind }, index) =>
        line(points, { x: "most", y: "nines", stroke: colourOf(kind), strokeWidth: 2, strokeDasharray: ["", "7 3", "2 3", "9 3 2 3"][index % 4], curve: "step-after" }),
      ),
      dot(ends, { x: "most", y: "nines", fill: ({ kind }) => colourOf(kind), r: 4, symbol: "name" }),
      ends.map((end, index) => text([end], { x: "most", y: "nines", text: "name", dx: 9, dy: shifts[index], textAnchor: "start", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4 })),
    ],
    symbol: { legend: false },
  }));
  const rows = own.map((one) => ({ ...curve(one), name: one.application === null ? "all applications" : applications[one.application] }));
  const at = (wanted) => ({ title: share(wanted), number: true, text: ({ points }) => nanos(points.find(({ until }) => until >= wanted)?.most, 3) });
  const columns = [
    { title: "Application", text: ({ name }) => name },
    { title: "Times", number: true, text: ({ total }) => count(total) },
    ...[0.5, 0.9, 0.95, 0.99, 0.999].map(at),
    { title: "longest", number: true, text: ({ points }) => nanos(points.at(-1).most, 3) },
  ];
  return figure(title, `${says[0].toUpperCase()}${says.slice(1)}. A line passes through the share of all times that are at most so long.`, drawing, () => table(`${title}: so long at most, in so many of all cases`, columns, rows));
}

function curve({ application, times }) {
  const total = times.reduce((sum, [, times]) => sum + times, 0);
  let seen = 0;
  const points = times.map(([most, times]) => {
    seen += times;
    // The last one of n stands at 1 − 1/(2n): all of it would be infinitely many nines.
    const until = seen / total;
    return { most: Math.max(most, SHORTEST), until, nines: nines(Math.min(until, 1 - 0.5 / total)) };
  });
  return { total, points: [{ ...points[0], nines: 0, until: 0 }, ...points], kind: application === null ? 0 : classOf(application) };
}

/** Percentiles as points, where there are no more. */
function percentiles(run, what) {
  const [title, says, field] = WHAT[what];
  const apps = run.report.apps.filter((app) => app[field]);
  const series = apps.length > 1 ? apps.map((app, index) => ({ name: app.name, times: app[field], kind: classOf(index) })) : [{ name: "all", times: run.report[field], kind: 0 }];
  const steps = [["p50", "median"], ["p95", "95 %"], ["p99", "99 %"], ["max", "longest"]];
  const points = series.flatMap(({ name, times, kind }) => steps.map(([key, label]) => ({ name, kind, label, value: Math.max(times[key], 1) })));
  const bounds = decades(points.map(({ value }) => value));
  const ends = points.filter(({ label }) => label === "longest");
  const shifts = apart(ends.map(({ value }) => (1 - (Math.log10(value) - Math.log10(bounds[0])) / (Math.log10(bounds.at(-1)) - Math.log10(bounds[0]))) * 190));
  const drawing = plotted(`${title}: ${series.map(({ name, times }) => `${name}, median ${nanos(times.p50, 3)}, 99 % ${nanos(times.p99, 3)}`).join("; ")}`, (width) => ({
    height: 240,
    marginLeft: 64,
    marginRight: Math.min(140, width * 0.24),
    x: { domain: steps.map(([, label]) => label), label: null, type: "point" },
    y: { type: "log", domain: [bounds[0], bounds.at(-1)], label: null },
    marks: [
      gridY(bounds, { stroke: "var(--line)", strokeOpacity: 1 }),
      axisX({ label: null }),
      axisY(bounds, { tickFormat: (value) => nanos(value, 1), label: null }),
      line(points, { x: "label", y: "value", z: "name", stroke: ({ kind }) => colourOf(kind), strokeWidth: 2 }),
      dot(points, { x: "label", y: "value", fill: ({ kind }) => colourOf(kind), symbol: "name", r: 4, title: ({ name, label, value }) => `${name}, ${label}: ${nanos(value, 3)}` }),
      ends.map((end, index) => text([end], { x: "label", y: "value", text: "name", dx: 9, dy: shifts[index], textAnchor: "start", fill: "var(--ink)" })),
    ],
  }));
  const columns = [{ title: "Application", text: ({ name }) => name }, ...steps.map(([key, label]) => ({ title: label, number: true, text: ({ times }) => nanos(times[key], 3) }))];
  return figure(title, `${says[0].toUpperCase()}${says.slice(1)}. With the run's trace beside this report, or by tandem simulate --report, all times are drawn.`, drawing, () => table(title, columns, series));
}

