// The main numbers of a report, as a table that grows while runs go on.

/** A number with so many digits that count, without an exponent where that is short. */
export function digits(value, count = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "—";
  if (value === 0) return "0";
  const text = value.toPrecision(count);
  return text.includes("e") ? value.toExponential(count - 1) : text;
}

const METRICS = [
  ["time_s", "time", "s", 1],
  ["energy_j", "energy", "J", 1],
  ["edp_js", "energy × time", "J·s", 1],
  ["power_w", "power", "W", 1],
  ["p99_latency_s", "p99 latency", "ms", 1e3],
  ["p99_response_s", "p99 response", "ms", 1e3],
  ["fairness", "fairness", "", 1],
];
/** Of which more is better. */
const MORE = new Set(["fairness"]);

function cell(tag, ...content) {
  const made = document.createElement(tag);
  made.append(...content);
  return made;
}

function table(caption, heads, rows) {
  const made = document.createElement("table");
  made.append(cell("caption", caption));
  const head = document.createElement("tr");
  head.append(...heads.map((text) => { const th = cell("th", text); th.scope = "col"; return th; }));
  made.append(document.createElement("thead"), document.createElement("tbody"));
  made.tHead.append(head);
  for (const [name, ...cells] of rows) {
    const row = document.createElement("tr");
    const th = cell("th", name);
    th.scope = "row";
    row.append(th, ...cells);
    made.tBodies[0].append(row);
  }
  const room = document.createElement("div");
  room.className = "table";
  room.tabIndex = 0;
  room.role = "region";
  room.ariaLabel = caption;
  room.append(made);
  return room;
}

/** What a ratio says, in words too, if its interval excludes no effect. */
function ratio(metric, key) {
  const { ratio, ratio_half_width: half } = metric;
  if (ratio === null || ratio === undefined) return "";
  const text = `${digits(ratio, 3)}${half === null || half === undefined ? "" : ` ± ${digits(half, 2)}`}`;
  const sure = half !== null && half !== undefined && Math.abs(ratio - 1) > half;
  if (!sure) return text;
  const better = (ratio < 1) !== MORE.has(key);
  const made = cell("span", `${better ? "▼" : "▲"} ${text}`);
  if (MORE.has(key)) made.textContent = `${better ? "▲" : "▼"} ${text}`;
  made.className = better ? "better" : "worse";
  made.title = better ? "better than the first, with 95 % confidence" : "worse than the first, with 95 % confidence";
  return made;
}

const pairName = (pair) => [pair.scheduler, pair.governor].filter(Boolean).join("+");

function comparison(report) {
  const shown = METRICS.filter(([key]) => report.pairs.some((pair) => Number.isFinite(pair.metrics[key]?.mean)));
  const heads = ["scheduler", ...shown.map(([, name, unit]) => (unit ? `${name} [${unit}]` : name))];
  const rows = report.pairs.map((pair, index) => {
    const cells = shown.map(([key, , , factor]) => {
      const metric = pair.metrics[key] ?? {};
      const made = cell("td", digits(metric.mean == null ? null : metric.mean * factor));
      if (metric.half_width != null) made.append(cell("small", ` ± ${digits(metric.half_width * factor, 2)}`));
      if (index > 0 && metric.ratio != null) made.append(document.createElement("br"), "× ", ratio(metric, key));
      return made;
    });
    return [pairName(pair), ...cells];
  });
  const runs = report.seeds.length;
  const interval = runs > 1 ? ", means ± 95 % intervals, and ratios to the first" : "";
  return table(`${report.workload} on ${report.machine}: ${runs} ${runs === 1 ? "run" : "runs"} of each${interval}`, heads, rows);
}

function single(report) {
  const latency = report.wakeup_latency_ns ?? {};
  const rows = [
    ["time", report.time_s, "s"],
    ["energy", report.energy_j?.total, "J"],
    ["mean power", report.energy_j ? report.energy_j.total / report.time_s : null, "W"],
    ["p50 wakeup latency", latency.p50 == null ? null : latency.p50 / 1e3, "µs"],
    ["p99 wakeup latency", latency.p99 == null ? null : latency.p99 / 1e3, "µs"],
  ].filter(([, value]) => Number.isFinite(value));
  const cells = rows.map(([name, value, unit]) => [name, cell("td", digits(value)), cell("td", unit)]);
  return table(`${report.workload} on ${report.machine}, ${pairName(report)}`, ["", "", "unit"], cells);
}

/** The table of a report of `tandem simulate` or `tandem compare`. */
export function summary(report) {
  return report.pairs ? comparison(report) : single(report);
}
