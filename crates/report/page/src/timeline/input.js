// SPDX-License-Identifier: MIT OR Apache-2.0
// Keys, pointer and wheel of a timeline.

/** Zoom and movement by keys. */
export function keys(timeline) {
  const { stage, view, model, state } = timeline;
  const acts = {
    "+": () => view.zoom(0.5, centre()),
    "=": () => view.zoom(0.5, centre()),
    "-": () => view.zoom(2, centre()),
    "[": () => view.pan(-0.25),
    "]": () => view.pan(0.25),
    Home: () => view.all(),
    ArrowLeft: () => step(-1),
    ArrowRight: () => step(1),
    ArrowUp: () => lane(-1),
    ArrowDown: () => lane(1),
    Enter: () => near(),
    Escape: () => ((state.slice = null), (state.lane = null), (state.time = null), (state.span = null)),
  };
  const centre = () => {
    const { slice } = state;
    const time = slice ? slice.lane.busy.slices.start[slice.index] : null;
    return time !== null && time >= view.from && time <= view.to ? time : (view.from + view.to) / 2;
  };
  const first = () => state.lane ?? model.lanes[0];
  const step = (by) => {
    const { slice } = state;
    if (slice) timeline.choose(slice.lane, slice.index + by);
    else timeline.choose(first(), Math.min(first().busy.at(view.from), first().busy.slices.count - 1));
    timeline.follow();
  };
  const lane = (by) => {
    const index = model.lanes.indexOf(first());
    const to = model.lanes[Math.min(Math.max(index + (state.lane ? by : 0), 0), model.lanes.length - 1)];
    const { slice } = state;
    const time = slice ? slice.lane.busy.slices.start[slice.index] : view.from;
    state.lane = to;
    timeline.choose(to, Math.min(to.busy.at(time), to.busy.slices.count - 1));
    timeline.follow();
  };
  const near = () => {
    const { slice } = state;
    if (!slice) return;
    const { start, length } = slice.lane.busy.slices;
    const middle = start[slice.index] + length[slice.index] / 2;
    view.show(middle - length[slice.index] * 5, middle + length[slice.index] * 5);
  };
  stage.addEventListener("keydown", (event) => {
    const act = acts[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (model.lanes.length > 0) act();
    timeline.redraw();
  });
}

/** Pointer, wheel, and the strip above. */
export function pointer(timeline) {
  const { stage, canvas, overview, view, state } = timeline;
  const timeAt = (x) => view.from + ((x - timeline.place.left) / timeline.place.inner) * view.span;
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const down = new Map();
  let moved = 0;
  let pinch = 0;

  canvas.addEventListener("pointerdown", (event) => {
    stage.focus({ preventScroll: true });
    down.set(event.pointerId, at(event));
    moved = 0;
    canvas.setPointerCapture(event.pointerId);
    if (event.shiftKey) state.marked = [timeAt(at(event).x), timeAt(at(event).x)];
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = at(event);
    const before = down.get(event.pointerId);
    state.time = here.x >= timeline.place.left ? timeAt(here.x) : null;
    if (before) {
      moved += Math.abs(here.x - before.x);
      if (down.size === 2) spread(event.pointerId, here);
      else if (state.marked) state.marked[1] = timeAt(here.x);
      else view.pan((before.x - here.x) / timeline.place.inner);
      down.set(event.pointerId, here);
    }
    timeline.redraw();
  });
  const spread = (id, here) => {
    const [other] = [...down].filter(([key]) => key !== id).map(([, place]) => place);
    const wide = Math.abs(here.x - other.x);
    if (pinch > 0 && wide > 0) view.zoom(pinch / wide, timeAt((here.x + other.x) / 2));
    pinch = wide;
  };
  const up = (event) => {
    if (!down.delete(event.pointerId)) return;
    pinch = 0;
    if (state.marked) {
      const [from, to] = [...state.marked].sort((one, other) => one - other);
      state.marked = null;
      if (moved > 4) view.show(from, to);
    } else if (moved < 4) pick(at(event));
    timeline.redraw();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", () => {
    if (down.size === 0) state.time = null;
    timeline.redraw();
  });
  canvas.addEventListener("dblclick", (event) => {
    view.zoom(0.25, timeAt(at(event).x));
    timeline.redraw();
  });
  const pick = ({ x, y }) => {
    const one = timeline.place.lanes.find(({ top }) => y >= top && y < top + timeline.place.laneHeight + timeline.place.gap);
    if (!one || x < timeline.place.left) return;
    const { busy } = one.lane;
    // A pixel on either side counts, as a slice may be less than one wide.
    const [from, to] = [timeAt(x - 1.5), timeAt(x + 1.5)];
    const index = busy.at(from);
    if (index < busy.slices.count && busy.slices.start[index] <= to) timeline.choose(one.lane, index);
    else [state.slice, state.lane] = [null, one.lane];
  };

  stage.addEventListener(
    "wheel",
    (event) => {
      const chosen = document.activeElement === stage;
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX / timeline.place.inner);
      else if (chosen || event.ctrlKey) view.zoom(Math.exp(Math.min(Math.max(event.deltaY, -100), 100) * 0.005), timeAt(at(event).x));
      else return;
      event.preventDefault();
      timeline.redraw();
    },
    { passive: false },
  );

  const jump = (event) => {
    const x = event.clientX - overview.getBoundingClientRect().left;
    const time = ((x - timeline.place.left) / timeline.place.inner) * view.end;
    const half = view.span / 2;
    view.show(time - half, time + half);
    timeline.redraw();
  };
  overview.addEventListener("pointerdown", (event) => {
    overview.setPointerCapture(event.pointerId);
    jump(event);
  });
  overview.addEventListener("pointermove", (event) => event.buttons > 0 && jump(event));
}
