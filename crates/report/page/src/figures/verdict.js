// SPDX-License-Identifier: MIT OR Apache-2.0
// The metrics of comparisons, and how a ratio stands to 1.

/** Metrics in their order: name, unit, whether less is better. */
export const METRICS = {
  time_s: ["Run time", "s", true],
  energy_j: ["Energy", "J", true],
  edp_js: ["Energy × time", "J·s", true],
  power_w: ["Mean power", "W", null],
  throughput: ["Throughput", "s/s", false],
  energy_per_work_j_per_s: ["Energy per work", "J/s", true],
  p50_latency_s: ["Wakeup latency, median", "s", true],
  p95_latency_s: ["Wakeup latency, p95", "s", true],
  p99_latency_s: ["Wakeup latency, p99", "s", true],
  max_latency_s: ["Wakeup latency, longest", "s", true],
  p50_response_s: ["Response, median", "s", true],
  p95_response_s: ["Response, p95", "s", true],
  p99_response_s: ["Response, p99", "s", true],
  max_response_s: ["Response, longest", "s", true],
  rounds_per_s: ["Rounds a second", "1/s", false],
  missed_share: ["Missed deadlines", "", true],
  worst_miss_s: ["Worst miss", "s", true],
  frames_per_s: ["Frames a second", "1/s", false],
  late_frames_share: ["Late frames", "", true],
  fairness: ["Fairness", "", false],
  jitter: ["Jitter", "", true],
};

/** How a ratio with its interval stands to 1, in a word; `sign` for who cannot tell colours apart. */
export function verdict(key, ratio, half) {
  const less = METRICS[key]?.[2] ?? null;
  if (ratio === null || ratio === undefined) return { word: "not measured", kind: "none", sign: "–" };
  if (half === null || half === undefined) return { word: "one run: no interval", kind: "unsure", sign: "○" };
  if (Math.abs(ratio - 1) <= half) return { word: "undecided: the interval holds 1", kind: "unsure", sign: "○" };
  if (less === null) return { word: ratio < 1 ? "less" : "more", kind: "unsure", sign: ratio < 1 ? "▼" : "▲" };
  const better = ratio < 1 === less;
  return { word: better ? "better" : "worse", kind: better ? "better" : "worse", sign: ratio < 1 ? "▼" : "▲" };
}

/** What the workload asks for and a pair's scheduler did not heed, with how that is known. */
export const ignoredBy = (pair) => Object.entries(pair.ignored ?? {});

/** The verdict on a metric of a pair beside the first pair; none where one of both heeded what the other ignored. */
export function verdictOf(pair, first, key) {
  const names = (of) => ignoredBy(of).map(([what]) => what).join();
  if (names(pair) !== names(first)) return { word: "not compared: one of both ignored what was asked for", kind: "unsure", sign: "~" };
  const metric = pair.metrics[key];
  return verdict(key, metric?.ratio, metric?.ratio_half_width);
}
