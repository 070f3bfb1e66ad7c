// SPDX-License-Identifier: MIT OR Apache-2.0
//! What fuzzing does with bytes. The crate's own tests include these files too, and feed them the inputs that fuzzing
//! found.

pub mod btf;
pub mod interpreter;
pub mod kernel;
pub mod object;
