// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF objects and programs seen from outside. All tests are one program: they are compiled and linked once.

mod assembler;
mod c_programs;
mod callbacks;
mod conformance;
mod engine;
mod forged;
mod loading;
mod owned;
mod properties;
mod running;
