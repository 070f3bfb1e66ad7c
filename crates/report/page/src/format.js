// SPDX-License-Identifier: MIT OR Apache-2.0
// Numbers for people.

const PREFIXES = [
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
  [1e-3, "m"],
  [1e-6, "µ"],
  [1e-9, "n"],
];
/** No-break space: a number and its unit stay together. */
const NBSP = "\u00a0";

/** So many significant digits, without a power of ten. */
export function digits(value, count = 4) {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(count - 1 - size, 0), 12));
}

/** A quantity with its unit's prefix: `12.34 ms`. */
export function quantity(value, unit, count = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (value === 0) return `0${NBSP}${unit}`;
  const size = Math.abs(value);
  const [factor, prefix] = PREFIXES.find(([factor]) => size >= factor * 0.9995) ?? PREFIXES.at(-1);
  return `${digits(value / factor, count)}${NBSP}${prefix}${unit}`;
}

export const seconds = (value, count) => quantity(value, "s", count);
export const nanos = (value, count) => quantity(value === null || value === undefined ? value : value * 1e-9, "s", count);
export const joules = (value, count) => quantity(value, "J", count);
export const watts = (value, count) => quantity(value, "W", count);

/** A clock in kHz. */
export function clock(khz) {
  return quantity(khz * 1e3, "Hz", 4);
}

/** A share as a percentage. */
export function percent(share, decimals = 1) {
  return share === null || share === undefined ? "–" : `${(share * 100).toFixed(decimals)}${NBSP}%`;
}

/** A count with groups of three digits. */
export function count(value) {
  return value === null || value === undefined ? "–" : String(value).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** A mean with half of its interval: as many decimals as tell two digits of the interval, but `most`. */
export function interval(mean, half, digitsOf = 4, most = 4) {
  if (mean === null || mean === undefined) return "–";
  if (half === null || half === undefined) return digits(mean, digitsOf);
  const decimals = half > 0 ? Math.min(Math.max(1 - Math.floor(Math.log10(half)), 0), most) : 3;
  return `${mean.toFixed(decimals)} ± ${half.toFixed(decimals)}`;
}

/** The same with a unit, whose prefix is that of the mean: `1.23 ± 0.04 ms`. */
export function measured(mean, half, unit) {
  if (mean === null || mean === undefined) return "–";
  if (!/^[sJW]$/.test(unit)) return `${interval(mean, half)}${unit ? NBSP + unit : ""}`;
  const size = Math.max(Math.abs(mean), half ?? 0);
  const [factor, prefix] = size === 0 ? [1, ""] : (PREFIXES.find(([factor]) => size >= factor * 0.9995) ?? PREFIXES.at(-1));
  return `${interval(mean / factor, half === null || half === undefined ? half : half / factor)}${NBSP}${prefix}${unit}`;
}

/** A time of the run in ns, with all its digits: `1.234 567 890 s`. */
export function instant(ns) {
  const whole = Math.floor(ns / 1e9);
  const rest = String(Math.round(ns - whole * 1e9)).padStart(9, "0");
  return `${whole}.${rest.slice(0, 3)}${NBSP}${rest.slice(3, 6)}${NBSP}${rest.slice(6)}${NBSP}s`;
}
