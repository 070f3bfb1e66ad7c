// SPDX-License-Identifier: MIT OR Apache-2.0
//! The built-in choice of a CPU (`scx_select_cpu_dfl`).
