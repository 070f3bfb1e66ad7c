// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fair class seen from outside: who runs where and for how long, on machines where that can be worked out.

mod asymmetric;
mod mixes;
mod one_cpu;
mod pinned;
mod spreading;
mod support;
