// SPDX-License-Identifier: MIT OR Apache-2.0
//! The enumerations of sched_ext that programs and loaders ask for by name.
