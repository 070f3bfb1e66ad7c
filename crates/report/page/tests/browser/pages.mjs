// SPDX-License-Identifier: MIT OR Apache-2.0
// The reports that are opened: what the command writes of small runs.

import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What gets into a report from a workload's names, as a stranger may have chosen them. */
export const HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>";

/** Two applications, whose threads wait for each other, for time and for CPUs. */
const WORKLOAD = {
  tasks: {
    render: { instance: 3, loop: 150, run: 1500, timer: { ref: "tick", period: 4000 }, tandem: { application: "game" } },
    audio: { loop: 200, run: 300, timer: { ref: "beat", period: 3000 }, priority: -10, tandem: { application: "sound" } },
    build: { instance: 6, loop: 40, run: 9000, sleep: 500, tandem: { application: "compiler" } },
  },
};

const EXPERIMENT = `title = "What governors save and cost"
about = "A bundled workload on a HiKey 960."
seeds = 3

[axes]
governor = ["performance", "powersave"]

[run.all]
machine = "hikey960"
workload = "pipeline"
scheduler = "fair+{governor}"

[[series]]
what = "run time"
unit = "s"
ours = 'time("all")'
each = ["governor"]

[[series]]
what = "energy saved, against performance"
unit = "%"
ours = '100 * (1 - energy("all") / energy("all", #{governor: "performance"}))'
each = ["governor"]
`;

/** Runs the command, and makes the reports: their files by name. */
export function pages(results) {
  const folder = join(results, "inputs");
  mkdirSync(folder, { recursive: true });
  const at = (name) => join(folder, name);
  const tandem = (...words) => execFileSync(process.env.TANDEM_COMMAND, words, { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });
  writeFileSync(at("mix.json"), JSON.stringify(WORKLOAD));
  writeFileSync(at("governors.toml"), EXPERIMENT);
  tandem("simulate", "mix.json", "-m", "hikey960", "--report", "run.html", "--json=run.report", "--trace", "run.pftrace", "--force");
  tandem("why", "mix.json", "-m", "hikey960", "--json=why.report");
  tandem("compare", "mix.json", "-m", "hikey960", "-s", "fair+schedutil", "-s", "fair+performance", "-s", "fair+powersave", "--runs", "4", "--json=compare.report", "--force");
  tandem("compare", "mix.json", "pipeline", "-m", "hikey960", "-m", "rk3399", "-s", "fair+schedutil", "-s", "fair+powersave", "--runs", "3", "--json=matrix.report", "--force");
  tandem("experiment", "governors.toml", "--json=experiment.report");
  tandem("report", "run.report", "run.pftrace", "why.report", "compare.report", "experiment.report", "-o", "all.html");
  tandem("report", "matrix.report", "-o", "matrix.html");
  tandem("report", "run.report", "-o", "plain.html");
  hostile(at("run.report"), at("hostile.report"));
  tandem("report", "hostile.report", "-o", "hostile.html", "--title", HOSTILE);
  return Object.fromEntries(["run", "all", "matrix", "plain", "hostile"].map((name) => [name, at(`${name}.html`)]));
}

/** A run whose names are code. */
function hostile(from, to) {
  const report = JSON.parse(readFileSync(from, "utf8"));
  report.workload = HOSTILE;
  report.warnings = [HOSTILE, "<!-- <script>"];
  report.apps.forEach((app) => (app.name = HOSTILE));
  report.tasks.forEach((task) => ([task.name, task.app] = [HOSTILE, HOSTILE]));
  writeFileSync(to, JSON.stringify(report));
}
