// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fair class seen from outside: which thread runs where and for how long, where that can be worked out by hand.

mod asymmetric;
mod clusters;
mod groups;
mod mixes;
mod one_cpu;
mod pinned;
mod releases;
mod spreading;
mod support;
