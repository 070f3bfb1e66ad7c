// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the energy went: by part of the machine, by what it was drawn for, by application.

import { axisX, axisY, barX, gridX, ruleX, text } from "@observablehq/plot";
import { figure, table } from "../dom.js";
import { joules, percent } from "../format.js";
import { classOf, colourOf } from "../palette.js";
import { plotted, roomFor, shortened } from "./plots.js";

/** The figures of a run's energy. */
export function energyFigures(run) {
  return [byPart(run.report), byApplication(run), byCause(run.report)];
}

const PARTS = { cores: "Cores and clusters", uncore: "Uncore", memory: "Memory", platform: "Board", supply: "Power supply's loss" };

function byPart({ energy_j }) {
  const rows = Object.entries(PARTS).map(([key, name]) => ({ name, joules: energy_j[key] })).filter(({ joules }) => joules > 0);
  return bars("Energy by part", `${joules(energy_j.total)} in all.`, rows, energy_j.total);
}

/** What cores drew while threads of an application ran on them. */
function byApplication({ report, timeline }) {
  const energy = timeline?.energy;
  if (!energy) return null;
  const named = energy.applications.map((joules, index) => ({ name: timeline.applications[index], joules, kind: classOf(index) }));
  const rows = [...named, { name: "system tasks", joules: energy.system, kind: classOf(null) }, { name: "nobody: idle", joules: energy.idle }].filter(({ joules }) => joules > 0);
  const says = "What each CPU drew (its share of its core, and of its cluster) while threads of the application had it. Uncore, memory and board are nobody's.";
  return bars("Energy of cores by application", says, rows, report.energy_j.cores);
}

const CAUSES = { switching_j: "switching", leakage_j: "leakage", idle_j: "cores that idled", static_j: "shared, awake", asleep_j: "shared, asleep" };

function byCause({ drawn }) {
  const clusters = drawn.clusters.flatMap((cluster) => Object.entries(CAUSES).map(([key, cause]) => ({ name: `${cluster.cluster}: ${cause}`, joules: cluster[key] })));
  const packages = drawn.packages.flatMap(({ package: number, awake_j, idle_j, asleep_j }) => [
    { name: `uncore ${number}: awake`, joules: awake_j },
    { name: `uncore ${number}: all cores idle`, joules: idle_j },
    { name: `uncore ${number}: asleep`, joules: asleep_j },
  ]);
  const memory = drawn.memory.flatMap(({ memory, static_j, traffic_j }) => [
    { name: `${memory}: static`, joules: static_j },
    { name: `${memory}: traffic`, joules: traffic_j },
  ]);
  const rows = [...clusters, ...packages, ...memory].filter(({ joules }) => joules > 0).sort((one, other) => other.joules - one.joules);
  const total = rows.reduce((sum, { joules }) => sum + joules, 0);
  return rows.length === 0 ? null : bars("Energy by what it was drawn for", "Board and power supply left out.", rows.slice(0, 24), total, rows);
}

function bars(title, says, rows, total, all = rows) {
  const label = `${title}: ${rows.slice(0, 6).map(({ name, joules: value }) => `${name} ${joules(value, 3)}`).join(", ")}`;
  const drawing = plotted(label, (width) => {
    const marginLeft = roomFor(rows.map(({ name }) => name), width);
    const most = Math.max(...rows.map(({ joules }) => joules));
    return {
      height: rows.length * 26 + 34,
      marginLeft,
      marginRight: 110,
      x: { domain: [0, most], label: null },
      y: { domain: rows.map(({ name }) => name), label: null },
      marks: [
        gridX({ stroke: "var(--line)", strokeOpacity: 1 }),
        axisX({ ticks: Math.max(2, Math.round(width / 160)), tickFormat: (value) => joules(value, 3), label: null }),
        axisY({ tickSize: 0, label: null, tickFormat: (name) => shortened(name, marginLeft) }),
        barX(rows, { x: "joules", y: "name", fill: ({ kind }) => (kind === undefined ? "var(--accent)" : colourOf(kind)), rx: 2 }),
        text(rows, { x: "joules", y: "name", text: (row) => `${joules(row.joules, 3)} · ${percent(row.joules / total, 0)}`, textAnchor: "start", dx: 6, fill: "var(--ink)" }),
        ruleX([0], { stroke: "var(--ink)" }),
      ],
    };
  });
  const columns = [
    { title: "What", text: ({ name }) => name },
    { title: "Energy", number: true, text: (row) => joules(row.joules) },
    { title: "Share", number: true, text: (row) => percent(row.joules / total) },
  ];
  return figure(title, says, drawing, () => table(title, columns, all));
}
