// SPDX-License-Identifier: MIT OR Apache-2.0
//! Schedulers that err: each mistake of `tests/bpf/faulty.bpf.c` is found, named as the kernel names it, and traced to its
//! line; the run goes on under `fair` to its end.

#[path = "../common/mod.rs"]
mod common;
mod dump;
mod loading;
mod misuse;
#[path = "../common/objects.rs"]
mod objects;
mod programs;
mod requests;
#[path = "../engine/support.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod small;
mod stall;
mod support;
