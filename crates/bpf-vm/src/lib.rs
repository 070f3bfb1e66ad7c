// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and runs BPF objects in user space, without root and on any operating system.
//!
//! # Start here
//!
//! Three types are the life of an object, in this order:
//!
//! 1. [`Object`]: what an ELF file says: programs, maps, globals, types. [`Object::parse`] reads bytes from any
//!    source; the answer is an object or an error, whatever the bytes are.
//! 2. [`OpenObject`]: an object whose settings may still be changed: initial values of globals, sizes of maps, which
//!    programs to load.
//! 3. [`Instance`]: an object that was loaded against the kernel which an [`Environment`] describes. An instance runs
//!    programs ([`Instance::run`], [`Instance::run_raw`]) until they return an [`Outcome`] or a [`Fault`] stops them.
//!
//! What a kernel provides beyond BPF's own helpers (time, tasks, kernel functions, a log) comes from a [`Host`], which the
//! caller implements. Nothing here knows scheduling. `examples/run_object.rs` is all of this in one screen.
//!
//! # What holds
//!
//! Every access to memory is checked. A fault names the program, its source line and the address, and is never
//! undefined behaviour. The same object with the same host gives the same results and the same addresses, from run to
//! run. Instances share nothing and run in parallel threads. There is no verifier: a program that a kernel would refuse
//! runs here until it does something wrong.
//!
//! # The modules
//!
//! - [`object`]: ELF sections, programs, maps, globals, `struct_ops`. [`btf`]: types. [`core_relo`]: CO-RE relocations.
//! - [`open`]: settings before loading. [`link`]: relocations, externs, decoding. [`instance`]: a loaded object.
//!   [`survey`]: what an object needs of a kernel, before it is loaded.
//! - [`insn`]: instructions, decoded once. [`ops`]: the meaning of each. [`interp`]: runs them. [`compile`]: turns them into the
//!   machine's own, which run sooner.
//! - [`memory`]: the arena, every access checked. [`fault`]: what can go wrong at run time, and where.
//! - [`global`]: variables of a loaded object, by name. [`handle`]: iterators and dynptrs, which programs cannot forge.
//! - [`map`]: BPF maps. [`helper`]: BPF helpers. [`kfunc`]: the kernel functions that BPF itself brings. [`timer`]:
//!   `bpf_timer`. [`mod@format`]: `bpf_printk` and its like.
//! - `plain`: functions that compiled code calls without ado. [`names`]: names that are written shorter than they are.
//! - [`errno`]: the error numbers that programs see. [`host`]: what the surrounding kernel answers.

#![cfg_attr(
    not(feature = "compiler"),
    allow(dead_code, unused_imports, reason = "some of it is there for the compiler")
)]

pub mod btf;
pub mod compile;
pub mod core_relo;
pub mod errno;
pub mod fault;
pub mod format;
pub mod global;
pub mod handle;
pub mod helper;
pub mod host;
pub mod insn;
pub mod instance;
pub mod interp;
pub mod kfunc;
pub mod link;
mod linked;
pub mod map;
pub mod memory;
pub mod names;
pub mod object;
pub mod open;
pub mod ops;
mod plain;
pub mod survey;
pub mod timer;

pub use fault::{Fault, FaultKind};
pub use host::Host;
pub use instance::{Instance, Outcome, ProgramId};
pub use link::{Environment, LoadError};
pub use linked::LinkCache;
pub use object::{Object, ObjectError};
pub use open::{OpenObject, SettingError};
