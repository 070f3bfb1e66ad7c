// SPDX-License-Identifier: MIT OR Apache-2.0
// Where the lanes and tracks of a timeline are.

/** Heights of a lane, by how many there are. */
function laneHeight(count) {
  if (count <= 12) return 24;
  if (count <= 24) return 16;
  if (count <= 64) return 10;
  if (count <= 128) return 6;
  return count <= 256 ? 3 : 2;
}

/** The places of everything in a canvas of this width, in CSS pixels. `shown` says which kinds of tracks are. */
export function layout(model, width, scale, shown) {
  const left = width < 560 ? 64 : 92;
  const place = { scale, width, left, inner: Math.max(width - left - 6, 60), axisHeight: 24, lanes: [], tracks: [] };
  place.laneHeight = laneHeight(model.lanes.length);
  place.gap = place.laneHeight > 8 ? 3 : place.laneHeight > 4 ? 2 : 1;
  let top = place.axisHeight + 2;
  for (const lane of model.lanes) {
    place.lanes.push({ lane, top });
    top += place.laneHeight + place.gap;
  }
  place.lanesBottom = top;
  const add = (track, height, gap) => {
    place.tracks.push({ ...track, top: top + gap, height });
    top += height + gap;
  };
  if (shown.idle && model.idle.length > 0) {
    add({ kind: "title", text: "Idle states" }, 16, 6);
    const height = Math.min(10, place.laneHeight);
    model.idle.forEach((track) => add(track, height, height > 5 ? 2 : 1));
  }
  if (shown.clock && model.clocks.length > 0) {
    const height = model.clocks.length > 8 ? 22 : 40;
    model.clocks.slice(0, 64).forEach((track, index) => add(track, height, index === 0 ? 10 : 4));
  }
  if (shown.power) model.powers.packages.forEach((track, index) => add(track, 48, index === 0 ? 10 : 4));
  if (shown.each) model.powers.cpus.slice(0, 64).forEach((track, index) => add(track, model.powers.cpus.length > 16 ? 14 : 26, index === 0 ? 10 : 3));
  place.height = Math.ceil(top + 6);
  return place;
}
