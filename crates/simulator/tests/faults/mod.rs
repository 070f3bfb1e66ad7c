// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that err: each mistake of `tests/bpf/faulty.bpf.c` is found, named as the kernel names it, and traced to its
//! line; the run goes on under `fair` to its end.

mod dump;
mod loading;
mod misuse;
mod programs;
mod requests;
mod stall;
mod support;
