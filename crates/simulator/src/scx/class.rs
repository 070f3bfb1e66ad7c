// SPDX-License-Identifier: MIT OR Apache-2.0
//! The hooks of the scheduling class (`ext_sched_class`).
