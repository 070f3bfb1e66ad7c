// SPDX-License-Identifier: MIT OR Apache-2.0
//! What fuzzing does with bytes: a module for each of [`TARGETS`], whose `run` takes anything and must neither panic, nor take
//! long, nor use much memory; what else must hold it asserts.
//!
//! The tests of the command include this file, and feed every target its seeds and damaged copies of them.
//!
//! `mistake`: what an error in a file must be like. `scratch`: folders for fake files. `kernel`: a kernel for programs.
//! `tokens`: changes texts by their words, so that what comes of it is nearly a valid file.

pub mod btf;
pub mod control;
pub mod cpus;
pub mod expression;
pub mod interpreter;
pub mod journal;
pub mod kernel;
pub mod loader_file;
pub mod machine;
pub mod metrics_request;
pub mod mistake;
pub mod object;
pub mod paper;
pub mod process;
pub mod report;
pub mod scenario;
pub mod scratch;
pub mod status;
pub mod tokens;
pub mod tree;
pub mod workload;

/// What is fed with bytes. Its first inputs are in `seeds`, in a folder of its name, and the files that `examples` lists.
pub struct Target {
    /// The name, which the target's program has too.
    pub name: &'static str,
    /// Does all that a user can do with these bytes.
    pub run: fn(&[u8]),
    /// Whether the bytes are text, which is damaged by words.
    pub is_text: bool,
}

const fn binary(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run, is_text: false }
}

const fn text(name: &'static str, run: fn(&[u8])) -> Target {
    Target { name, run, is_text: true }
}

/// All but the one of libbpf, whose code is C and no part of the project.
pub const TARGETS: &[Target] = &[
    binary("btf", btf::run),
    text("control", control::run),
    text("cpus", cpus::run),
    text("expression", expression::run),
    binary("interpreter", interpreter::run),
    binary("engines", interpreter::engines),
    text("journal", journal::run),
    text("loader_file", loader_file::run),
    text("machine", machine::run),
    text("metrics_request", metrics_request::run),
    binary("object", object::run),
    text("paper", paper::run),
    text("process", process::run),
    text("report_json", report::json),
    binary("report_trace", report::trace),
    text("scenario", scenario::run),
    text("status", status::run),
    text("tree", tree::run),
    text("workload", workload::run),
];
