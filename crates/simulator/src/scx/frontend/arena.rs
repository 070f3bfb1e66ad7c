// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the crate scx_arena does for a scheduler that keeps its data in a BPF arena (`ArenaLib::setup`): it runs the `syscall`
//! programs that make the allocators, and tells them the machine's topology, node by node.
//!
//! Left out: its threads, which print what programs write to their error streams and wait for grace periods of its RCU;
//! a scheduler that frees arena memory through the latter would see that it never comes back.

use tandem_bpf_vm::btf::Kind;
use tandem_bpf_vm::fault::{Fault, FaultKind};
use tandem_bpf_vm::memory::Protection;
use tandem_bpf_vm::object::Object;
use tandem_bpf_vm::open::{Record, SettingError};

use crate::kernel::cpumask::CpuMask;
use crate::kernel::topology::Topology;
use crate::scx::Ctx;
use crate::scx::callbacks::Active;
use crate::scx::host::ScxHost;
use crate::scx::idle::nr_nodes;
use crate::units::CpuId;

/// Pages that the static allocator takes at once (`STATIC_ALLOC_PAGES_GRANULARITY`).
const STATIC_PAGES: u64 = 8;

/// Why the arena cannot be set up.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArenaError {
    /// The object does not have the library's programs.
    #[error(
        "the object has no program `{0}` whose argument is a structure: it was not built with the library of scx_arena"
    )]
    NoProgram(&'static str),
    /// It does not have the structure of a task's data.
    #[error("the object has no structure `{0}`, which is to be the data of a task")]
    NoStructure(String),
    /// An argument has another layout than the library's.
    #[error("`{0}`: {1}")]
    Argument(&'static str, SettingError),
    /// A program fails.
    #[error("`{program}` returned {errno}")]
    Refused {
        /// The program.
        program: &'static str,
        /// What it returned.
        errno: i32,
    },
    /// A program is stopped.
    #[error("`{0}`: {1}")]
    Stopped(&'static str, Fault),
}

/// Sets up the arena, `task_ctx` being the name of the structure of a task's data. The programs run on `cpu`.
///
/// # Errors
/// [`ArenaError`].
pub fn setup(ctx: &mut Ctx<'_>, task_ctx: &str, cpu: CpuId) -> Result<(), ArenaError> {
    let object = ctx.vm.object_arc();
    let btf = &object.btf;
    let size = btf.find_kind(task_ctx, Kind::Struct).and_then(|id| btf.size_of(id));
    let size = size.ok_or_else(|| ArenaError::NoStructure(task_ctx.to_owned()))?;
    let mut library = Library { ctx, object: &object, cpu };
    // `task_ctx_align` is 0: aligned to words. Older versions of the library have no such member.
    library.call("arena_init", &[("static_pages", STATIC_PAGES), ("task_ctx_size", size)])?;
    library.setup_topology()
}

/// The library's programs.
struct Library<'l, 'c> {
    ctx: &'l mut Ctx<'c>,
    object: &'l Object,
    cpu: CpuId,
}

impl<'l> Library<'l, '_> {
    /// `setup_topology`.
    fn setup_topology(&mut self) -> Result<(), ArenaError> {
        let levels = levels(&self.ctx.kernel.topology);
        let children = max_children(&self.ctx.kernel.topology);
        let names = ["max_children[0]", "max_children[1]", "max_children[2]", "max_children[3]"];
        let members: Vec<(&str, u64)> = names.into_iter().zip(children).collect();
        self.call("arena_topology_init", &members)?;
        for (id, mask) in levels.iter().flat_map(|level| (0_u64..).zip(level)) {
            self.setup_topology_node(id, mask)?;
        }
        Ok(())
    }

    /// `setup_topology_node`.
    fn setup_topology_node(&mut self, id: u64, mask: &CpuMask) -> Result<(), ArenaError> {
        const ALLOC: &str = "arena_alloc_mask";
        let answer = self.call(ALLOC, &[])?;
        let bitmap = answer.get("bitmap").map_err(|error| ArenaError::Argument(ALLOC, error))?;
        let words: Vec<u8> = mask.words().iter().flat_map(|word| word.to_le_bytes()).collect();
        let written = self.ctx.vm.memory.write_user(bitmap, &words);
        if !written.map_err(|kind| ArenaError::Stopped(ALLOC, kind.into()))? {
            let text = format!("{bitmap:#x} is no place for a mask in the arena");
            return Err(ArenaError::Stopped(ALLOC, FaultKind::Misuse(text).into()));
        }
        self.call("arena_topology_node_init", &[("bitmap", bitmap), ("data_size", 0), ("id", id)])?;
        Ok(())
    }

    /// Runs a program with these members of its argument; the argument as the program leaves it.
    fn call(&mut self, program: &'static str, members: &[(&str, u64)]) -> Result<Record<'l>, ArenaError> {
        let id = self.ctx.vm.program(program);
        let record = Record::argument_of(self.object, program);
        let (Some(id), Some(mut record)) = (id, record) else { return Err(ArenaError::NoProgram(program)) };
        for (member, number) in members {
            record.set(member, *number).map_err(|error| ArenaError::Argument(program, error))?;
        }
        let mut run = |ctx: &mut Ctx<'_>| -> Result<i32, Fault> {
            let size = record.bytes().len() as u64;
            let address = ctx.vm.memory.alloc(size, Protection::ReadWrite)?;
            ctx.vm.memory.host_write(address, size)?.copy_from_slice(record.bytes());
            ctx.scx.calls.active.push(Active::outside(self.cpu, true));
            let mut host = ScxHost { scx: &mut *ctx.scx, kernel: &mut *ctx.kernel };
            let outcome = ctx.vm.run_raw(id, [address, 0, 0, 0, 0], &mut host);
            ctx.scx.calls.active.pop();
            record.bytes_mut().copy_from_slice(ctx.vm.memory.read(address, size)?);
            ctx.vm.memory.free(address)?;
            Ok(outcome?.value as i32)
        };
        match run(self.ctx).map_err(|fault| ArenaError::Stopped(program, fault))? {
            0 => Ok(record),
            errno => Err(ArenaError::Refused { program, errno }),
        }
    }
}

/// The machine's levels from all CPUs down to each: the masks of their members.
fn levels(topology: &Topology) -> [Vec<CpuMask>; 5] {
    let nr_cpus = topology.nr_cpus;
    let cpus = || (0..nr_cpus).map(CpuId::at);
    let mask = |members: &dyn Fn(CpuId) -> bool| CpuMask::of(nr_cpus, cpus().filter(|cpu| members(*cpu)));
    let nodes = (0..nr_nodes(topology)).map(|node| mask(&|cpu| topology.node_of(cpu) == node));
    let llcs = (0..topology.llcs.len()).map(|llc| mask(&|cpu| topology.llc_of[cpu.index()] as usize == llc));
    let cores = cpus().filter(|cpu| topology.smt[cpu.index()].first() == Some(cpu));
    let cores = cores.map(|cpu| CpuMask::of(nr_cpus, topology.smt[cpu.index()].iter().copied()));
    let single = cpus().map(|cpu| CpuMask::of(nr_cpus, [cpu]));
    [vec![mask(&|_| true)], nodes.collect(), llcs.collect(), cores.collect(), single.collect()]
}

/// `setup_topology_max_children`: of all nodes of a level, the most that one has on the next.
fn max_children(topology: &Topology) -> [u64; 4] {
    let levels = levels(topology);
    std::array::from_fn(|level| {
        let children = |mask: &CpuMask| levels[level + 1].iter().filter(|child| child.intersects(mask)).count() as u64;
        levels[level].iter().map(children).max().unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn topology(machine: &str) -> Topology {
        Topology::of(&Machine::load(machine).unwrap())
    }

    #[test]
    fn levels_divide_the_machine_further_and_further() {
        // Two clusters of four cores, each with a cache of its own.
        let hikey = topology("hikey960");
        assert_eq!(levels(&hikey).map(|level| level.len()), [1, 1, 2, 8, 8]);
        assert_eq!(max_children(&hikey), [1, 2, 4, 1]);
        // Eight cores of two CPUs, eight of one, one cache.
        let hybrid = topology("i9-12900k");
        assert_eq!(levels(&hybrid).map(|level| level.len()), [1, 1, 1, 16, 24]);
        assert_eq!(max_children(&hybrid), [1, 1, 16, 2]);
        // Four nodes of four CPUs.
        assert_eq!(max_children(&topology("opteron-8350")), [4, 1, 4, 1]);
    }
}
