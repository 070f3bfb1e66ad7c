// SPDX-License-Identifier: MIT OR Apache-2.0
// What the timeline draws: one lane per CPU, below them tracks of clocks, idle states and power.

import { Busy, Steps } from "../levels.js";
import { classOf } from "../palette.js";

/** How a slice ended, by its number in the columns. */
export const LEFT = ["was preempted, or yielded", "went to wait", "ended", "ran on at the end"];

/** The lanes and tracks of a run's timeline. */
export class Model {
  constructor(run, machine) {
    const { timeline } = run;
    this.end = Math.max(timeline.end, 1);
    this.cut = timeline.cut;
    this.threads = timeline.threads;
    this.applications = timeline.applications;
    const classes = new Uint8Array(timeline.threads.map((thread) => classOf(thread.application)));
    this.lanes = timeline.cpus.map((cpu, number) => lane(cpu, number, classes)).filter(({ number, busy }) => busy.slices.count > 0 || (machine?.cpus[number]?.online ?? true));
    this.used = [...new Set(this.lanes.flatMap(({ busy }) => usedBy(busy)))].sort((one, other) => one - other);
    this.clocks = clocks(timeline, machine);
    this.idle = idle(timeline, machine);
    this.powers = powers(timeline);
  }

  /** The application of a slice's thread, in words. */
  applicationOf(thread) {
    const { application } = this.threads[thread] ?? { application: null };
    return application === null ? "system" : this.applications[application];
  }

  nameOf(thread) {
    return this.threads[thread]?.name || `thread ${thread}`;
  }

  /** The applications of a class, for the legend. */
  namesOf(kind) {
    if (kind === 8) return "system tasks";
    if (kind === 7) return `${this.applications.length - 7} further applications`;
    return this.applications[kind];
  }
}

function lane(cpu, number, classes) {
  const { slices } = cpu;
  const own = new Uint8Array(slices.count);
  for (let index = 0; index < slices.count; index++) own[index] = classes[slices.thread[index]] ?? 8;
  return { number, label: `CPU ${number}`, busy: new Busy(slices, own) };
}

function usedBy({ slices, classes, groups }) {
  const used = new Set();
  const top = groups.at(-1);
  if (!top) classes.forEach((kind) => used.add(kind));
  else top.forEach((sum, index) => sum > 0 && used.add(index % 9));
  return slices.count > 0 ? [...used] : [];
}

/** A track per clock: CPUs that share one have the same changes. */
function clocks(timeline, machine) {
  const seen = new Map();
  timeline.cpus.forEach((cpu, number) => {
    if (cpu.khz.at.length === 0) return;
    const domain = machine?.cpus[number]?.domain ?? `cpu ${number}`;
    if (!seen.has(domain)) seen.set(domain, { cpus: [], steps: new Steps(cpu.khz), most: machine?.cpus[number]?.khz_max ?? 0 });
    seen.get(domain).cpus.push(number);
  });
  const most = Math.max(...[...seen.values()].map(({ steps, most }) => Math.max(most, ...top(steps))), 1);
  return [...seen.values()].map(({ cpus, steps }) => ({
    kind: "clock",
    label: `Clock ${ranges(cpus)}`,
    unit: "Hz",
    factor: 1e3,
    steps,
    most,
  }));
}

function powers(timeline) {
  const track = (power, label) => ({ kind: "power", label, unit: "W", factor: 1, steps: new Steps(power), width: power.width });
  const packages = timeline.packages.map((power, number) => track(power, timeline.packages.length > 1 ? `Package ${number}` : "Power"));
  const cpus = timeline.cpus.flatMap((cpu, number) => (cpu.watts.at.length > 0 ? [track(cpu.watts, `CPU ${number}`)] : []));
  const scaled = (tracks) => {
    const most = Math.max(...tracks.map(({ steps }) => Math.max(...top(steps))), 1e-9);
    return tracks.map((one) => ({ ...one, most }));
  };
  return { packages: scaled(packages.filter(({ steps }) => steps.at.length > 0)), cpus: scaled(cpus) };
}

function top(steps) {
  return steps.at.length === 0 ? [0] : [steps.extent(0, steps.at.length - 1)[1]];
}

/** A track per CPU: its idle state, 0 where it is awake. */
function idle(timeline, machine) {
  return timeline.cpus.flatMap((cpu, number) => {
    if (cpu.idle.at.length === 0) return [];
    const states = statesOf(machine, number);
    const deepest = Math.max(states.length, ...top(new Steps(cpu.idle)));
    return [{ kind: "idle", label: `CPU ${number}`, steps: new Steps(cpu.idle), states, deepest, number }];
  });
}

/** Names of a CPU's idle states, shallow to deep. */
function statesOf(machine, number) {
  const clusters = machine?.packages.flat() ?? [];
  return clusters.find(({ cores }) => cores.some((core) => core.includes(number)))?.idle_states ?? [];
}

/** `0–3, 6` of ascending numbers. */
export function ranges(numbers) {
  const parts = [];
  for (let first = 0; first < numbers.length; ) {
    let last = first;
    while (numbers[last + 1] === numbers[last] + 1) last += 1;
    parts.push(last === first ? `${numbers[first]}` : `${numbers[first]}–${numbers[last]}`);
    first = last + 1;
  }
  return parts.join(", ");
}
