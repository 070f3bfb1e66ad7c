// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel functions that programs may call (`scx_bpf_*`), and from where.
