// SPDX-License-Identifier: MIT OR Apache-2.0
//! What can go wrong between a file and a running scheduler.

use std::io;
use std::path::PathBuf;

use tandem_bpf_vm::object::ObjectError;
use tandem_bpf_vm::open::SettingError;
use tandem_loader::backend::Refused;
use tandem_loader::input::InputError;
use tandem_loader::reading::ReadError;
use tandem_loader::statistics::NoStatistics;

use crate::refusal::Refusal;

/// Why a scheduler was not loaded, or does not run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// The file is no BPF object.
    #[error("{}: {why}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: ObjectError,
    },
    /// It is one, but not one with a `struct sched_ext_ops`, or it has several.
    #[error("{}: {count} values of struct sched_ext_ops in it, where a scheduler has one; of several, `ops.scheduler` in the file beside it says which", path.display())]
    NoScheduler {
        /// The file.
        path: PathBuf,
        /// How many it has.
        count: usize,
    },
    /// A variable cannot be set so.
    #[error("{}: {why}", path.display())]
    Setting {
        /// The file.
        path: PathBuf,
        /// What is wrong with the setting.
        why: SettingError,
    },
    /// The file beside it has a mistake, or sets what the object does not have.
    #[error(transparent)]
    File(#[from] InputError),
    /// The file beside it asks for what cannot be done with a kernel.
    #[error(transparent)]
    Unable(#[from] Refused),
    /// The object does not have what the file beside it says can be read of it.
    #[error(transparent)]
    Statistics(#[from] NoStatistics),
    /// This thread cannot run where the file beside it says that programs must (`init_cpu`).
    #[error("the scheduler must be loaded on CPU {cpu}, where this thread cannot run: {why}")]
    NoCpu {
        /// The CPU.
        cpu: u32,
        /// What the system said.
        why: io::Error,
    },
    /// Nothing says which CPUs there are.
    #[error(transparent)]
    Machine(#[from] ReadError),
    /// A program of the object that its loader runs (`[run]`) refused.
    #[error("{program} refuses: {problem}")]
    Problem {
        /// The program.
        program: String,
        /// What the object's variable `problem` says, or what the program returned.
        problem: String,
    },
    /// The file beside it names a map that the object does not have, or not so.
    #[error("the object has no {what} `{name}`, which the file beside it names")]
    NoMap {
        /// What it should be.
        what: &'static str,
        /// The name that the file gives.
        name: String,
    },
    /// The object sets a member of `struct sched_ext_ops` that the running kernel lacks, and that it cannot do without.
    #[error(
        "{}: sets ops.{member}, which this kernel's struct sched_ext_ops does not have: boot a kernel that the object was built for",
        path.display()
    )]
    NoMember {
        /// The file.
        path: PathBuf,
        /// The member.
        member: String,
    },
    /// The running kernel has no sched_ext.
    #[error(
        "this kernel has no sched_ext: Linux 6.12 or newer with CONFIG_SCHED_CLASS_EXT is needed (guest/run boots one)"
    )]
    NoSchedExt,
    /// Another scheduler is loaded, or is being loaded or unloaded.
    #[error("sched_ext is {state} already: a scheduler must go before another one can come")]
    Busy {
        /// What `/sys/kernel/sched_ext/state` says.
        state: String,
    },
    /// The kernel refused the object: mostly its verifier a program.
    #[error("{0}")]
    Refused(Box<Refusal>),
    /// Something else that libbpf or the kernel did not do.
    #[error("{what}: {why}{}", indented(.messages))]
    Libbpf {
        /// What was tried.
        what: String,
        /// The error.
        why: libbpf_rs::Error,
        /// What libbpf said of it.
        messages: String,
    },
}

fn indented(messages: &str) -> String {
    messages.lines().map(|line| format!("\n  {line}")).collect()
}
