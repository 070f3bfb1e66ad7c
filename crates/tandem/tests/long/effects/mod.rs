// SPDX-License-Identifier: GPL-2.0-only
//! Each mechanism on the machine of its paper, against the paper's own baseline: its effect over ten seeds, beside what
//! the paper has published.
//!
//! `cargo test -p tandem-sched --test all effects:: -- --nocapture` prints the tables. A test asserts the direction of an
//! effect and its order of size: that the 95 % interval of ten seeds leaves out "no effect", and that the mean lies in
//! a range around what was published. Nothing is tuned to that.

mod asymmetry;
mod essence;
mod governor;
mod memory;
mod noise;
mod odroid;
mod support;
mod together;
mod unequal;
