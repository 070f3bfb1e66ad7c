// SPDX-License-Identifier: MIT OR Apache-2.0
//! What an object file says.

/// A parsed object file; it does not change any more and may be shared by many instances.
#[derive(Debug, Clone, Default)]
pub struct Object {}
