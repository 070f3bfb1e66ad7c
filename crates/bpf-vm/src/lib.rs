// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads and runs BPF objects in user space.
//!
//! An [`Object`](object::Object) is what an ELF file says; [`OpenObject`](open::OpenObject) is one whose settings may
//! still be changed; loading it against a kernel's types gives an [`Instance`](instance::Instance), which runs programs.
//! Nothing here knows scheduling: what a kernel provides beyond BPF's own helpers comes from a [`Host`](host::Host).
//!
//! - [`object`]: ELF sections, programs, maps, globals, `struct_ops`. [`btf`]: types. [`core_relo`]: CO-RE relocations.
//! - [`open`]: settings before loading. [`link`]: relocations, externs, decoding. [`instance`]: a loaded object.
//!   [`survey`]: what an object needs of a kernel, before it is loaded.
//! - [`insn`]: instructions, decoded once. [`ops`]: what each means. [`interp`]: runs them.
//! - [`memory`]: the arena, every access checked. [`fault`]: what can go wrong at run time, and where.
//! - [`global`]: variables of a loaded object, by name.
//! - [`map`]: BPF maps. [`helper`]: BPF helpers. [`kfunc`]: the kernel functions that BPF itself brings. [`timer`]:
//!   `bpf_timer`. [`mod@format`]: `bpf_printk` and its like.
//! - [`errno`]: the error numbers that programs see. [`host`]: what the surrounding kernel answers.

pub mod btf;
pub mod core_relo;
pub mod errno;
pub mod fault;
pub mod format;
pub mod global;
pub mod helper;
pub mod host;
pub mod insn;
pub mod instance;
pub mod interp;
pub mod kfunc;
pub mod link;
pub mod map;
pub mod memory;
pub mod object;
pub mod open;
pub mod ops;
pub mod survey;
pub mod timer;
