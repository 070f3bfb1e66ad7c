// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a sched_ext scheduler's loader does before it loads an object, on a kernel or in a simulator.
//!
//! A loader looks what the machine is, sets the object's global variables to what it found, and runs some of its programs.
//! Here this is done once for all backends: [`Machine`] is what a machine is, [`LoaderFile`] what a particular loader does, as
//! data, and [`Steps`] what follows for one system. The crate loads nothing itself.
//!
//! Start with [`Machine::read`] to know a machine, with [`LoaderFile::parse`] to follow a file beside an object:
//!
//! ```
//! use tandem_loader::machine::{Cpu, Machine};
//! use tandem_loader::{LoaderFile, System};
//!
//! let cpu = |capacity| Cpu { online: true, capacity, ..Cpu::default() };
//! let machine = Machine { cpus: vec![cpu(1024), cpu(512)], ..Machine::default() };
//! let text = "[set]\n\"facts[{cpu}].capacity\" = \"cpu.capacity\"\n";
//! let file = LoaderFile::parse("simple.toml".as_ref(), text)?;
//! let steps = file.steps(&System::of(&machine));
//! let set: Vec<String> = steps.set.iter().map(|step| format!("{} = {}", step.name, step.value)).collect();
//! assert_eq!(set, ["facts[0].capacity = 1024", "facts[1].capacity = 512"]);
//! # Ok::<(), tandem_loader::InputError>(())
//! ```
//!
//! - [`tree`]: the files of a kernel, below a root. [`reading`]: what they say. [`machine`]: what follows: what CPUs share, how
//!   fast they are, their clocks. [`cpus`]: sets of CPUs as they are written. [`pmus`]: units that count events.
//! - [`facts`]: the words for what loaders find out, over what a system says of itself.
//! - [`mod@file`]: the file beside an object. [`steps`]: what it says for a system. [`statistics`]: what can be read of a loaded
//!   scheduler. [`backend`]: what one backend cannot do. [`steering`]: the slow loop where the processor chooses clocks itself.
//! - [`hosts`]: made-up machines as files, some of which lie: for tests of whatever reads machines.
//! - [`input`]: mistakes in files: where, what, and what was expected. [`bounded`]: reading them, however large they are.

pub mod backend;
pub mod bounded;
pub mod cpus;
pub mod facts;
pub mod file;
pub mod hosts;
pub mod input;
pub mod machine;
pub mod pmus;
pub mod reading;
pub mod statistics;
pub mod steering;
pub mod steps;
pub mod tree;

pub use backend::{BackendLimits, Refused};
pub use facts::{Facts, System};
pub use file::LoaderFile;
pub use input::InputError;
pub use machine::Machine;
pub use reading::{ReadError, Reading};
pub use steps::Steps;
