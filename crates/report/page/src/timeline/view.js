// SPDX-License-Identifier: MIT OR Apache-2.0
// Which part of a run is looked at, and how that is moved.

/** Least span of a view, in ns. */
const LEAST = 100;

/** A span of a run, within `0..end`. */
export class View {
  constructor(end) {
    this.end = end;
    this.all();
  }

  all() {
    this.from = 0;
    this.to = this.end;
  }

  get span() {
    return this.to - this.from;
  }

  isAll() {
    return this.from === 0 && this.to === this.end;
  }

  /** Shows from `from` to `to`, as far as the run has it. */
  show(from, to) {
    const span = Math.min(Math.max(to - from, Math.min(LEAST, this.end)), this.end);
    this.from = Math.min(Math.max((from + to - span) / 2, 0), this.end - span);
    this.to = this.from + span;
  }

  /** Shows `factor` times as much (less below 1), and leaves `time` where it is. */
  zoom(factor, time = (this.from + this.to) / 2) {
    const span = Math.min(Math.max(this.span * factor, Math.min(LEAST, this.end)), this.end);
    const share = (time - this.from) / this.span;
    this.from = Math.min(Math.max(time - share * span, 0), this.end - span);
    this.to = this.from + span;
  }

  /** Moves by a share of what is shown. */
  pan(share) {
    const by = Math.min(Math.max(share * this.span, -this.from), this.end - this.to);
    this.from += by;
    this.to += by;
  }
}
