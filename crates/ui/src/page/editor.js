// A machine or a workload: one that is bundled, or a text that is edited, with mistakes by line and column. What was typed for one is
// kept while another one is chosen, and asked for before it is replaced.

const DELAY_MS = 250;

export class Source {
  /** `what` is "machine" or "workload"; `entries` are those that are bundled. */
  constructor(what, entries, ask, changed) {
    this.what = what;
    this.ask = ask;
    this.changed = changed;
    this.entries = entries;
    this.root = document.getElementById(what);
    const field = (name) => this.root.querySelector(`[name=${name}]`);
    this.fields = Object.fromEntries(["name", "edit", "stem", "open", "revert", "text"].map((name) => [name, field(name)]));
    this.fields.configuration = field("configuration");
    this.editor = this.root.querySelector(".editor");
    this.report = this.root.querySelector(".mistake");
    this.asked = 0;
    /** What was typed, by the name of what was chosen. */
    this.drafts = {};
    this.chosen = null;
    for (const entry of entries) this.fields.name.add(new Option(entry.name, entry.name));
    this.fields.name.addEventListener("change", () => this.choose());
    this.fields.edit.addEventListener("click", () => this.edit(this.editor.hidden));
    this.fields.revert.addEventListener("click", () => this.revert());
    this.fields.text.addEventListener("input", () => { this.typed = true; this.changed(); this.checkSoon(); });
    this.fields.stem.addEventListener("input", () => this.changed());
    this.fields.open.addEventListener("change", () => this.open());
    this.fields.configuration?.addEventListener("change", () => { this.changed(); if (this.edited) this.checkSoon(); });
  }

  get edited() { return !this.editor.hidden; }

  entry() { return this.entries.find((entry) => entry.name === this.fields.name.value); }

  /** What a request says of it. */
  value() {
    const value = { name: this.fields.name.value };
    if (this.edited) Object.assign(value, { name: this.fields.stem.value, text: this.fields.text.value });
    if (this.fields.configuration?.value) value.configuration = this.fields.configuration.value;
    return value;
  }

  async choose(name) {
    if (name) this.fields.name.value = name;
    this.keep();
    this.chosen = this.fields.name.value;
    const entry = this.entry();
    this.root.querySelector(".title").textContent = entry.title;
    if (this.fields.configuration) {
      const whole = new Option("the whole machine", "");
      this.fields.configuration.replaceChildren(whole, ...entry.configurations.map(([name, title]) => new Option(title || name, name)));
      this.fields.configuration.closest("label").hidden = entry.configurations.length === 0;
    }
    this.forget();
    if (this.edited) { await this.load(); await this.check(); }
    this.changed();
  }

  /** Keeps what was typed for what is chosen now. */
  keep() {
    if (this.chosen && this.typed) this.drafts[this.chosen] = { stem: this.fields.stem.value, text: this.fields.text.value };
  }

  /** Empties the editor. */
  forget() {
    this.fields.text.value = "";
    this.typed = false;
  }

  async edit(on) {
    if (on && !this.fields.text.value) await this.load();
    this.show(on);
    if (on) { this.fields.text.focus(); await this.check(); } else this.tell(null);
    this.changed();
  }

  show(on) {
    this.editor.hidden = !on;
    this.fields.edit.textContent = on ? "Use the bundled one" : "Edit";
    this.fields.edit.setAttribute("aria-expanded", String(on));
  }

  /** What was typed for what is chosen, or else the bundled text. */
  async load() {
    const name = this.fields.name.value;
    const draft = this.drafts[name];
    const text = draft?.text ?? await this.ask.text(`text/${this.what}/${name}`);
    // Another one may have been chosen meanwhile.
    if (name !== this.fields.name.value) return;
    this.fields.text.value = text;
    this.fields.stem.value = draft?.stem ?? `${name}-edited`;
    this.typed = Boolean(draft);
  }

  async revert() {
    if (!this.mayReplace()) return;
    delete this.drafts[this.chosen];
    this.forget();
    await this.load();
    await this.check();
    this.changed();
  }

  /** Whether what was typed may go. */
  mayReplace() {
    return !this.typed || confirm("What you have typed here will be lost. Go on?");
  }

  async open() {
    const file = this.fields.open.files[0];
    if (!file) return;
    if (this.mayReplace()) {
      this.fields.text.value = await file.text();
      this.typed = true;
      this.fields.stem.value = file.name.replace(/\.[^.]*$/, "").toLowerCase().replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+/, "") || this.what;
    }
    this.fields.open.value = "";
    await this.check();
    this.changed();
  }

  /** All of it, for a page that is loaded again. */
  state() {
    this.keep();
    return { chosen: this.chosen, configuration: this.fields.configuration?.value ?? "", edited: this.edited, drafts: this.drafts, stem: this.fields.stem.value };
  }

  /** As it was, as far as there is such an entry. */
  async restore({ chosen, configuration, edited, drafts, stem }) {
    if (!this.entries.some((entry) => entry.name === chosen)) return;
    this.drafts = drafts;
    await this.choose(chosen);
    if (this.fields.configuration && [...this.fields.configuration.options].some(({ value }) => value === configuration)) this.fields.configuration.value = configuration;
    if (edited) {
      await this.load();
      this.fields.stem.value = stem;
      this.show(true);
      await this.check();
    }
    this.changed();
  }

  checkSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), DELAY_MS);
  }

  async check() {
    const asked = ++this.asked;
    const question = { what: this.what, text: this.fields.text.value };
    if (this.fields.configuration?.value) question.configuration = this.fields.configuration.value;
    const found = await this.ask.post("check", question);
    // A later answer counts.
    if (asked === this.asked && this.edited) this.tell(found);
  }

  tell(found) {
    this.mistaken = Boolean(found?.mistake);
    this.report.className = found ? `mistake ${found.mistake ? "wrong" : "fine"}` : "mistake";
    this.report.replaceChildren();
    this.fields.text.setAttribute("aria-invalid", String(this.mistaken));
    if (!found) return;
    if (!found.mistake) {
      this.report.textContent = ["No mistake in the text.", ...found.warnings].join(" ");
      return;
    }
    const { line, column, message, help } = found.mistake;
    if (line) {
      const there = document.createElement("button");
      there.type = "button";
      there.textContent = `line ${line}, column ${column}`;
      there.addEventListener("click", () => this.go(line, column));
      this.report.append(there);
    }
    this.report.append(message);
    if (help) {
      const more = document.createElement("p");
      more.textContent = help;
      this.report.append(more);
    }
  }

  /** Puts the caret at a place, and scrolls there. Columns count characters, not UTF-16 units. */
  go(line, column) {
    const area = this.fields.text;
    const lines = area.value.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const at = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
    area.focus();
    area.setSelectionRange(at, before + (lines[line - 1] ?? "").length);
    area.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(area).lineHeight));
  }
}
