// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF maps.

/// The maps of an instance.
#[derive(Debug, Default)]
pub struct Maps {}
