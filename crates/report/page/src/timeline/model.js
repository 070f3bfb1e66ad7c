// SPDX-License-Identifier: MIT OR Apache-2.0
// What the timeline draws: one lane per CPU, below them tracks of clocks, idle states and power.

import { Busy, Steps } from "../levels.js";
import { CLASSES, FURTHER, SYSTEM, WAIT, classOf } from "../palette.js";
import { WAITED, threadLanes } from "./threads.js";

/** How a slice ended, by its number in the columns. */
export const LEFT = ["was preempted, or yielded", "went to wait", "ended", "ran on at the end", "got a CPU"];

/** The lanes and tracks of a run's timeline. */
export class Model {
  constructor(run, machine) {
    const { timeline } = run;
    this.end = Math.max(timeline.end, 1);
    this.cut = timeline.cut;
    this.laned = "CPUs";
    this.threads = timeline.threads;
    this.applications = timeline.applications;
    const online = (number) => timeline.cpus[number].slices.count > 0 || (machine?.cpus[number]?.online ?? true);
    this.cpuLanes = timeline.cpus.map(({ slices }, number) => ({ number, label: `CPU ${number}`, slices })).filter(({ number }) => online(number));
    this.lanes = this.cpuLanes;
    // Of a single application, colours tell threads.
    this.colourBy(this.applications.length > 1 ? "application" : "thread");
    this.clocks = clocks(timeline, machine);
    this.idle = idle(timeline, machine);
    this.powers = powers(timeline);
  }

  /** Colours tell applications, or threads: those with the most CPU time, all others together, and the system's. */
  colourBy(what) {
    this.coloured = what;
    this.busiest = what === "thread" ? busiest(this.cpuLanes, this.threads) : [];
    const classes = Uint8Array.from(this.threads, (thread) => classOf(thread.application));
    if (what === "thread") {
      this.threads.forEach(({ application }, index) => application !== null && (classes[index] = FURTHER));
      this.busiest.forEach((thread, place) => (classes[thread] = place));
    }
    for (const lane of this.lanes) {
      const { count, thread, left } = lane.slices;
      const own = new Uint8Array(count);
      for (let index = 0; index < count; index++) own[index] = left[index] === WAITED ? WAIT : (classes[thread[index]] ?? SYSTEM);
      lane.busy = new Busy(lane.slices, own);
    }
    this.used = [...new Set(this.lanes.flatMap(({ busy }) => usedBy(busy)))].sort((one, other) => one - other);
  }

  /** Lanes are CPUs, or the threads with the most CPU time. */
  lanesOf(what) {
    this.laned = what;
    this.lanes = what === "threads" ? (this.threadLanes ??= threadLanes(this.cpuLanes, this.threads)) : this.cpuLanes;
    this.colourBy(this.coloured);
  }

  /** What is written into a slice: the thread, or in a lane of a thread the CPU. */
  labelOf(slices, index) {
    if (!slices.cpu) return this.nameOf(slices.thread[index]);
    return slices.left[index] === WAITED ? "waits" : `CPU ${slices.cpu[index]}`;
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
    if (kind === WAIT) return "waits for a CPU";
    if (kind === SYSTEM) return "system tasks";
    if (this.coloured === "thread") return kind === FURTHER ? "further threads" : this.nameOf(this.busiest[kind]);
    return kind === FURTHER ? `${this.applications.length - FURTHER} further applications` : this.applications[kind];
  }
}

/** The threads with the most CPU time, as many as have a colour of their own, in their own order. */
function busiest(lanes, threads) {
  const times = new Float64Array(threads.length);
  for (const { slices } of lanes) for (let index = 0; index < slices.count; index++) times[slices.thread[index]] += slices.length[index];
  const own = [...threads.keys()].filter((thread) => threads[thread].application !== null && times[thread] > 0);
  return own.sort((one, other) => times[other] - times[one]).slice(0, FURTHER).sort((one, other) => one - other);
}

function usedBy({ slices, classes, groups }) {
  const used = new Set();
  const top = groups.at(-1);
  if (!top) classes.forEach((kind) => used.add(kind));
  else top.forEach((sum, index) => sum > 0 && used.add(index % CLASSES));
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
    cpus,
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
