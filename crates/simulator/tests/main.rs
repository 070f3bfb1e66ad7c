// SPDX-License-Identifier: MIT OR Apache-2.0
//! The simulator seen from outside. All tests are one program: they are compiled and linked once.
//!
//! [`common`], [`equal`] and [`objects`] are what they share; `bpf` has the C sources of schedulers that they load.

mod analysis;
mod bpf_objects;
mod common;
mod detect;
mod detect_any;
mod detect_hosts;
mod detect_hybrid;
mod detect_round_trip;
mod detect_tree;
mod docs;
mod engine;
#[path = "common/equal.rs"]
mod equal;
mod fair;
mod faults;
mod machine;
mod models;
#[path = "common/objects.rs"]
mod objects;
mod sched_ext;
mod sched_ext_versions;
mod scx_clocks;
mod show;
mod simulation;
mod sleep;
mod trace_reader;
mod why;
mod workload_cgroups;
mod workload_errors;
mod workload_examples;
mod workload_generators;
mod workload_programs;
mod workload_random;
mod workload_shapes;
