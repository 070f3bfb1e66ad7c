// SPDX-License-Identifier: MIT OR Apache-2.0
// Why threads waited: causes, and each long wait as a chain of what happened.

import { axisX, axisY, barX, gridX, text } from "@observablehq/plot";
import { figure, fresh, h, table } from "../dom.js";
import { count, nanos, percent, seconds } from "../format.js";
import { plotted, roomFor, shortened } from "./plots.js";

/** The section of a run's waits. */
export function waitSections(waits, report) {
  const id = fresh("waits");
  const { runs } = report;
  const run = runs.find(({ facts, timeline }) => timeline && ["workload", "machine", "scheduler", "governor"].every((fact) => facts[fact] === waits[fact]) && facts.seed === String(waits.seed));
  const shows = run ? (from, to, cpu) => showButton(run, from, to, cpu) : () => null;
  const title = `Why threads of ${waits.workload} waited`;
  const shown = [
    h("p", { class: "says" }, `${waits.workload} on ${waits.machine}, ${waits.scheduler} with ${waits.governor}, seed ${waits.seed}: ${seconds(waits.time_s)}.`),
    waits.ejected && h("p", { class: "warnings" }, `The scheduler was ejected: ${waits.ejected}`),
    waits.warnings.map((text) => h("p", { class: "warnings" }, text)),
    causes("All waits for a CPU by cause", waits.wait_causes),
    causes("All waits for a mutex by cause", waits.lock_causes),
    chains("The longest waits for a CPU", waits.waits.map((one) => wait(one, shows))),
    chains("The longest waits for a mutex", waits.locks.map((one) => lock(one, shows))),
    chains(`Late rounds: ${count(waits.late_rounds)} of ${count(waits.rounds)}`, waits.misses.map((one) => miss(one, shows))),
  ];
  return [{ id, short: "Waits", element: h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), shown.flat(2).filter(Boolean)) }];
}

const words = (cause) => cause.replaceAll("_", " ");

function causes(title, rows) {
  if (rows.length === 0) return null;
  const total = rows.reduce((sum, { time_s }) => sum + time_s, 0);
  const label = `${title}: ${rows.slice(0, 6).map(({ cause, time_s }) => `${words(cause)} ${seconds(time_s, 3)}`).join(", ")}`;
  const drawing = plotted(label, (width) => {
    const room = roomFor(rows.map(({ cause }) => words(cause)), width);
    return {
      height: rows.length * 25 + 34,
      marginLeft: room,
      marginRight: Math.min(170, width * 0.34),
      x: { label: null },
      y: { domain: rows.map(({ cause }) => cause), label: null },
      marks: [
        gridX({ stroke: "var(--line)", strokeOpacity: 1 }),
        axisX({ ticks: Math.max(2, Math.round(width / 180)), tickFormat: (value) => seconds(value, 2), label: null }),
        axisY({ tickSize: 0, label: null, tickFormat: (cause) => shortened(words(cause), room) }),
        barX(rows, { x: "time_s", y: "cause", fill: "var(--accent)", rx: 2 }),
        text(rows, { x: "time_s", y: "cause", text: ({ time_s, count: times }) => `${seconds(time_s, 3)} in ${count(times)}`, textAnchor: "start", dx: 6, fill: "var(--ink)" }),
      ],
    };
  });
  const columns = [
    { title: "Cause", text: ({ cause }) => words(cause) },
    { title: "Waits", number: true, text: ({ count: times }) => count(times) },
    { title: "Time", number: true, text: ({ time_s }) => seconds(time_s) },
    { title: "Share", number: true, text: ({ time_s }) => percent(total > 0 ? time_s / total : 0) },
  ];
  return figure(title, null, drawing, () => table(title, columns, rows));
}

function chains(title, items) {
  if (items.length === 0) return null;
  return [h("h3", {}, title), h("ol", { class: "chains" }, items)];
}

/** A wait as a chain: its beginning, its steps, its end, and who ran meanwhile. */
function wait(one, shows) {
  const { start } = one;
  const by = start.by ? `by ${start.by}` : "by a timer";
  const begin = { new: `came into being ${start.by ? by : ""}`, woken: `was woken ${by} from ${start.from ?? "a wait"}`, displaced: `was displaced ${start.by ? by : ""}` }[start.how] ?? start.how;
  const links = [
    [one.since_s, `${one.task} ${begin} on CPU ${start.cpu}`],
    ...one.steps.map((step) => [step.at_s, stepWords(step)]),
    one.missing_steps > 0 && [null, `${count(one.missing_steps)} further steps were not kept`],
    [one.since_s + one.waited_s, one.ended ? `it ran on CPU ${one.ran_on}` : "it still waited when the run ended"],
  ].filter(Boolean);
  return chain(one, `${one.task} waited ${seconds(one.waited_s)} for a CPU`, links, [
    meanwhile(one),
    one.idle.length > 0 && h("p", {}, `Idle meanwhile: ${one.idle.map(({ cpu, idle_s, allowed }) => `CPU ${cpu} for ${seconds(idle_s, 3)}${allowed ? "" : " (not allowed)"}`).join(", ")}.`),
    one.earlier && h("p", {}, `On CPU ${one.earlier.cpu} it would have run ${seconds(one.earlier.earlier_s, 3)} earlier.`),
    overhead(one.overhead),
    shows(one.since_s, one.since_s + one.waited_s, one.ran_on ?? one.cpu),
  ]);
}

function stepWords(step) {
  switch (step.step) {
    case "select_cpu":
      return `select_cpu chose CPU ${step.cpu}`;
    case "enqueue":
      return "enqueue was called";
    case "queued":
      return `${step.callback ? `${step.callback} on CPU ${step.callback_cpu} put it` : "it was put"} into the ${step.queue}, where ${step.depth === 1 ? "it was alone" : `there were ${step.depth}`}`;
    case "held":
      return "the scheduler's program kept it in no queue";
    case "migrated":
      return `it was moved to CPU ${step.cpu}`;
    case "ejected":
      return "the scheduler was ejected";
    default:
      return step.step;
  }
}

function lock(one, shows) {
  const links = [
    [one.since_s, `${one.task} asked for the mutex ${one.mutex}${one.before > 0 ? `, for which ${one.before} waited already` : ""}`],
    ...one.holders.map(({ task, time_s, turns }) => [null, `${task} held it for ${seconds(time_s, 3)}${turns > 1 ? ` in ${turns} turns` : ""}`]),
    [one.since_s + one.waited_s, one.ended ? "it had the mutex" : "it still waited when the run ended"],
  ];
  return chain(one, `${one.task} waited ${seconds(one.waited_s)} for the mutex ${one.mutex}`, links, [
    one.holder_waited_s > 0 && h("p", {}, `The holder itself waited for a CPU for ${seconds(one.holder_waited_s, 3)}.`),
    meanwhile(one),
    shows(one.since_s, one.since_s + one.waited_s, null),
  ]);
}

function miss(one, shows) {
  const overheads = Object.values(one.overhead).reduce((sum, time) => sum + time, 0);
  const parts = [
    ["begun late", one.backlog_s],
    ["the work itself", one.work_s],
    ["low clocks", one.lost_to_clock_s],
    ["slower CPUs", one.lost_to_cpu_s],
    ["waits for a CPU", one.waited_s],
    ["switches and idle exits", overheads],
    ["waits for mutexes", one.locked_s],
    ["waits for others", one.for_others_s],
  ].filter(([, time]) => time > 0);
  const spent = parts.map(([what, time]) => [null, `${what}: ${seconds(time, 3)}`]);
  return chain(one, `${one.task} was ${seconds(one.late_s)} late`, [[one.due_s, `a round of ${seconds(one.period_s, 3)} should have been done`], ...spent], [shows(one.due_s - one.period_s, one.due_s + one.late_s, null)]);
}

/** A button that shows a span of a run in its timeline. */
function showButton(run, from_s, to_s, cpu) {
  const click = () => document.dispatchEvent(new CustomEvent("report:show", { detail: { run, from: from_s * 1e9, to: to_s * 1e9, cpu } }));
  return h("button", { type: "button", click }, "Show in the timeline");
}

function chain({ cause, remedy }, title, links, more) {
  const list = h("ol", { class: "links" }, links.map(([at, text]) => h("li", {}, at === null ? null : h("span", { class: "at" }, `${nanos(at * 1e9, 6)} `), text)));
  return h("li", {}, h("div", { class: "chain" }, h("h4", {}, title), h("p", { class: "cause" }, h("b", {}, words(cause)), ` – ${remedy}`), list, more.flat().filter(Boolean)));
}

/** Who ran meanwhile, as bars of their time. */
function meanwhile({ ran_instead, waited_s }) {
  if (ran_instead.length === 0) return null;
  const rows = ran_instead.slice(0, 5).map(({ task, time_s, slowed_s }) =>
    h(
      "li",
      {},
      h("span", { class: "who" }, task),
      h("span", { class: "bar", style: `--share: ${Math.min(time_s / Math.max(waited_s, 1e-12), 1)}`, "aria-hidden": "true" }),
      h("span", {}, `${seconds(time_s, 3)}${slowed_s > 0 ? `, ${seconds(slowed_s, 2)} of it for a low clock` : ""}`),
    ),
  );
  return [h("p", {}, "Ran meanwhile:"), h("ul", { class: "bars" }, rows)];
}

const OVERHEADS = { idle_exit_s: "leaving an idle state", switch_s: "the switch", cold_s: "cold caches", kernel_s: "kernel and callbacks" };

function overhead(parts) {
  const told = Object.entries(OVERHEADS).filter(([key]) => parts[key] > 0).map(([key, what]) => `${what} ${seconds(parts[key], 3)}`);
  return told.length > 0 && h("p", {}, `At the end: ${told.join(", ")}.`);
}
