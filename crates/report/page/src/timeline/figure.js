// SPDX-License-Identifier: MIT OR Apache-2.0
// The timeline as a figure: canvas, buttons, keys, pointer, what is said of a slice, and the tables behind.

import { fresh, h, table } from "../dom.js";
import { count, instant, nanos, percent, quantity, seconds } from "../format.js";
import { CLASSES, tile } from "../palette.js";
import { draw } from "./draw.js";
import { layout } from "./layout.js";
import { LEFT, Model } from "./model.js";
import { WAITED } from "./threads.js";
import { keys, pointer } from "./input.js";
import { download } from "../save.js";
import { View } from "./view.js";

/** Most slices that the table of what is in view lists. */
const MOST_ROWS = 200;

/** The figure of a run's timeline. */
export function timelineFigure(run, machine) {
  return new Timeline(run, machine).element;
}

class Timeline {
  constructor(run, machine) {
    this.run = run;
    this.model = new Model(run, machine);
    this.view = new View(this.model.end);
    this.state = { time: null, slice: null, lane: null, marked: null, span: null };
    // Of many CPUs, their lanes are enough at first.
    this.shown = { idle: this.model.lanes.length <= 32, clock: this.model.clocks.length <= 16, power: true, each: false };
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.said = h("p", { class: "slice", "aria-live": "polite" }, "Choose a slice by pointer, or with the arrow keys.");
    const id = fresh("timeline");
    this.stage = h(
      "div",
      { class: "stage", tabindex: 0, role: "application", "aria-roledescription": "timeline", "aria-label": `Who ran where: ${this.model.cpuLanes.length} CPUs over ${seconds(this.model.end * 1e-9)}`, "aria-describedby": `${id}-keys` },
      this.canvas,
    );
    this.overview = h("canvas", { class: "overview", "aria-hidden": "true" });
    this.element = h(
      "figure",
      { class: "timeline", "aria-labelledby": `${id}-title` },
      h("figcaption", {}, h("h3", { id: `${id}-title` }, "Slices over time"), h("p", { class: "says" }, this.says(run))),
      this.buttons(),
      this.legend(),
      this.overview,
      this.stage,
      this.said,
      h("p", { class: "keys", id: `${id}-keys` }, KEYS),
      this.tables(run),
    );
    keys(this);
    pointer(this);
    this.watch();
  }

  says(run) {
    const slices = run.timeline.cpus.reduce((sum, cpu) => sum + cpu.slices.count, 0);
    const far = "From afar, the colours of a column are the shares of its time; near, each slice is one.";
    return `${count(slices)} slices of ${count(this.model.threads.length)} threads. ${far}`;
  }

  buttons() {
    const button = (text, label, act) => h("button", { type: "button", "aria-label": label, title: label, click: () => (act(), this.redraw()) }, text);
    const toggle = (kind, text) => {
      const box = h("input", { type: "checkbox", checked: this.shown[kind] });
      box.addEventListener("change", () => {
        this.shown[kind] = box.checked;
        this.resize();
      });
      return h("label", {}, box, text);
    };
    const { model } = this;
    const toggles = [
      model.idle.length > 0 && toggle("idle", "Idle states"),
      model.clocks.length > 0 && toggle("clock", "Clocks"),
      model.powers.packages.length > 0 && toggle("power", "Power"),
      model.powers.cpus.length > 0 && toggle("each", "Power of each CPU"),
    ];
    return h(
      "div",
      { class: "controls", role: "group", "aria-label": "What the timeline shows" },
      button("+", "Zoom in", () => this.view.zoom(0.5)),
      button("−", "Zoom out", () => this.view.zoom(2)),
      button("←", "Earlier", () => this.view.pan(-0.5)),
      button("→", "Later", () => this.view.pan(0.5)),
      button("All", "All of the run", () => this.view.all()),
      toggles,
      this.choices(),
      h("button", { type: "button", click: () => this.save() }, "Save as PNG"),
    );
  }

  /** Two choices: what lanes are, and what colours tell. */
  choices() {
    const choice = (words, options, chosen, act) => {
      const id = fresh("choice");
      const select = h("select", { id }, options.map((what) => h("option", { value: what, selected: what === chosen }, what)));
      select.addEventListener("change", () => {
        act(select.value);
        this.strip = null;
        this.fillLegend();
        this.resize();
      });
      return h("label", { for: id }, words, select);
    };
    const lanes = (what) => {
      this.model.lanesOf(what);
      [this.state.slice, this.state.lane] = [null, null];
    };
    return [
      choice("Lanes are", ["CPUs", "threads"], this.model.laned, lanes),
      choice("Colours tell the", ["application", "thread"], this.model.coloured, (what) => this.model.colourBy(what)),
    ];
  }

  legend() {
    const place = h("ul", { class: "legend", "aria-label": "What colours tell" });
    const fillIn = (this.fillLegend = () => {
      const items = this.model.used.map((kind) => {
        const sample = h("canvas", { width: 28, height: 16, "aria-hidden": "true" });
        const context = sample.getContext("2d");
        context.fillStyle = context.createPattern(tile(kind), "repeat");
        context.fillRect(0, 0, 28, 16);
        return h("li", {}, sample, this.model.namesOf(kind));
      });
      place.replaceChildren(...items);
    });
    fillIn();
    document.addEventListener("report:theme", fillIn);
    return place;
  }

  watch() {
    document.addEventListener("report:show", ({ detail }) => detail.run === this.run && this.show(detail));
    // At once, as paper does not wait for a frame.
    document.addEventListener("report:theme", () => this.paint());
    new ResizeObserver(() => this.stage.clientWidth !== this.place?.width && this.resize()).observe(this.stage);
  }

  /** Shows a span of the run with some of what was around it, marks it, and goes there. */
  show({ from, to, cpu }) {
    const { state, model } = this;
    this.view.show(from - (to - from) * 0.75, to + (to - from) * 0.75);
    [state.slice, state.lane, state.span] = [null, model.lanes.find(({ number }) => number === cpu) ?? null, [from, to]];
    this.said.textContent = `The timeline shows ${instant(from)} to ${instant(to)}, which is marked, and what was around it.`;
    this.element.scrollIntoView({ block: "start" });
    this.stage.focus({ preventScroll: true });
    this.redraw();
  }

  resize() {
    const width = this.stage.clientWidth || 720;
    const scale = Math.min(devicePixelRatio || 1, 2);
    this.place = layout(this.model, width, scale, this.shown);
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.place.height * scale);
    this.canvas.style.height = `${this.place.height}px`;
    this.overview.width = Math.round(width * scale);
    this.overview.height = Math.round(30 * scale);
    this.redraw();
  }

  redraw() {
    if (this.asked) return;
    this.asked = requestAnimationFrame(() => {
      this.asked = null;
      this.paint();
    });
  }

  paint() {
    if (!this.place) return;
    const began = performance.now();
    draw(this.canvas.getContext("2d"), this.model, this.place, this.view, this.state);
    this.paintOverview();
    this.stage.dataset.view = `${this.view.from} ${this.view.to}`;
    // The longest that a drawing took, in ms: what a benchmark reads.
    this.longest = Math.max(this.longest ?? 0, performance.now() - began);
    this.stage.dataset.drawing = this.longest.toFixed(1);
  }

  /** The whole run in a strip, with what is looked at. */
  paintOverview() {
    const { place, view, model } = this;
    const context = this.overview.getContext("2d");
    const key = `${this.overview.width} ${document.documentElement.dataset.theme} ${matchMedia("(prefers-color-scheme: dark)").matches}`;
    if (this.strip?.key !== key) {
      this.strip = { key, canvas: h("canvas", { width: this.overview.width, height: this.overview.height }) };
      const height = 30 / Math.max(model.lanes.length, 1);
      const whole = { ...place, height: 30, axisHeight: 0, laneHeight: Math.max(height, 1), gap: 0, tracks: [], lanesBottom: 30 };
      whole.lanes = model.lanes.slice(0, 30).map((lane, index) => ({ lane: { ...lane, label: "" }, top: index * Math.max(height, 1) }));
      draw(this.strip.canvas.getContext("2d"), model, whole, { from: 0, to: model.end }, { time: null, slice: null });
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.strip.canvas, 0, 0);
    context.setTransform(place.scale, 0, 0, place.scale, 0, 0);
    const [from, to] = [view.from, view.to].map((time) => place.left + (time / model.end) * place.inner);
    const style = getComputedStyle(this.stage);
    context.globalAlpha = 0.7;
    context.fillStyle = style.getPropertyValue("--paper");
    context.fillRect(place.left, 0, from - place.left, 30);
    context.fillRect(to, 0, place.left + place.inner - to, 30);
    context.globalAlpha = 1;
    context.strokeStyle = style.getPropertyValue("--ink");
    context.strokeRect(from + 0.5, 0.5, Math.max(to - from - 1, 2), 29);
  }

  /** Chooses a slice, and says what it is. */
  choose(lane, index) {
    const { slices } = lane.busy;
    if (index < 0 || index >= slices.count) return;
    this.state.lane = lane;
    this.state.slice = { lane, index, thread: slices.thread[index] };
    this.said.textContent = this.words(lane, index);
  }

  words(lane, index) {
    const { start, length, thread, left, waited, cpu } = lane.busy.slices;
    if (left[index] === WAITED) return `${lane.label}: it waited for a CPU from ${instant(start[index])} for ${nanos(length[index])}, and got CPU ${cpu[index]}.`;
    const number = cpu ? cpu[index] : lane.number;
    const waiting = waited[index] > 0 ? `, after it had waited for a CPU for ${nanos(waited[index])}` : "";
    const clock = this.clockOf(number, start[index]);
    return `CPU ${number}: ${this.model.nameOf(thread[index])} (${this.model.applicationOf(thread[index])}) ran from ${instant(start[index])} for ${nanos(length[index])}${clock}${waiting}; then it ${LEFT[left[index]]}.`;
  }

  clockOf(number, time) {
    const track = this.model.clocks.find(({ cpus }) => cpus.includes(number));
    const khz = track?.steps.of(time);
    return khz ? ` at ${quantity(khz * 1e3, "Hz", 3)}` : "";
  }

  /** Shows the chosen slice, if it is outside of what is shown. */
  follow() {
    const { slice } = this.state;
    if (!slice) return;
    const { start, length } = slice.lane.busy.slices;
    const [from, to] = [start[slice.index], start[slice.index] + length[slice.index]];
    if (from < this.view.from || to > this.view.to) {
      const half = Math.max(this.view.span, (to - from) * 1.2) / 2;
      this.view.show((from + to) / 2 - half, (from + to) / 2 + half);
    }
  }

  save() {
    this.canvas.toBlob((blob) => download(blob, "timeline.png"));
  }

  tables(run) {
    const busy = h("details", { class: "behind", "data-print": "yes" }, h("summary", {}, "Who ran where, as a table"));
    const again = (details, make) => {
      while (details.childElementCount > 1) details.lastElementChild.remove();
      if (details.open) details.append(make());
    };
    busy.addEventListener("toggle", () => again(busy, () => this.busyTable()));
    const near = h("details", { class: "behind" }, h("summary", {}, "The slices in view, as a table"));
    near.addEventListener("toggle", () => again(near, () => this.sliceTable()));
    return [busy, near];
  }

  busyTable() {
    const { model } = this;
    const rows = model.lanes.map((lane) => {
      const sums = new Float64Array(CLASSES);
      lane.busy.sum(0, model.end, sums);
      return { lane, sums, idle: 1 - sums.reduce((sum, one) => sum + one, 0) / model.end };
    });
    const columns = [
      { title: model.laned === "CPUs" ? "CPU" : "Thread", text: ({ lane }) => lane.label },
      ...model.used.map((kind) => ({ title: model.namesOf(kind), number: true, text: ({ sums }) => percent(sums[kind] / model.end) })),
      { title: "nobody", number: true, text: ({ idle }) => percent(Math.max(idle, 0)) },
    ];
    return table(`Shares of the run's ${seconds(model.end * 1e-9)}, by what lanes are and colours tell`, columns, rows);
  }

  sliceTable() {
    const { model, view } = this;
    const rows = [];
    let more = 0;
    for (const lane of model.lanes) {
      const { busy } = lane;
      const beyond = busy.at(view.to);
      for (let index = busy.at(view.from); index <= beyond && index < busy.slices.count && busy.slices.start[index] < view.to; index++) {
        if (rows.length < MOST_ROWS) rows.push({ lane, index });
        else more += 1;
        if (more > 0) {
          more += Math.max(beyond - index - 1, 0);
          break;
        }
      }
    }
    const of = (column) => ({ lane, index }) => lane.busy.slices[column][index];
    const columns = [
      { title: "CPU", text: ({ lane, index }) => `CPU ${lane.number ?? lane.busy.slices.cpu[index]}` },
      { title: "Thread", text: (row) => model.nameOf(of("thread")(row)) },
      { title: "Application", text: (row) => model.applicationOf(of("thread")(row)) },
      { title: "From", number: true, text: (row) => instant(of("start")(row)) },
      { title: "For", number: true, text: (row) => nanos(of("length")(row)) },
      { title: "Waited before", number: true, text: (row) => nanos(of("waited")(row)) },
      { title: "Then it", text: (row) => LEFT[of("left")(row)] },
    ];
    const left = more > 0 ? `; ${count(more)} more are in view: zoom in to list them` : "";
    return table(`Slices from ${instant(view.from)} to ${instant(view.to)}${left}`, columns, rows);
  }
}

const KEYS =
  "Keys: left and right arrow choose the slice before and after, up and down the CPU; + and − zoom, [ and ] move, Home shows the whole run, Enter zooms to the slice. " +
  "Pointer: drag moves, drag with Shift zooms to what is marked, double click zooms in; the wheel zooms once the timeline is chosen, or with Ctrl.";
