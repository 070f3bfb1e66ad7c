// SPDX-License-Identifier: MIT OR Apache-2.0
// The sections of a run.

import { fresh, h } from "./dom.js";
import { count, joules, nanos, percent, seconds, watts } from "./format.js";
import { timelineFigure } from "./timeline/figure.js";
import { machineFigure } from "./figures/machine.js";
import { energyFigures } from "./figures/energy.js";
import { latencyFigures } from "./figures/latency.js";
import { residencyFigures } from "./figures/residency.js";
import { threadTable } from "./figures/threads.js";

/** The sections of a run: `{ id, short, element }`. */
export function runSections(run, report) {
  const several = report.runs.length > 1;
  const name = (short) => (several ? `${short}: ${title(run, report)}` : short);
  const machine = report.machines.find(({ name }) => name === run.facts.machine) ?? null;
  const section = (short, ...content) => {
    const id = fresh("run");
    const shown = content.flat().filter(Boolean);
    return shown.length === 0 ? null : { id, short: name(short), element: h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, name(short)), shown) };
  };
  return [
    section("Summary", summary(run)),
    run.timeline && section("Who ran where", timelineFigure(run, machine)),
    section("Machine", machineFigure(run, machine), grid(residencyFigures(run, machine))),
    run.report && section("Energy", grid(energyFigures(run))),
    section("Latency", grid(latencyFigures(run))),
    run.report && section("Threads", threadTable(run)),
  ].filter(Boolean);
}

/** Figures beside each other where there is room; nothing of none. */
function grid(figures) {
  const shown = figures.filter(Boolean);
  return shown.length > 0 && h("div", { class: "grid" }, shown);
}

/** What tells a run from the others of the page. */
function title(run, report) {
  const same = (fact) => report.runs.every(({ facts }) => facts[fact] === run.facts[fact]);
  const told = ["workload", "machine", "scheduler", "governor", "seed"].filter((fact) => !same(fact));
  return told.length === 0 ? run.file : told.map((fact) => (fact === "seed" ? `seed ${run.facts[fact]}` : run.facts[fact])).join(", ");
}

function summary(run) {
  const { facts, report } = run;
  const said = ["workload", "machine", "scheduler", "governor", "seed"].filter((fact) => facts[fact] !== undefined);
  const list = h("dl", { class: "facts" }, said.map((fact) => h("div", {}, h("dt", {}, fact), h("dd", {}, facts[fact]))));
  if (!report) return [list, h("p", { class: "note" }, "Of this run there is only a trace: with the JSON of tandem simulate beside it, energy and latencies are shown, too.")];
  const latency = report.wakeup_latency_ns;
  const response = report.response_ns;
  const tiles = [
    tile(report.time_limited ? "Time (limited)" : "Run time", seconds(report.time_s)),
    tile("Energy", joules(report.energy_j.total)),
    tile("Mean power", watts(report.power_w)),
    tile("Idle", percent(report.idle_share), "of the CPUs' time"),
    latency && tile("Wakeup latency", nanos(latency.p99, 3), `p99; median ${nanos(latency.p50, 3)}`),
    response && tile("Response", nanos(response.p99, 3), `p99; median ${nanos(response.p50, 3)}`),
    report.deadlines && tile("Missed deadlines", percent(report.deadlines.missed_share), `${count(report.deadlines.missed)} of ${count(report.deadlines.rounds)}`),
    report.frames && tile("Frames", report.frames.per_s.toFixed(1), `a second; ${count(report.frames.late)} late`),
    tile("Switches", count(report.switches), `${count(report.migrations)} migrations`),
  ];
  return [list, h("div", { class: "tiles" }, tiles), warnings(report)];
}

function tile(label, value, more) {
  return h("div", { class: "tile" }, h("div", { class: "label" }, label), h("div", { class: "value" }, value), more && h("div", { class: "more" }, more));
}

function warnings(report) {
  const exit = report.sched_ext?.exit;
  const texts = [...report.warnings];
  if (exit) texts.unshift(`The scheduler ${report.sched_ext.name} was ejected at ${seconds(exit.at_s)}: ${exit.reason}: ${exit.message}. fair did the rest.`);
  for (const { what, why } of report.sched_ext?.ignored ?? []) texts.push(`The scheduler ${report.sched_ext.name} ignored ${what}: ${why}.`);
  if (texts.length === 0) return null;
  return h("div", { class: "warnings" }, h("h3", {}, "Warnings"), h("ul", {}, texts.map((text) => h("li", {}, text))));
}
