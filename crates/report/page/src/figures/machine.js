// SPDX-License-Identifier: MIT OR Apache-2.0
// The machine, drawn: packages, clusters, cores and CPUs, with how busy each CPU was.

import { figure, h, svg, table } from "../dom.js";
import { clock, digits, percent, quantity } from "../format.js";
import { ranges } from "../timeline/model.js";

const CELL = 62;
const GAP = 6;
/** More CPUs than that are drawn as small cells without words. */
const MOST_LARGE = 64;

/** The figure of a run's machine; nothing where the machine's description was not there. */
export function machineFigure(run, machine) {
  if (!machine) return null;
  const busy = busyOf(run);
  const says = `${machine.title}. The fuller a CPU, the longer it was busy.`;
  return figure(machine.name, says, drawing(machine, busy), () => cpuTable(machine, busy, run));
}

function busyOf({ report, timeline }) {
  if (report) return report.cpus.map((cpu) => (report.time_s > 0 ? cpu.busy_s / report.time_s : 0));
  return timeline.cpus.map(({ slices }) => slices.length.reduce((sum, length) => sum + length, 0) / Math.max(timeline.end, 1));
}

function drawing(machine, busy) {
  const small = machine.cpus.length > MOST_LARGE;
  const packages = machine.packages.map((clusters, number) =>
    h(
      "div",
      { class: "package" },
      h("div", { class: "name" }, machine.packages.length > 1 ? `Package ${number}` : "Package"),
      h("div", { class: "clusters" }, clusters.map((cluster) => clusterOf(machine, cluster, busy, small))),
      cachesOf(machine, clusters),
    ),
  );
  const memory = machine.memory.map(({ name, bytes_per_s }) => h("div", { class: "memory" }, `${name}: ${quantity(bytes_per_s, "B/s", 3)}`));
  const label = `${machine.packages.length} packages, ${machine.cpus.length} CPUs`;
  return h("div", { class: "machine", role: "img", "aria-label": `${label}; the table has what is drawn` }, h("div", { class: "packages" }, packages), h("div", { class: "memories" }, memory));
}

function clusterOf(machine, cluster, busy, small) {
  const numbers = cluster.cores.flat();
  const first = machine.cpus[numbers[0]];
  const clocks = first ? `${clock(first.khz_min)} to ${clock(first.khz_max)}` : "";
  const cores = cluster.cores.map((core) => h("div", { class: "core" }, core.map((cpu) => cpuOf(machine, cpu, busy[cpu] ?? 0, small))));
  return h(
    "div",
    { class: "cluster" },
    h("div", { class: "name" }, h("b", {}, cluster.name), ` ${cluster.cores.length} × ${cluster.kind}`),
    h("div", { class: "more" }, clocks),
    h("div", { class: "cores" }, cores),
  );
}

function cpuOf(machine, cpu, busy, small) {
  const side = small ? 18 : CELL - GAP;
  const { online, capacity } = machine.cpus[cpu];
  const filled = Math.round(Math.min(busy, 1) * side);
  const words = small
    ? []
    : [
        svg("text", { x: side / 2, y: 15, class: "cpu-name" }, `CPU ${cpu}`),
        svg("text", { x: side / 2, y: side / 2 + 7, class: "cpu-busy" }, online ? `${digits(busy * 100, busy < 0.1 ? 2 : 3)} %` : "offline"),
        svg("text", { x: side / 2, y: side - 6, class: "cpu-capacity" }, `cap. ${capacity}`),
      ];
  return svg(
    "svg",
    { width: side, height: side, viewBox: `0 0 ${side} ${side}`, class: online ? "cpu" : "cpu offline" },
    svg("title", {}, `CPU ${cpu}: ${online ? percent(busy) : "offline"}`),
    svg("rect", { width: side, height: side, rx: small ? 2 : 5, class: "ground" }),
    svg("rect", { y: side - filled, width: side, height: filled, rx: small ? 2 : 5, class: "busy" }),
    words,
  );
}

function cachesOf(machine, clusters) {
  const own = new Set(clusters.flatMap(({ cores }) => cores.flat()));
  const caches = machine.caches.filter(({ cpus }) => own.has(cpus[0]));
  const shown = caches.slice(0, 16).map(({ level, bytes, cpus }) => h("div", { class: "cache" }, `L${level} ${quantity(bytes, "B", 3)}: CPU ${ranges(cpus)}`));
  return h("div", { class: "caches" }, shown, caches.length > 16 && h("div", { class: "cache" }, `and ${caches.length - 16} more`));
}

function cpuTable(machine, busy, { report }) {
  const clusterOf = (cpu) => machine.packages.flat().find(({ cores }) => cores.some((core) => core.includes(cpu)));
  const rows = machine.cpus.map((cpu, number) => ({ ...cpu, number, cluster: clusterOf(number), busy: busy[number] }));
  const columns = [
    { title: "CPU", text: ({ number }) => String(number) },
    { title: "Cluster", text: ({ cluster }) => (cluster ? `${cluster.name} (${cluster.kind})` : "–") },
    { title: "Node", number: true, text: ({ node }) => String(node) },
    { title: "Capacity", number: true, text: ({ capacity }) => String(capacity) },
    { title: "Clocks", number: true, text: ({ khz_min, khz_max }) => `${clock(khz_min)} – ${clock(khz_max)}` },
    { title: "Busy", number: true, text: ({ online, busy }) => (online ? percent(busy ?? 0) : "offline") },
  ];
  if (report) columns.push({ title: "Energy", number: true, text: ({ number }) => quantity(report.cpus[number]?.energy_j, "J", 3) });
  return table(`CPUs of ${machine.name}`, columns, rows);
}
