// SPDX-License-Identifier: MIT OR Apache-2.0
// Comparisons: ratios to the first pair with their intervals, runs in time and energy, latencies, and a matrix of several.

import { axisX, axisY, dot, gridX, gridY, line, ruleX, ruleY, text } from "@observablehq/plot";
import { figure, fresh, h, scrolled, table } from "../dom.js";
import { count, interval, joules, measured, nanos, seconds } from "../format.js";
import { colourAt } from "../palette.js";
import { apart, decades, plotted, roomFor, shortened } from "./plots.js";
import { METRICS, ignoredBy, verdict, verdictOf } from "./verdict.js";

/** The name of a pair, as tables call it. */
export function pairName({ scheduler, governor, parameters }) {
  const set = Object.entries(parameters ?? {}).map(([key, value]) => `${key}=${value}`);
  return [`${scheduler.split("/").at(-1)}+${governor}`, ...set].join(", ");
}

/** The sections of a file of comparisons. */
export function comparedSections(compared, report) {
  const id = fresh("compared");
  const many = compared.comparisons.length > 1;
  const short = many ? "Comparisons" : "Comparison";
  const title = many ? `${compared.comparisons.length} comparisons` : `${compared.comparisons[0]?.workload ?? "nothing"} on ${compared.comparisons[0]?.machine ?? "nothing"}`;
  const shown = [
    compared.missing > 0 && h("p", { class: "warnings" }, `An interrupt left ${compared.missing} combinations unfinished.`),
    compared.gate && gate(compared.gate),
    many && matrix(compared),
    compared.geometric_means.length > 0 && means(compared),
    many ? chosen(compared) : compared.comparisons.map((one) => comparison(one)),
    sensitivity(compared.sensitivity),
  ];
  const several = report.compared.length > 1 ? `: ${compared.file}` : "";
  return [{ id, short: `${short}${several}`, element: h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, `Comparison: ${title}`), shown.flat(3).filter(Boolean)) }];
}

/** One comparison of several, by choice. */
function chosen({ comparisons }) {
  const place = h("div", {});
  const id = fresh("cell");
  const select = h("select", { id }, comparisons.map(({ machine, workload }, index) => h("option", { value: index }, `${workload} on ${machine}`)));
  const show = () => place.replaceChildren(...comparison(comparisons[Number(select.value)]).filter(Boolean));
  select.addEventListener("change", show);
  show();
  return [h("h3", {}, "One machine and workload"), h("p", { class: "choice" }, h("label", { for: id }, "Show "), select), place];
}

function comparison(one) {
  return [ignoring(one), forest(one), scatter(one), spreads(one, "wakeup_latency_ns", "Wakeup latency"), spreads(one, "response_ns", "Response"), everything(one)];
}

function ignoring({ pairs }) {
  const said = pairs.filter((pair) => ignoredBy(pair).length > 0).map((pair) => `${pairName(pair)} ignored ${ignoredBy(pair).map(([what, why]) => `${what} (${why})`).join(", ")}`);
  if (said.length === 0) return null;
  return h("p", { class: "warnings" }, `${said.join("; ")}. No conclusion is drawn from a difference to a pair that did not.`);
}

/** By metric: the ratio of each pair to the first, with its interval. */
function forest({ pairs, seeds }) {
  if (pairs.length < 2) return null;
  const rows = Object.keys(METRICS).flatMap((key) =>
    pairs.slice(1).flatMap((pair) => {
      const metric = pair.metrics[key];
      const said = verdictOf(pair, pairs[0], key);
      return metric?.ratio ? [{ key, metric: METRICS[key][0], pair: pairName(pair), ratio: metric.ratio, half: metric.ratio_half_width, ...said }] : [];
    }),
  );
  if (rows.length === 0) return null;
  const first = pairName(pairs[0]);
  const wanted = ["time_s", "energy_j", "edp_js", "p99_latency_s", "p99_response_s", "missed_share", "frames_per_s", "fairness"];
  let keys = wanted.filter((key) => rows.some((row) => row.key === key));
  if (keys.length === 0) keys = [rows[0].key];
  return ratioFigure(`Ratios to ${first}`, `${seeds.length} runs each. A point is the ratio of means, the line its 95 % interval: where that holds 1, the difference is undecided (hollow).`, rows.filter(({ key }) => keys.includes(key)), rows);
}

/** Points with intervals; filled and with a sign where they are decided. */
function ratioFigure(title, says, shown, all) {
  const groups = [...new Set(shown.map(({ metric }) => metric))];
  const names = [...new Set(shown.map(({ pair }) => pair))];
  const label = `${title}: ${shown.slice(0, 8).map((row) => `${row.metric} of ${row.pair} ${interval(row.ratio, row.half)}, ${row.word}`).join("; ")}`;
  const drawing = plotted(label, (width) => {
    // One row per metric and pair: a heading per metric, then its pairs.
    const lines = groups.flatMap((metric) => [{ heading: metric, at: `${metric}|` }, ...shown.filter((row) => row.metric === metric).map((row) => ({ ...row, at: `${metric}|${row.pair}` }))]);
    const room = roomFor([...names, ...groups], width);
    const data = lines.filter(({ heading }) => !heading);
    const { left, right, ticks } = bounds(data);
    const within = (value) => Math.min(Math.max(value, left), right);
    const colour = ({ kind }) => `var(--${kind})`;
    return {
      height: lines.length * 23 + 56,
      marginLeft: room,
      marginRight: Math.min(150, width * 0.3),
      x: { type: ticks ? "log" : "linear", domain: [left, right], label: null },
      y: { domain: lines.map(({ at }) => at), label: null, type: "point", padding: 0.8 },
      marks: [
        ticks ? gridX(ticks, { stroke: "var(--line)", strokeOpacity: 1 }) : gridX({ stroke: "var(--line)", strokeOpacity: 1 }),
        ticks ? axisX(ticks, { label: null, tickFormat: String }) : axisX({ ticks: Math.max(3, Math.round(width / 130)), label: null }),
        axisY({ tickSize: 0, label: null, tickFormat: (at) => shortened(at.split("|")[1] || "", room) }),
        text(lines.filter(({ heading }) => heading), { frameAnchor: "left", y: "at", text: "heading", textAnchor: "start", dx: 8 - room, fontWeight: 600, fill: "var(--ink)" }),
        ruleX([1], { stroke: "var(--ink)", strokeWidth: 1.25 }),
        ruleY(data.filter(({ half }) => half), { y: "at", x1: (d) => within(d.ratio - d.half), x2: (d) => within(d.ratio + d.half), stroke: colour, strokeWidth: 2 }),
        text(data.filter((d) => d.half && d.ratio - d.half < left), { x: left, y: "at", text: () => "◂", fill: colour, fontSize: 13 }),
        text(data.filter((d) => d.half && d.ratio + d.half > right), { x: right, y: "at", text: () => "▸", fill: colour, fontSize: 13 }),
        dot(data, { x: (d) => within(d.ratio), y: "at", r: 4.5, stroke: colour, strokeWidth: 2, fill: (d) => (d.kind === "unsure" ? "var(--paper)" : `var(--${d.kind})`), title: (d) => `${d.pair}, ${d.metric}: ${interval(d.ratio, d.half)}, ${d.word}` }),
        text(data, { frameAnchor: "right", y: "at", text: (d) => `${interval(d.ratio, d.half, 3)} ${d.sign}`, textAnchor: "start", dx: 8, fill: "var(--ink)", fontVariant: "tabular-nums" }),
      ],
    };
  });
  const columns = [
    { title: "Metric", text: ({ metric }) => metric },
    { title: "Pair", text: ({ pair }) => pair },
    { title: "Ratio", number: true, text: ({ ratio, half }) => interval(ratio, half) },
    { title: "Verdict", text: ({ sign, word }) => `${sign} ${word}` },
  ];
  return figure(title, says, drawing, () => table(title, columns, all));
}

/** Where an axis of ratios ends. A single wide interval must not press all others together: it ends at the edge, with an arrow. */
function bounds(data) {
  const ratios = data.map(({ ratio }) => ratio).filter((ratio) => ratio > 0);
  const [low, high] = [Math.min(1, ...ratios), Math.max(1, ...ratios)];
  if (high / low > 2.5) {
    const [left, right] = [low / 1.35, high * 1.35];
    const ticks = [-3, -2, -1, 0, 1, 2, 3, 4].flatMap((power) => [1, 2, 5].map((step) => Number((step * 10 ** power).toPrecision(3))));
    return { left, right, ticks: ticks.filter((tick) => tick >= left && tick <= right) };
  }
  const reach = Math.max(high - 1, 1 - low, 0.02) * 1.5;
  const ends = data.flatMap(({ ratio, half }) => [Math.max(ratio - (half ?? 0), 1 - reach), Math.min(ratio + (half ?? 0), 1 + reach)]);
  const [least, most] = [Math.min(1, ...ends), Math.max(1, ...ends)];
  const pad = (most - least) * 0.06 || 0.05;
  return { left: least - pad, right: most + pad, ticks: null };
}

const SYMBOLS = ["circle", "triangle", "square", "diamond", "star", "cross", "wye", "asterisk"];

/** Each run as a point in time and energy. */
function scatter({ pairs }) {
  const points = pairs.flatMap((pair, index) => pair.runs.filter(({ time_limited }) => !time_limited).map((run) => ({ pair: pairName(pair), index, time: run.time_s, energy: run.energy_j.total, seed: run.seed })));
  if (points.length === 0) return null;
  const centres = pairs.flatMap((pair, index) => {
    const own = points.filter((point) => point.index === index);
    if (own.length === 0) return [];
    const mean = (of) => own.reduce((sum, point) => sum + of(point), 0) / own.length;
    return [{ pair: pairName(pair), index, time: mean(({ time }) => time), energy: mean(({ energy }) => energy) }];
  });
  const label = `Runs in time and energy: ${centres.map(({ pair, time, energy }) => `${pair} ${seconds(time, 3)}, ${joules(energy, 3)}`).join("; ")}`;
  const drawing = plotted(label, (width) => ({
    height: Math.min(380, width * 0.62),
    marginLeft: 64,
    marginRight: Math.min(170, width * 0.28),
    marginBottom: 44,
    inset: 14,
    x: { label: null, nice: true, zero: false },
    y: { label: null, nice: true },
    marks: [
      gridX({ stroke: "var(--line)", strokeOpacity: 1 }),
      gridY({ stroke: "var(--line)", strokeOpacity: 1 }),
      axisX({ ticks: Math.max(3, Math.round(width / 150)), tickFormat: (value) => seconds(value, 3), label: "run time", labelAnchor: "center", labelArrow: "none" }),
      axisY({ tickFormat: (value) => joules(value, 3), label: "energy", labelArrow: "none", ticks: 5 }),
      dot(points, { x: "time", y: "energy", stroke: ({ index }) => colourAt(index), symbol: ({ index }) => SYMBOLS[index % SYMBOLS.length], r: 3.5, strokeOpacity: 0.75, title: (d) => `${d.pair}, seed ${d.seed}: ${seconds(d.time)}, ${joules(d.energy)}` }),
      dot(centres, { x: "time", y: "energy", fill: ({ index }) => colourAt(index), stroke: "var(--paper)", symbol: ({ index }) => SYMBOLS[index % SYMBOLS.length], r: 7 }),
      text(centres, { x: "time", y: "energy", text: "pair", dx: 11, textAnchor: "start", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 4 }),
    ],
    symbol: { type: "identity" },
  }));
  const columns = [
    { title: "Pair", text: ({ pair }) => pair },
    { title: "Seed", number: true, text: ({ seed }) => String(seed) },
    { title: "Run time", number: true, text: ({ time }) => seconds(time) },
    { title: "Energy", number: true, text: ({ energy }) => joules(energy) },
  ];
  return figure("Runs in time and energy", "A small point is a run, a large one the mean of a pair: down and left is better. Each pair has its own shape.", drawing, () => table("Runs in time and energy", columns, points));
}

/** Percentiles of each pair's runs: how late threads were. */
function spreads({ pairs }, field, title) {
  const steps = [["p50", "median"], ["p95", "95 %"], ["p99", "99 %"], ["max", "longest"]];
  const own = pairs.map((pair, index) => ({ name: pairName(pair), index, runs: pair.runs.filter((run) => run[field]) })).filter(({ runs }) => runs.length > 0);
  if (own.length === 0) return null;
  const points = own.flatMap(({ name, index, runs }) => steps.flatMap(([key, step]) => runs.map((run) => ({ name, index, step, value: Math.max(run[field][key], 1) }))));
  const middles = own.flatMap(({ name, index, runs }) => steps.map(([key, step]) => ({ name, index, step, value: Math.max(runs.reduce((sum, run) => sum + run[field][key], 0) / runs.length, 1) })));
  const drawing = plotted(`${title}: ${own.map(({ name, runs }) => `${name}, mean 99 % ${nanos(runs.reduce((sum, run) => sum + run[field].p99, 0) / runs.length, 3)}`).join("; ")}`, (width) => {
    const room = Math.min(180, width * 0.3);
    const ends = middles.filter(({ step }) => step === "longest");
    const bounds = decades(points.map(({ value }) => value));
    const span = Math.log10(bounds.at(-1)) - Math.log10(bounds[0]);
    const shifts = apart(ends.map(({ value }) => (1 - (Math.log10(value) - Math.log10(bounds[0])) / span) * 250));
    return {
      height: 300,
      marginLeft: 64,
      marginRight: room,
      x: { type: "point", domain: steps.map(([, step]) => step), label: null, padding: 0.25 },
      y: { type: "log", domain: [bounds[0], bounds.at(-1)], label: null },
      marks: [
        gridY(bounds, { stroke: "var(--line)", strokeOpacity: 1 }),
        axisX({ label: null }),
        axisY(bounds, { tickFormat: (value) => nanos(value, 1), label: null }),
        line(middles, { x: "step", y: "value", z: "name", stroke: ({ index }) => colourAt(index), strokeWidth: 2 }),
        dot(points, { x: "step", y: "value", stroke: ({ index }) => colourAt(index), symbol: ({ index }) => SYMBOLS[index % SYMBOLS.length], r: 2.5, strokeOpacity: 0.6 }),
        dot(middles, { x: "step", y: "value", fill: ({ index }) => colourAt(index), symbol: ({ index }) => SYMBOLS[index % SYMBOLS.length], r: 4.5, title: (d) => `${d.name}, ${d.step}: ${nanos(d.value, 3)}` }),
        ends.map((end, index) => text([end], { x: "step", y: "value", text: ({ name }) => shortened(name, room), dx: 12, dy: shifts[index], textAnchor: "start", fill: "var(--ink)" })),
      ],
      symbol: { type: "identity" },
    };
  });
  const columns = [{ title: "Pair", text: ({ name }) => name }, ...steps.map(([key, step]) => ({ title: step, number: true, text: ({ runs }) => nanos(runs.reduce((sum, run) => sum + run[field][key], 0) / runs.length, 3) }))];
  return figure(title, "Percentiles of each run (small) and their means over the runs (large, joined).", drawing, () => table(`${title}: means over the runs`, columns, own));
}

/** All metrics of all pairs. */
function everything({ pairs, workload, machine }) {
  const keys = Object.keys(METRICS).filter((key) => pairs.some(({ metrics }) => metrics[key]?.mean !== null && metrics[key]?.mean !== undefined));
  const columns = [
    { title: "Metric", text: (key) => METRICS[key][0] },
    ...pairs.map((pair) => ({ title: pairName(pair), number: true, text: (key) => measured(pair.metrics[key]?.mean, pair.metrics[key]?.half_width, METRICS[key][1]) })),
  ];
  return h("details", { class: "behind", "data-print": "yes" }, h("summary", {}, "All metrics as a table"), table(`${workload} on ${machine}: means over the runs, with 95 % intervals`, columns, keys));
}

/** All cells of a matrix for one metric. */
function matrix({ comparisons }) {
  const pairs = comparisons[0].pairs.slice(1).map(pairName);
  if (pairs.length === 0) return null;
  const keys = Object.keys(METRICS).filter((key) => comparisons.some((one) => one.pairs.slice(1).some(({ metrics }) => metrics[key]?.ratio)));
  const id = fresh("metric");
  const select = h("select", { id }, keys.map((key) => h("option", { value: key }, METRICS[key][0])));
  const place = h("div", {});
  const cell = (one, index, key) => {
    const pair = one.pairs[index + 1];
    const metric = pair?.metrics[key];
    const { word, kind, sign } = pair ? verdictOf(pair, one.pairs[0], key) : verdict(key);
    return h("td", { class: `number cell ${kind}`, title: word }, `${interval(metric?.ratio, metric?.ratio_half_width, 3)} ${sign}`);
  };
  const show = () => {
    const rows = comparisons.map((one) => h("tr", {}, h("th", { scope: "row" }, `${one.workload} on ${one.machine}`), pairs.map((_, index) => cell(one, index, select.value))));
    const heads = h("tr", {}, h("th", { scope: "col" }, "Workload and machine"), pairs.map((pair) => h("th", { scope: "col", class: "number" }, pair)));
    const caption = `${METRICS[select.value][0]}: ratio to ${pairName(comparisons[0].pairs[0])} with its 95 % interval. ▼ less, ▲ more, ○ undecided, ~ not compared; green is better, orange worse.`;
    place.replaceChildren(scrolled(caption, h("table", { class: "matrix" }, h("caption", {}, caption), h("thead", {}, heads), h("tbody", {}, rows))));
  };
  select.addEventListener("change", show);
  show();
  return [h("h3", {}, "All machines and workloads"), h("p", { class: "choice" }, h("label", { for: id }, "Metric "), select), place];
}

function means({ geometric_means, comparisons }) {
  const rows = geometric_means.flatMap((pair) =>
    Object.keys(METRICS).filter((key) => pair.metrics[key]).map((key) => [key, pair.metrics[key]]).map(([key, mean]) => ({ key, metric: METRICS[key][0], pair: pairName(pair), ratio: mean.ratio, half: mean.ratio_half_width, ...verdict(key, mean.ratio, mean.ratio_half_width) })),
  );
  const wanted = ["time_s", "energy_j", "edp_js", "p99_latency_s", "p99_response_s"];
  const shown = rows.filter(({ key }) => wanted.includes(key));
  if (shown.length === 0) return null;
  return ratioFigure("Geometric means over all of these", `Ratios to ${pairName(comparisons[0].pairs[0])} with 95 % intervals.`, shown, rows);
}

const JUDGEMENTS = { worse: "✗ worse", not_worse: "✓ not worse", undecided: "○ undecided", ejected: "✗ ejected" };

function gate({ judged }) {
  // Earlier reports do not say how many.
  const runs = judged.some((one) => one.runs) ? [{ title: "Runs", number: true, text: ({ runs }) => count(runs) }] : [];
  const columns = [
    { title: "What", text: ({ workload, machine, pair }) => `${pair}: ${workload} on ${machine}` },
    { title: "Fails if", text: ({ condition }) => condition },
    { title: "Ratio", number: true, text: ({ ratio, ratio_half_width }) => interval(ratio, ratio_half_width) },
    { title: "Judgement", text: ({ judgement, why }) => `${JUDGEMENTS[judgement] ?? judgement}${why ? `: ${why}` : ""}` },
    ...runs,
  ];
  return [h("h3", {}, "Against the reference"), table("What was judged", columns, judged)];
}

function sensitivity(all) {
  return all.map(({ machine, workload, moved }) => {
    const rows = moved.flatMap((value) => value.pairs.map((pair) => ({ ...value, ...pair })));
    const columns = [
      { title: "Value", text: ({ table, key }) => `${table}.${key}` },
      { title: "Trust", text: ({ trust }) => trust },
      { title: "Pair", text: ({ pair }) => pair },
      { title: "Time, %/%", number: true, text: (row) => interval(row.time_percent_per_percent, row.time_half_width, 3) },
      { title: "Energy, %/%", number: true, text: (row) => interval(row.energy_percent_per_percent, row.energy_half_width, 3) },
    ];
    return [h("h3", {}, `Which values of ${machine} matter for ${workload}`), h("details", { class: "behind" }, h("summary", {}, `${moved.length} values that were moved`), table("Elasticities", columns, rows))];
  });
}
