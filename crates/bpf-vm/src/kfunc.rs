// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel functions that BPF itself brings: objects, trees, lists, cpumasks, iterators, RCU.

/// What these functions remember between calls.
#[derive(Debug, Default)]
pub struct KfuncState {}
