// SPDX-License-Identifier: GPL-2.0-only
//! The command and its scheduler seen from outside. All tests are one program: they are compiled and linked once.

mod advisories;
mod base;
mod bundled;
mod clocks;
#[path = "common/command.rs"]
mod command;
#[path = "../../simulator/tests/common/objects.rs"]
mod compiled;
mod crowded;
mod decisions;
#[allow(dead_code, reason = "the unit tests use the rest")]
#[path = "common/documents.rs"]
mod documents_common;
#[path = "../../simulator/tests/common/equal.rs"]
mod equal;
mod factor;
mod fidelity;
mod ignoring;
mod kernels;
mod latency;
mod layers;
mod long;
mod migration;
mod o1;
mod objects;
mod packaging;
mod process;
mod published;
mod readme;
mod recorded;
#[path = "common/schedulers.rs"]
mod schedulers;
mod serial;
#[path = "common/simulated.rs"]
mod simulated;
mod single;
mod switches;
mod ui;
#[path = "common/variant.rs"]
mod variant;
