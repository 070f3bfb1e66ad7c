// The page of `tandem ui`: chooses what is run, and shows what comes of it. All it knows comes from its own server.

import { Source } from "./editor.js";
import { summary } from "./results.js";

const POLL_MS = 300;
/** Runs of each where several are compared, as of `tandem compare`: with one there is no interval. */
const RUNS_COMPARED = 10;
/** Where the form is kept for a page that is loaded again: as long as the browser's tab. */
const KEPT = "tandem form";
const element = (id) => document.getElementById(id);

/** Requests to the server, whose token is in the page's own address. */
const ask = {
  async get(path) { return this.checked(await fetch(path)).then((answer) => answer.json()); },
  async text(path) { return this.checked(await fetch(path)).then((answer) => answer.text()); },
  async post(path, body) {
    const answer = await fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
    return this.checked(answer).then((good) => good.json());
  },
  async checked(answer) {
    if (answer.ok) return answer;
    let why = `the server answered ${answer.status}`;
    if (answer.status === 413) why = "the text is larger than 4 MiB";
    try { why = (await answer.json()).error ?? why; } catch { /* no more than a status */ }
    throw new Error(why);
  },
};

const sources = {};
let catalogue;
let chosen = null;
let shown = { id: null, results: -1 };
/** Whether the form has been filled, so that it may be kept; and whether it could be. */
let filled = false;
let kept = true;

function describe(list, pairs) {
  const made = document.createElement("dl");
  for (const [name, meaning] of pairs) {
    const [term, text] = [document.createElement("dt"), document.createElement("dd")];
    term.textContent = name;
    text.textContent = meaning;
    made.append(term, text);
  }
  made.tabIndex = 0;
  list.append(made);
}

/** A row of the schedulers. */
function addRow({ scheduler = catalogue.schedulers[0], governor = "", settings = "" } = {}) {
  const row = document.createElement("li");
  const number = element("rows").children.length + 1;
  row.innerHTML = `<div class="fields">
    <label>Scheduler <input name="scheduler" list="names" autocomplete="off" spellcheck="false"></label>
    <label>Governor <input name="governor" list="governors" placeholder="the machine's" autocomplete="off" spellcheck="false"></label>
    <label>Settings <input name="settings" placeholder="name=value,…" autocomplete="off" spellcheck="false"></label>
    <button type="button" name="remove">Remove</button></div>`;
  const field = (name) => row.querySelector(`[name=${name}]`);
  field("scheduler").value = scheduler;
  field("governor").value = governor;
  field("settings").value = settings;
  field("remove").setAttribute("aria-label", `Remove scheduler ${number}`);
  field("remove").addEventListener("click", () => { row.remove(); changed(); element("add").focus(); });
  row.addEventListener("input", changed);
  element("rows").append(row);
  changed();
  return row;
}

/** The schedulers as the command takes them: `tandem,sorted=true+schedutil`. */
function schedulers() {
  return [...element("rows").children].map((row) => {
    const value = (name) => row.querySelector(`[name=${name}]`).value.trim();
    return [value("scheduler"), value("settings")].filter(Boolean).join(",") + (value("governor") ? `+${value("governor")}` : "");
  });
}

function request() {
  return {
    machine: sources.machine.value(),
    workload: sources.workload.value(),
    schedulers: schedulers(),
    runs: Number(option("runs").value),
    seed: Number(option("seed").value),
    settings: option("settings").value.trim(),
    duration: option("duration").value.trim(),
    kernel: option("kernel").value,
    quiet: option("quiet").checked,
  };
}

function changed() {
  element("refused").textContent = "";
  const rows = element("rows").children;
  for (const row of rows) row.querySelector("[name=remove]").disabled = rows.length === 1;
  const runs = option("runs");
  if (!runs.dataset.typed) runs.value = rows.length > 1 ? RUNS_COMPARED : 1;
  const several = rows.length > 1 || Number(runs.value) > 1;
  document.querySelector(".primary").textContent = several ? "Compare" : "Run";
  if (filled) keep();
}

const option = (name) => element("options").querySelector(`[name=${name}]`);
const OPTIONS = ["runs", "seed", "kernel", "duration", "settings"];

/** Keeps the form for a page that is loaded again. */
function keep() {
  const row = (node) => Object.fromEntries(["scheduler", "governor", "settings"].map((name) => [name, node.querySelector(`[name=${name}]`).value]));
  const form = {
    machine: sources.machine.state(),
    workload: sources.workload.state(),
    rows: [...element("rows").children].map(row),
    options: Object.fromEntries(OPTIONS.map((name) => [name, option(name).value])),
    quiet: option("quiet").checked,
    typed: Boolean(option("runs").dataset.typed),
  };
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(form));
    kept = true;
  } catch {
    // There is no room for a text of megabytes: the browser asks before it goes.
    sessionStorage.removeItem(KEPT);
    kept = false;
  }
}

/** The form as it was kept; whether it was. */
async function restore() {
  let form;
  try { form = JSON.parse(sessionStorage.getItem(KEPT)); } catch { return false; }
  if (!form) return false;
  for (const what of ["machine", "workload"]) await sources[what].restore(form[what]);
  form.rows.forEach(addRow);
  for (const name of OPTIONS) option(name).value = form.options[name];
  option("quiet").checked = form.quiet;
  if (form.typed) option("runs").dataset.typed = "yes";
  changed();
  return true;
}

async function run(event) {
  event.preventDefault();
  try {
    const { id } = await ask.post("jobs", request());
    chosen = id;
    await poll();
    element("results").focus({ preventScroll: innerWidth > 960 });
  } catch (error) {
    element("refused").textContent = error.message;
  }
}

const WORDS = { waiting: "waits for the run before", running: "runs", done: "done", failed: "failed", cancelled: "cancelled" };
const SIGNS = { waiting: "…", running: "▶", done: "✓", failed: "✗", cancelled: "■" };

function showJobs(jobs) {
  element("none").hidden = jobs.length > 0;
  element("jobs").hidden = jobs.length < 2;
  const list = element("jobs").querySelector("ol");
  const known = new Map([...list.children].map((item) => [Number(item.dataset.id), item]));
  const items = jobs.map((job) => {
    const item = known.get(job.id) ?? document.createElement("li");
    if (!known.has(job.id)) {
      item.dataset.id = job.id;
      const button = document.createElement("button");
      button.type = "button";
      button.addEventListener("click", () => { chosen = job.id; poll(); });
      item.append(button);
    }
    const button = item.firstChild;
    const text = `${SIGNS[job.state]} ${job.id + 1}: ${job.command.split(" ").slice(1, 3).join(" ")}`;
    if (button.dataset.text !== text) {
      const state = document.createElement("span");
      state.className = "unseen";
      state.textContent = `, ${WORDS[job.state]}`;
      button.replaceChildren(text, state);
      button.dataset.text = text;
      button.title = job.command;
    }
    button.setAttribute("aria-current", String(job.id === chosen));
    return item;
  });
  if (items.length !== list.children.length || items.some((item, at) => list.children[at] !== item)) list.replaceChildren(...items);
}

function set(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** How far a job is, in the words of a terminal. */
function progress({ progress }) {
  if (!progress) return "";
  if (progress.words) return progress.words;
  const { done, of, left_s: left } = progress.runs;
  return `${done}/${of} runs${left === null ? "" : `, ${time(left)} left`}`;
}

/** Seconds, for people. */
function time(seconds) {
  const whole = Math.ceil(seconds);
  if (whole < 100) return `${whole} s`;
  return whole < 6000 ? `${Math.ceil(whole / 60)} min` : `${Math.ceil(whole / 3600)} h`;
}

async function showJob(job) {
  const section = element("job");
  section.hidden = !job;
  if (!job) return;
  const over = !["waiting", "running"].includes(job.state);
  const words = job.command.split(" ");
  set(section.querySelector("h3"), `${words[1] === "compare" ? "Comparison" : "Run"} ${job.id + 1}: ${words[2]}`);
  const bar = section.querySelector("progress");
  bar.hidden = over;
  const runs = job.progress?.runs;
  if (job.state === "running" && !runs && job.done === 0) bar.removeAttribute("value");
  else bar.value = runs ? runs.done / runs.of : job.done / job.runs;
  const count = job.runs > 1 ? `, ${job.done} of ${job.runs} runs of each` : "";
  const seconds = job.seconds ? `, ${job.seconds.toFixed(over ? 1 : 0)} s${over ? "" : " so far"}` : "";
  set(element("state"), `${SIGNS[job.state]} ${WORDS[job.state]}${count}${seconds}`);
  set(element("reached"), progress(job));
  element("cancel").hidden = over;
  const said = job.said.trim();
  set(element("said"), said);
  element("said").hidden = !said;
  set(section.querySelector(".command pre"), job.command);
  await showResults(job);
}

/** Shows new results; those that are shown stay as a person has scrolled them. */
async function showResults(job) {
  if (shown.id === job.id && shown.results === job.results) return;
  const first = shown.id !== job.id;
  shown = { id: job.id, results: job.results };
  const path = `jobs/${job.id}`;
  const frame = element("report");
  document.querySelector(".shares").hidden = job.results === 0;
  if (job.results === 0) {
    element("summary").replaceChildren();
    frame.hidden = true;
    frame.removeAttribute("src");
    return;
  }
  element("save-json").href = `${path}/report.json/save`;
  for (const id of ["save-html", "open"]) element(id).hidden = !job.page;
  element("save-html").href = `${path}/report.html/save`;
  element("open").href = `${path}/report.html`;
  const report = await ask.get(`${path}/report.json`);
  element("summary").replaceChildren(summary(report));
  frame.hidden = !job.page;
  if (!job.page) return;
  // The frame of a report that grows is loaded again at the end, and at once where another is chosen.
  if (first || job.state === "done" || frame.dataset.of !== path || job.results <= 3) {
    frame.dataset.of = path;
    frame.src = `${path}/report.html`;
  }
}

let polling = null;

/** Asks how far the runs are; again soon, as long as one goes on. */
async function poll() {
  clearTimeout(polling);
  try {
    const jobs = await ask.get("jobs");
    if (chosen === null && jobs.length > 0) chosen = jobs[0].id;
    showJobs(jobs);
    await showJob(jobs.find((job) => job.id === chosen));
    if (jobs.some((job) => ["waiting", "running"].includes(job.state))) polling = setTimeout(poll, POLL_MS);
    document.body.classList.remove("gone");
  } catch (error) {
    set(element("state"), `no answer: ${error.message}. Has tandem ui ended?`);
    polling = setTimeout(poll, 10 * POLL_MS);
  }
}

async function start() {
  catalogue = await ask.get("catalogue");
  element("version").textContent = `Version ${catalogue.version}.`;
  for (const [id, list] of [["names", catalogue.schedulers], ["governors", catalogue.governors]]) {
    const names = document.createElement("datalist");
    names.id = id;
    names.append(...list.map((name) => new Option(name, name)));
    document.body.append(names);
  }
  for (const kernel of catalogue.kernels) element("options").querySelector("[name=kernel]").add(new Option(kernel, kernel));
  describe(element("parameters"), catalogue.parameters);
  for (const [scheduler, settings] of catalogue.settings) {
    const title = document.createElement("p");
    title.textContent = `${scheduler}:`;
    element("known").querySelector("div").append(title);
    describe(element("known").querySelector("div"), settings);
  }
  for (const what of ["machine", "workload"]) sources[what] = new Source(what, catalogue[`${what}s`], ask, changed);
  await sources.machine.choose("hikey960");
  await sources.workload.choose("forkjoin");
  if (!await restore()) addRow();
  filled = true;
  element("add").addEventListener("click", () => {
    const next = catalogue.schedulers.find((name) => !schedulers().some((own) => own.split(/[,+]/)[0] === name));
    addRow({ scheduler: next }).querySelector("input").focus();
  });
  option("runs").addEventListener("input", (event) => { event.target.dataset.typed = "yes"; });
  element("options").addEventListener("input", changed);
  addEventListener("beforeunload", (event) => { if (!kept) event.preventDefault(); });
  element("form").addEventListener("submit", run);
  element("cancel").addEventListener("click", () => ask.post(`jobs/${chosen}/cancel`, {}).then(poll));
  element("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(".command pre").textContent);
    element("copied").textContent = "copied";
  });
  await poll();
}

start().catch((error) => { element("refused").textContent = `The page could not start: ${error.message}`; });
