// SPDX-License-Identifier: MIT OR Apache-2.0
// The page of a report. Start here: what the file holds is read, then every section is made.

import { columns } from "./columns.js";
import { h } from "./dom.js";
import { head, navigation, themes } from "./frame.js";
import { runSections } from "./run.js";
import { comparedSections } from "./figures/compared.js";
import { experimentSections } from "./figures/experiment.js";
import { waitSections } from "./figures/waits.js";
import { notices, provenance } from "./figures/provenance.js";

const json = (id) => JSON.parse(document.getElementById(id).textContent);

async function main() {
  const began = performance.now();
  const report = json("document");
  themes();
  for (const run of report.runs) {
    if (!run.timeline) continue;
    const element = document.getElementById(`columns-${run.timeline.columns}`);
    Object.assign(run.timeline, await columns(element.textContent, run.timeline.counts));
    element.remove();
  }
  const sections = [
    ...report.runs.flatMap((run) => runSections(run, report)),
    ...report.compared.flatMap((compared) => comparedSections(compared, report)),
    ...report.experiments.flatMap((experiment) => experimentSections(experiment)),
    ...report.waits.flatMap((waits) => waitSections(waits, report)),
    provenance(report),
  ];
  document.body.append(
    h("a", { class: "skip", href: "#report" }, "Skip to the report"),
    head(report),
    navigation(sections),
    h("main", { id: "report", tabindex: -1 }, sections.map(({ element }) => element)),
    notices(report, json("notices")),
  );
  document.dispatchEvent(new CustomEvent("report:placed"));
  document.documentElement.dataset.ready = String(Math.round(performance.now() - began));
}

main().catch((error) => {
  document.body.prepend(h("p", { role: "alert", class: "broken" }, `This report cannot be shown: ${error.message}. It needs a browser of 2023 or later.`));
  throw error;
});
