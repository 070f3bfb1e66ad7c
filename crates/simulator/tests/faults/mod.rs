// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that err: each mistake of `tests/bpf/faulty.bpf.c` is found, described in the kernel's words, and traced
//! to its line. The run goes on under `fair` to its end.

mod after;
mod dump;
mod forged;
mod loading;
mod memory;
mod misuse;
mod programs;
mod requests;
mod rest;
mod stall;
pub mod support;
