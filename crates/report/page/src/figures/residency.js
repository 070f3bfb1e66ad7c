// SPDX-License-Identifier: MIT OR Apache-2.0
// How long each CPU was at each clock, and in each idle state.

import { axisX, axisY, barX, text } from "@observablehq/plot";
import { figure, table } from "../dom.js";
import { clock, percent } from "../format.js";
import { inkOn, isDark } from "../palette.js";
import { plotted } from "./plots.js";

/** Most CPUs that are drawn each by itself. */
const MOST_CPUS = 64;

/** Two figures: clocks and idle states. */
export function residencyFigures({ report }, machine) {
  if (!report) return [];
  const all = report.cpus.filter(({ online }) => online);
  const cpus = all.slice(0, MOST_CPUS);
  const which = all.length > cpus.length ? ` The first ${cpus.length} of ${all.length} CPUs.` : "";
  const clocks = rows(cpus, "freq_residency", (one, other) => one - other, clock);
  const order = [...new Set([...(machine?.packages.flat().flatMap(({ idle_states }) => idle_states) ?? [])])];
  const place = (name) => (name === "C0" ? -1 : order.indexOf(name));
  const idle = rows(cpus, "idle_residency", (one, other) => place(one) - place(other), String);
  return [
    clocks.length > 0 && stacked("Time at each clock", `Shares of the run, busy or idle; the darker, the higher the clock.${which}`, clocks, "Clock"),
    idle.length > 0 && stacked("Time in idle states", `Shares of the run; the darker, the deeper the state. C0 is the time between deciding to idle and being in the state.${which}`, idle, "Idle state"),
  ];
}

/** `{ cpu, key, name, share, from, to, level }`: level 0 to 1 is the place in the order of all keys. */
function rows(cpus, field, order, name) {
  const keys = [...new Set(cpus.flatMap((cpu) => Object.keys(cpu[field])))].sort(order);
  return cpus.flatMap((cpu) => {
    const entries = keys.filter((key) => cpu[field][key] > 0).map((key) => [key, cpu[field][key]]);
    const total = field === "freq_residency" ? entries.reduce((sum, [, time]) => sum + time, 0) : cpu.busy_s + entries.reduce((sum, [, time]) => sum + time, 0);
    let from = 0;
    return entries.map(([key, time]) => {
      const share = total > 0 ? time / total : 0;
      const row = { cpu: `CPU ${cpu.cpu}`, name: name(Number.isNaN(Number(key)) ? key : Number(key)), share, from, to: from + share, level: keys.length > 1 ? keys.indexOf(key) / (keys.length - 1) : 1 };
      from += share;
      return row;
    });
  });
}

/** Light to dark blue, or dark to light on a dark page. */
function shade(level) {
  const [from, to] = isDark() ? [[31, 52, 84], [158, 209, 255]] : [[214, 230, 245], [8, 48, 107]];
  return `#${from.map((part, index) => Math.round(part + (to[index] - part) * level).toString(16).padStart(2, "0")).join("")}`;
}

function stacked(title, says, data, what) {
  const cpus = [...new Set(data.map(({ cpu }) => cpu))];
  const drawing = plotted(`${title}: shares of each CPU's time; the table has the numbers`, (width) => ({
    height: Math.min(cpus.length * 22 + 40, 1500),
    marginLeft: 64,
    marginRight: 16,
    x: { domain: [0, 1], label: null },
    y: { domain: cpus, label: null },
    marks: [
      axisX({ tickFormat: (share) => `${Math.round(share * 100)} %`, ticks: 5, label: null }),
      axisY({ label: null, tickSize: 0 }),
      barX(data, { x1: "from", x2: "to", y: "cpu", fill: ({ level }) => shade(level), stroke: "var(--paper)", strokeWidth: 0.5, title: (d) => `${d.cpu}, ${d.name}: ${percent(d.share)}` }),
      text(data.filter(({ name, share }) => share * (width - 80) > name.length * 6.5 + 8), { x: (d) => (d.from + d.to) / 2, y: "cpu", text: "name", fontSize: 11, fill: ({ level }) => inkOn(shade(level)) }),
      barX(cpus, { x1: 0, x2: 1, y: String, fill: "none", stroke: "var(--soft)", strokeWidth: 0.75 }),
    ],
  }));
  return figure(title, says, drawing, () => {
    const names = [...new Set(data.map(({ name }) => name))];
    const columns = [{ title: "CPU", text: (cpu) => cpu }, ...names.map((name) => ({ title: name, number: true, text: (cpu) => percent(data.find((row) => row.cpu === cpu && row.name === name)?.share ?? 0) }))];
    return table(`${what}s, shares of the run`, columns, cpus);
  });
}
