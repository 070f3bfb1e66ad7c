// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reading objects and their types, and fitting them to a kernel.

mod btf;
mod builder;
mod core_relo;
mod mutation;
mod object;
