// SPDX-License-Identifier: MIT OR Apache-2.0
// Colours with textures: applications differ in both, so that no colour has to be told from another.
//
// The hues are those of M. Okabe and K. Ito, "Color Universal Design" (2008), which people with any kind of colour vision tell
// apart; for light backgrounds the yellow is darker.

const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b5568f", "#b8860b", "#3aa0dd", "#7a5195"];
const DARK = ["#4ba3e3", "#ff8c42", "#2fc79a", "#e493c1", "#e6b422", "#8fd3ff", "#b79be0"];
const SYSTEM_COLOURS = { light: "#6b7280", dark: "#9aa3b2" };

/** Classes of slices: seven applications, all further ones together, the system, and waits for a CPU. */
export const CLASSES = 10;
/** The class of whatever has none of its own, and that of system tasks. */
export const FURTHER = 7;
export const SYSTEM = 8;
export const WAIT = 9;
const WAIT_COLOURS = { light: ["#f6d5cf", "#b3261e"], dark: ["#4d2724", "#ff8a80"] };
const FURTHER_COLOURS = { light: "#3f4a5a", dark: "#c5ccd8" };

/** Whether the page is dark now. */
export function isDark() {
  const asked = document.documentElement.dataset.theme;
  return asked ? asked === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/** The class of an application, by its index; `null` is the system. */
export function classOf(application) {
  if (application === null || application === undefined) return SYSTEM;
  return application < FURTHER ? application : FURTHER;
}

/** The colour of a class. */
export function colourOf(kind, dark = isDark()) {
  if (kind === WAIT) return WAIT_COLOURS[dark ? "dark" : "light"][0];
  if (kind === SYSTEM) return SYSTEM_COLOURS[dark ? "dark" : "light"];
  if (kind === FURTHER) return FURTHER_COLOURS[dark ? "dark" : "light"];
  return (dark ? DARK : LIGHT)[kind % LIGHT.length];
}

/** The colour of the n-th of several things that are no applications: pairs, say. */
export function colourAt(index, dark = isDark()) {
  return (dark ? DARK : LIGHT)[index % LIGHT.length];
}

/** Whether the texture of a class is set at a pixel. The first class has none. */
export function texture(kind, x, y) {
  switch (kind) {
    case 1:
      return (x + y) % 6 === 0;
    case 2:
      return x % 4 === 0 && y % 4 === 0;
    case 3:
      return y % 5 === 0;
    case 4:
      return (x - y + 6000) % 6 === 0;
    case 5:
      return x % 5 === 0;
    case 6:
      return (x + y) % 8 === 0 || (x - y + 8000) % 8 === 0;
    case FURTHER:
      return x % 3 === 0 && y % 3 === 0;
    case SYSTEM:
      return (x + y) % 3 === 0;
    case WAIT:
      return (x - y + 6000) % 5 === 0;
    default:
      return false;
  }
}

/** The parts of `#rrggbb`. */
export function parts(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** The colour of a class's texture: a little darker than its own, or lighter on a dark page. */
export function textureOf(kind, dark = isDark()) {
  if (kind === WAIT) return WAIT_COLOURS[dark ? "dark" : "light"][1];
  const hex = colourOf(kind, dark);
  const towards = dark ? 255 : 0;
  const mixed = parts(hex).map((part) => Math.round(part + (towards - part) * 0.35));
  return `#${mixed.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
}

/** Black or white, whichever is easier to read on a colour. */
export function inkOn(hex) {
  const [r, g, b] = parts(hex).map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

const patterns = new Map();

/** A small canvas with a class's colour and texture, to fill with, in device pixels. */
export function tile(kind, dark = isDark()) {
  const key = `${kind}-${dark}`;
  if (patterns.has(key)) return patterns.get(key);
  const size = 120; // a multiple of all steps above
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d");
  const colour = colourOf(kind, dark);
  context.fillStyle = colour;
  context.fillRect(0, 0, size, size);
  context.fillStyle = textureOf(kind, dark);
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) if (texture(kind, x, y)) context.fillRect(x, y, 1, 1);
  }
  patterns.set(key, canvas);
  return canvas;
}
