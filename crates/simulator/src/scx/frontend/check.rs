// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether a scheduler accepts its settings on a system: it is loaded, and its own program for that (`[run] check`) asked.

use tandem_bpf_vm::instance::ProgramId;
use tandem_bpf_vm::memory::Account;

use super::exit_record::text;
use super::facts::System;
use super::scheduler::SchedExt;
use super::{SchedulerError, load_object};
use crate::kernel::Kernel;
use crate::kernel::cpufreq::Governor;
use crate::kernel::params::KernelParameters;
use crate::machine::Machine;
use crate::scx::enable::check_ops;
use crate::scx::{Ctx, Scx};
use crate::streams::{Stream, Streams};
use crate::units::CpuId;

/// The variable in which a scheduler says why it refuses its settings.
const PROBLEM: &str = "problem";

/// Loads the scheduler, with memory that `account` pays for, and asks it, without running anything else.
///
/// # Errors
/// The scheduler cannot be loaded, or [`SchedulerError::Refused`].
pub fn on_machine(
    scheduler: &SchedExt,
    machine: &Machine,
    parameters: &KernelParameters,
    governor: Governor,
    seed: u64,
    account: &Account,
) -> Result<(), SchedulerError> {
    let streams = Streams::new(seed);
    let mut kernel = Kernel::new(machine, parameters.clone(), streams.of(Stream::Kernel));
    let system = System { kernel: &kernel, machine, governor };
    // One short program, once.
    let request = scheduler.request(parameters, account, None);
    let loaded = load_object(scheduler.object.clone(), &request, &system)?;
    check_ops(&loaded.ops, loaded.profile)?;
    let Some(program) = loaded.check else { return Ok(()) };
    let cpu = loaded.init_cpu.or_else(|| kernel.topology.online.first()).unwrap_or(CpuId(0));
    ask(&mut Scx::new(loaded, &kernel, streams).with(&mut kernel), program, cpu)
}

/// Runs the check program of a loaded scheduler on `cpu`.
///
/// # Errors
/// The program refuses the settings, or is stopped.
pub fn ask(ctx: &mut Ctx<'_>, program: ProgramId, cpu: CpuId) -> Result<(), SchedulerError> {
    let name = ctx.vm.program_name(program).to_owned();
    match ctx.run_syscall(program, &[], cpu) {
        Ok(0) => Ok(()),
        Ok(errno) => {
            let problem = ctx.vm.global_bytes(PROBLEM).map(text).filter(|problem| !problem.is_empty());
            Err(SchedulerError::Refused(problem.unwrap_or_else(|| format!("the program `{name}` returned {errno}"))))
        }
        Err(fault) => Err(SchedulerError::Syscall { name, why: fault.to_string() }),
    }
}
