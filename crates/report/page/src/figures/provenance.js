// SPDX-License-Identifier: MIT OR Apache-2.0
// What everything was produced by, and whose code the page has in it.

import { fresh, h, table } from "../dom.js";
import { percent } from "../format.js";

/** The section that says what each input was produced by. */
export function provenance(report) {
  const inputs = [
    ...report.runs.map((run) => ({ ...run, kind: run.report ? "a run" : "a run's trace" })),
    ...report.compared.map((one) => ({ ...one, kind: "a comparison" })),
    ...report.experiments.map((one) => ({ ...one, kind: "an experiment" })),
    ...report.waits.map((one) => ({ ...one, kind: "waits of a run" })),
  ];
  const id = fresh("provenance");
  const title = "Provenance";
  return { id, short: title, element: h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), inputs.map(one)) };
}

function one({ file, kind, produced_by, facts }) {
  const command = produced_by?.command.join(" ") ?? facts?.command;
  const head = h("h3", {}, `${file}: ${kind}`);
  if (!command) return [head, h("p", { class: "note" }, "It does not say what it was produced by.")];
  const version = produced_by?.version ?? facts.version;
  const settings = produced_by ? Object.entries(produced_by.settings).map(([key, value]) => `${key}=${value}`) : [facts.settings].filter(Boolean);
  const again = produced_by ? "Of the JSON that this command prints, tandem rerun says whether it comes out the same." : "";
  const shown = [
    head,
    h("p", {}, `By tandem ${version}. The same inputs and the same seed give the same bytes. ${again}`),
    h("pre", { tabindex: 0, "aria-label": "Command" }, h("code", {}, command)),
    settings.length > 0 && h("p", {}, `Settings that are not the default: ${settings.join(", ")}.`),
  ];
  const inputs = produced_by?.inputs ?? Object.entries(facts ?? {}).filter(([name]) => name.endsWith("_sha256")).map(([name, sha256]) => ({ kind: name.replace("_sha256", ""), name: facts[name.replace("_sha256", "")] ?? "", sha256 }));
  if (inputs.length > 0) {
    const columns = [
      { title: "Read as", text: ({ kind }) => kind.replace("_", " ") },
      { title: "Name", text: ({ name }) => name },
      { title: "SHA-256", wide: true, text: ({ sha256 }) => sha256 },
    ];
    shown.push(table(`What ${file} was made from`, columns, inputs));
  }
  for (const { machine, of, values, energy } of produced_by?.assumed ?? []) {
    const share = energy === null || energy === undefined ? "" : `; ${percent(energy, 0)} of the energy was computed from powers among them`;
    shown.push(h("p", {}, `Of ${of} entries of the description of ${machine}, ${values.length} are assumed, as nobody has measured them${share}.`));
    if (values.length > 0) shown.push(h("details", {}, h("summary", {}, `Assumed values of ${machine}`), h("p", { class: "mono" }, values.join(", "))));
  }
  return shown;
}

/** The foot: who wrote what is in the page. */
export function notices(report, text) {
  return h(
    "footer",
    {},
    h("p", {}, `Made by tandem ${report.tandem}: simulated, not measured. This file needs no network and no other file.`),
    h("details", {}, h("summary", {}, "Licences of the code in this page"), h("p", {}, "The page's own code: MIT or Apache-2.0. Libraries in it:"), h("pre", { tabindex: 0, "aria-label": "Licences" }, text)),
  );
}
