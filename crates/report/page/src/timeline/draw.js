// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws a part of a timeline on a canvas: exact rectangles where slices are wide enough to see, else how the time of each pixel's
// width is shared among applications.

import { ticks as ticksOf } from "d3-array";
import { quantity } from "../format.js";
import { CLASSES, colourOf, inkOn, isDark, parts, texture, textureOf, tile } from "../palette.js";

/** Pixels that a slice must have, on the average, to be drawn as one. */
const WIDE = 2.5;
/** Least width of a slice with its thread's name in it. */
const NAMED = 34;

/** The colours of the page, as its style sheet has them. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: of("ink"), soft: of("soft"), line: of("line"), paper: of("paper"), lane: of("lane"), accent: of("accent"), idle: of("idle") };
}

/** Draws everything. `place` has the sizes (see layout.js), `view` the times. */
export function draw(context, model, place, view, state) {
  const { scale, width, height } = place;
  const paint = colours();
  context.setTransform(scale, 0, 0, scale, 0, 0);
  context.fillStyle = paint.paper;
  context.fillRect(0, 0, width, height);
  if (place.axisHeight > 0) axis(context, place, view, paint);
  lanes(context, model, place, view, paint, state);
  for (const track of place.tracks) {
    if (track.kind === "title") title(context, place, track, paint);
    else if (track.kind === "idle") idleTrack(context, place, view, track, paint);
    else stepTrack(context, place, view, track, paint);
  }
  cutMark(context, model, place, view, paint);
  cursor(context, place, view, paint, state);
}

/** Where a time is. */
export const xOf = (place, view, time) => place.left + ((time - view.from) / (view.to - view.from)) * place.inner;

function axis(context, place, view, paint) {
  const { left, inner, axisHeight, height } = place;
  const span = view.to - view.from;
  const scale = (time) => xOf(place, view, time);
  const ticks = ticksOf(view.from, view.to, Math.max(2, Math.floor(inner / 110)));
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : span;
  // Far in, times are told from a round one, which stands at the left.
  const base = view.from > span * 20 ? Math.floor(view.from / 10 ** Math.ceil(Math.log10(span))) * 10 ** Math.ceil(Math.log10(span)) : 0;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  context.textAlign = "center";
  for (const tick of ticks) {
    const x = Math.round(scale(tick)) + 0.5;
    context.strokeStyle = paint.line;
    context.beginPath();
    context.moveTo(x, axisHeight - 4);
    context.lineTo(x, height);
    context.stroke();
    context.fillStyle = paint.soft;
    context.fillText(`${base ? "+" : ""}${tickText(tick - base, step)}`, Math.min(x, left + inner - 24), axisHeight / 2);
  }
  context.textAlign = "left";
  context.fillStyle = paint.ink;
  context.fillText(base ? `${tickText(base, 10 ** Math.ceil(Math.log10(span)))}` : "Time", 6, axisHeight / 2);
}

/** A time with as many digits as tell it from the next tick. */
function tickText(ns, step) {
  const [unit, name] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]].find(([unit]) => step >= unit * 0.09) ?? [1, "ns"];
  const decimals = Math.max(0, Math.ceil(-Math.log10(step / unit) - 1e-9));
  return `${(ns / unit).toFixed(decimals)} ${name}`;
}

function lanes(context, model, place, view, paint, state) {
  const visible = place.lanes;
  context.fillStyle = paint.lane;
  for (const { top } of visible) context.fillRect(place.left, top, place.inner, place.laneHeight);
  const perPixel = (view.to - view.from) / place.inner;
  const dense = [];
  const sparse = [];
  for (const one of visible) {
    const { busy } = one.lane;
    const count = busy.at(view.to) - busy.at(view.from);
    (count * WIDE > place.inner ? dense : sparse).push(one);
  }
  if (dense.length > 0) densely(context, place, view, dense, paint);
  for (const one of sparse) sparsely(context, model, place, view, one, perPixel, state);
  labels(context, place, visible, paint, state);
}

function labels(context, place, visible, paint, state) {
  context.font = `${place.laneHeight >= 12 ? 12 : 10}px system-ui, sans-serif`;
  context.textAlign = "left";
  const every = Math.max(1, Math.ceil(11 / (place.laneHeight + place.gap)));
  visible.forEach(({ lane, top }, index) => {
    if (index % every !== 0 && lane !== state.lane) return;
    context.fillStyle = lane === state.lane ? paint.accent : paint.ink;
    context.fillText(lane.label, 6, top + place.laneHeight / 2 + 0.5, place.left - 10);
  });
}

/** Lanes with many slices a pixel: each column is filled from below by what ran in it, the largest at the bottom. */
function densely(context, place, view, visible, paint) {
  const { scale, left, inner, laneHeight } = place;
  const dark = isDark();
  const columns = Math.round(inner * scale);
  const rows = Math.round(laneHeight * scale);
  const words = Array.from({ length: CLASSES }, (_, kind) => [word(colourOf(kind, dark)), word(textureOf(kind, dark))]);
  const ground = word(paint.lane);
  const image = context.createImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const sums = new Float64Array(CLASSES);
  const step = (view.to - view.from) / columns;
  for (const { lane, top } of visible) {
    pixels.fill(ground);
    let first = lane.busy.at(view.from);
    for (let x = 0; x < columns; x++) {
      sums.fill(0);
      const from = view.from + x * step;
      first = lane.busy.sum(from, from + step, sums, first);
      let filled = 0;
      for (let kind = 0; kind < CLASSES; kind++) {
        if (sums[kind] === 0) continue;
        filled += sums[kind];
        const until = rows - Math.round((Math.min(filled, step) / step) * rows);
        const begin = rows - Math.round(((filled - sums[kind]) / step) * rows);
        for (let y = begin - 1; y >= until; y--) pixels[y * columns + x] = words[kind][texture(kind, x, y) ? 1 : 0];
      }
    }
    context.putImageData(image, Math.round(left * scale), Math.round(top * scale));
  }
}

function word(hex) {
  const [r, g, b] = parts(hex);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** A lane whose slices can be seen one by one. */
function sparsely(context, model, place, view, { lane, top }, perPixel, state) {
  const { busy } = lane;
  const { start, length, thread } = busy.slices;
  const dark = isDark();
  context.font = "11px system-ui, sans-serif";
  const right = place.left + place.inner;
  const fills = Array.from({ length: CLASSES }, () => null);
  for (let index = busy.at(view.from); index < busy.slices.count && start[index] < view.to; index++) {
    const x = Math.max(xOf(place, view, start[index]), place.left);
    const end = Math.min(xOf(place, view, start[index] + length[index]), right);
    const wide = Math.max(end - x, 0.75);
    const kind = busy.classes[index];
    if (wide < 6) context.fillStyle = colourOf(kind, dark);
    else context.fillStyle = fills[kind] ??= context.createPattern(tile(kind, dark), "repeat");
    const other = state.slice && state.slice.thread !== thread[index];
    context.globalAlpha = other ? 0.45 : 1;
    context.fillRect(x, top, wide > 3 ? wide - 0.5 : wide, place.laneHeight);
    context.globalAlpha = 1;
    if (wide >= NAMED && place.laneHeight >= 12) named(context, model.labelOf(busy.slices, index), x, top, wide, place, colourOf(kind, dark));
    if (state.slice && state.slice.lane === lane && state.slice.index === index) outline(context, x, top, wide, place);
  }
}

function named(context, name, x, top, wide, place, colour) {
  const ink = inkOn(colour);
  context.save();
  context.beginPath();
  context.rect(x + 2, top, wide - 5, place.laneHeight);
  context.clip();
  // A plain ground, so that a texture does not run through the letters.
  context.fillStyle = colour;
  context.fillRect(x + 2, top + 2, Math.min(context.measureText(name).width + 5, wide - 5), place.laneHeight - 4);
  context.fillStyle = ink;
  context.textAlign = "left";
  context.fillText(name, x + 4, top + place.laneHeight / 2 + 0.5);
  context.restore();
}

function outline(context, x, top, wide, place) {
  const paint = colours();
  context.lineWidth = 3;
  context.strokeStyle = paint.paper;
  context.strokeRect(x - 1, top - 1, wide + 2, place.laneHeight + 2);
  context.lineWidth = 1.5;
  context.strokeStyle = paint.ink;
  context.strokeRect(x - 1, top - 1, wide + 2, place.laneHeight + 2);
  context.lineWidth = 1;
}

function title(context, place, { top, text, height }, paint) {
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "left";
  context.fillStyle = paint.soft;
  context.fillText(text, 6, top + height / 2);
}

/** A clock or a power: a line from change to change; where a pixel has many, from the least to the most of them. */
function stepTrack(context, place, view, { top, height, label, steps, most, unit, factor }, paint) {
  const bottom = top + height;
  const y = (value) => bottom - (value / most) * (height - 3);
  context.fillStyle = paint.lane;
  context.fillRect(place.left, top, place.inner, height);
  const columns = Math.ceil(place.inner);
  const perColumn = (view.to - view.from) / place.inner;
  context.beginPath();
  let last = null;
  let index = steps.index(view.from);
  for (let column = 0; column <= columns; column++) {
    const until = view.from + (column + 1) * perColumn;
    const next = steps.index(until);
    if (next < 0) continue;
    const x = place.left + Math.min(column, place.inner);
    const [low, high] = next > index ? steps.extent(Math.max(index, 0), next) : [steps.value[next], steps.value[next]];
    if (last === null) context.moveTo(x, y(steps.value[Math.max(index, 0)]));
    else if (last !== low || low !== high) context.lineTo(x, y(last));
    if (low !== high) {
      context.lineTo(x, y(high));
      context.lineTo(x, y(low));
    }
    last = steps.value[next];
    context.lineTo(x, y(last));
    index = next;
  }
  context.strokeStyle = paint.accent;
  context.lineWidth = 1.25;
  context.stroke();
  context.lineWidth = 1;
  if (last !== null) {
    context.lineTo(place.left + place.inner, bottom);
    context.lineTo(place.left, bottom);
    context.globalAlpha = 0.12;
    context.fillStyle = paint.accent;
    context.fill();
    context.globalAlpha = 1;
  }
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "left";
  context.fillStyle = paint.ink;
  context.fillText(label, 6, top + Math.min(height / 2, height - 16) - (height > 30 ? 4 : 0), place.left - 10);
  if (height > 30) {
    context.fillStyle = paint.soft;
    context.fillText(`to ${quantity(most * factor, unit, 3)}`, 6, top + height / 2 + 10, place.left - 10);
  }
}

/** The idle states of a CPU: the deeper, the darker and the taller; a pixel with several shows their means. */
function idleTrack(context, place, view, { top, height, label, steps, deepest }, paint) {
  context.fillStyle = paint.lane;
  context.fillRect(place.left, top, place.inner, height);
  const columns = Math.ceil(place.inner);
  const perColumn = (view.to - view.from) / place.inner;
  context.fillStyle = paint.idle;
  let index = steps.index(view.from);
  let run = null;
  const flush = (x) => {
    if (run && run.level > 0) {
      const share = Math.min(run.level / Math.max(deepest, 1), 1);
      context.globalAlpha = 0.25 + 0.75 * share;
      const tall = Math.max(2, share * height);
      context.fillRect(run.x, top + height - tall, x - run.x, tall);
    }
  };
  for (let column = 0; column < columns; column++) {
    const from = view.from + column * perColumn;
    const next = steps.index(from + perColumn);
    const level = Math.round(mean(steps, index, next, from, from + perColumn) * 4) / 4;
    if (!run || run.level !== level) {
      flush(place.left + column);
      run = { x: place.left + column, level };
    }
    index = next;
  }
  flush(place.left + place.inner);
  context.globalAlpha = 1;
  context.font = "10px system-ui, sans-serif";
  context.textAlign = "left";
  context.fillStyle = paint.ink;
  if (height >= 9) context.fillText(label, 6, top + height / 2 + 0.5, place.left - 10);
}

/** The mean level between two times; of many changes, a few are looked at. */
function mean(steps, index, next, from, to) {
  if (next <= index) return index < 0 ? 0 : steps.value[index];
  const stride = Math.max(1, Math.floor((next - index) / 24));
  let sum = 0;
  let time = from;
  let level = index < 0 ? 0 : steps.value[index];
  for (let at = index + 1; at <= next; at += stride) {
    const when = Math.min(Math.max(steps.at[at], from), to);
    sum += level * (when - time);
    time = when;
    level = steps.value[at];
  }
  return (sum + level * (to - time)) / (to - from);
}

/** From where on slices were too many to be kept. */
function cutMark(context, { cut }, place, view, paint) {
  if (cut === null || cut === undefined || cut > view.to) return;
  const x = Math.max(xOf(place, view, cut), place.left);
  context.fillStyle = paint.line;
  context.globalAlpha = 0.6;
  context.fillRect(x, place.axisHeight, place.left + place.inner - x, place.lanesBottom - place.axisHeight);
  context.globalAlpha = 1;
  context.fillStyle = paint.ink;
  context.textAlign = "left";
  context.fillText("from here on, slices were too many to be kept", x + 6, place.axisHeight + 12);
}

function cursor(context, place, view, paint, state) {
  if (state.span) shade(context, place, view, paint, state.span);
  if (state.time === null || state.time < view.from || state.time > view.to) return;
  const x = Math.round(xOf(place, view, state.time)) + 0.5;
  context.strokeStyle = paint.ink;
  context.globalAlpha = 0.6;
  context.beginPath();
  context.moveTo(x, place.axisHeight - 4);
  context.lineTo(x, place.height);
  context.stroke();
  context.globalAlpha = 1;
  if (state.marked) shade(context, place, view, paint, state.marked);
}

/** Marks a span of time. */
function shade(context, place, view, paint, span) {
  const inside = (x) => Math.min(Math.max(x, place.left), place.left + place.inner);
  const [from, to] = span.map((time) => inside(xOf(place, view, time))).sort((one, other) => one - other);
  context.fillStyle = paint.accent;
  context.globalAlpha = 0.16;
  context.fillRect(from, place.axisHeight, to - from, place.height - place.axisHeight);
  context.globalAlpha = 1;
  for (const x of [from, to]) context.fillRect(x - 0.75, place.axisHeight, 1.5, place.height - place.axisHeight);
}
