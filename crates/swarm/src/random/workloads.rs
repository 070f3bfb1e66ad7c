// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random workloads: programs of any steps, bundled files, and what generators write with random options.

use std::path::Path;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::strategy::BoxedStrategy;
use tandem_simulator::units::MSEC;
use tandem_simulator::workload::bundled::BUNDLED;
use tandem_simulator::workload::generate::{generators, text};
use tandem_simulator::workload::{CgroupSpec, CgroupWrite, CpuMax, Op, Policy, Workload};

use super::any_workload::{any_workload, hopeless_workload};

/// Paths of the groups that threads are in.
const GROUPS: [&str; 4] = ["/a", "/a/b", "/c", "/d/e/f"];
/// Most threads that a generated workload may have: more take long.
const MOST_THREADS: u32 = 200;

/// How a workload is made.
#[derive(Debug, Clone)]
pub enum WorkloadPlan {
    /// Threads that end by themselves and do a known amount of work.
    Ends(Workload),
    /// Threads that may wait for ever.
    Any(Workload),
    /// A bundled file.
    Bundled(&'static str),
    /// A generator with some of its options set.
    Generated {
        /// Number of the generator.
        generator: usize,
        /// Which option, and to what.
        options: Vec<(Index, &'static str)>,
    },
}

/// Any workload.
pub fn any_workload_plan() -> BoxedStrategy<WorkloadPlan> {
    let names: Vec<&'static str> = BUNDLED.iter().map(|(name, _)| *name).collect();
    let values = prop::sample::select(vec!["1", "2", "3", "4", "8", "16", "true", "0", "0.5", "1ms", "10ms", "100us"]);
    let options = prop::collection::vec((any::<Index>(), values), 0..5);
    let generated = (0..generators().len(), options)
        .prop_map(|(generator, options)| WorkloadPlan::Generated { generator, options });
    prop_oneof![
        5 => (any_workload(), traits()).prop_map(|(workload, traits)| WorkloadPlan::Ends(traits.give(workload))),
        3 => (hopeless_workload(), traits()).prop_map(|(workload, traits)| WorkloadPlan::Any(traits.give(workload))),
        1 => prop::sample::select(names).prop_map(WorkloadPlan::Bundled),
        2 => generated,
    ]
    .boxed()
}

impl WorkloadPlan {
    /// The workload; `None` if options do not go together.
    pub fn build(&self) -> Option<Workload> {
        match self {
            Self::Ends(workload) | Self::Any(workload) => Some(workload.clone()),
            Self::Bundled(name) => Workload::load(Path::new(name)).ok(),
            Self::Generated { generator, options } => {
                let mut generator = generators().into_iter().nth(*generator)?;
                let names: Vec<&str> = generator.options().iter().map(|option| option.name).collect();
                for (index, value) in options {
                    // Most values are none of the option's.
                    let _ = generator.set(names[index.index(names.len())], value);
                }
                let workload = Workload::parse(Path::new("generated.json"), &text(generator.as_ref()).ok()?).ok()?;
                let threads: u32 = workload.tasks.iter().map(|task| task.instances).sum();
                (threads <= MOST_THREADS).then_some(workload)
            }
        }
    }

    /// Nanoseconds of work that it asks for in all, if it ends by itself.
    pub fn ends(&self) -> Option<&Workload> {
        if let Self::Ends(workload) = self { Some(workload) } else { None }
    }

    /// The kind of the workload, for the summary.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Ends(_) => "programs that end",
            Self::Any(_) => "any programs",
            Self::Bundled(_) => "bundled workloads",
            Self::Generated { .. } => "generated workloads",
        }
    }
}

/// What a loaded scheduler sees of a kind of thread: its group, a hint of its length, and whether it is a process of its own,
/// a kernel thread, has a policy that asks for the loaded scheduler.
type KindTraits = (Option<usize>, Option<u64>, bool, bool, bool);

/// What loaded schedulers see of threads besides their programs.
#[derive(Debug, Clone)]
struct Traits {
    /// Per kind of thread.
    kinds: Vec<KindTraits>,
    /// Changes of groups by threads: the kind, the place among its steps, and the group.
    moves: Vec<(Index, Index, Option<usize>)>,
    /// Lives of groups.
    groups: Vec<CgroupSpec>,
}

fn traits() -> impl Strategy<Value = Traits> {
    let group = || prop::option::weighted(0.4, 0..GROUPS.len());
    let rarely = || prop::bool::weighted(0.1);
    let kind = (group(), prop::option::weighted(0.2, 0..1000u64), rarely(), rarely(), rarely());
    let moves = prop::collection::vec((any::<Index>(), any::<Index>(), group()), 0..3);
    let quota = (1..20u64, 1..20u64, 0..20u64).prop_map(|(quota, period, burst)| CpuMax {
        quota: quota * MSEC,
        period: period * MSEC,
        burst: burst.min(quota) * MSEC,
    });
    let write = prop_oneof![
        4 => (1..=10_000u32).prop_map(CgroupWrite::Weight),
        1 => (-20..=19i8).prop_map(CgroupWrite::WeightNice),
        1 => any::<bool>().prop_map(CgroupWrite::Idle),
        2 => prop::option::weighted(0.7, quota).prop_map(CgroupWrite::Max),
        1 => prop::collection::vec(0..12u32, 1..4).prop_map(CgroupWrite::Cpus),
    ];
    let at = prop_oneof![Just(0), 0..30 * MSEC];
    let writes = prop::collection::vec((at, write), 0..5);
    let life = (0..20 * MSEC, prop::option::of(1..20 * MSEC), writes);
    let life = life.prop_map(|(made, life, mut writes)| {
        writes.sort_by_key(|(at, _)| *at);
        let removed = life.map(|life| made + life);
        CgroupSpec { made, removed, writes, ..CgroupSpec::default() }
    });
    let groups = prop::collection::vec(prop::option::weighted(0.3, life), GROUPS.len());
    let some = (prop::collection::vec(kind, 1..8), moves, groups).prop_map(|(kinds, moves, groups)| {
        let named = |(index, group): (usize, Option<CgroupSpec>)| {
            group.map(|group| CgroupSpec { path: GROUPS[index].to_owned(), ..group })
        };
        Traits { kinds, moves, groups: groups.into_iter().enumerate().filter_map(named).collect() }
    });
    prop_oneof![1 => Just(Traits { kinds: Vec::new(), moves: Vec::new(), groups: Vec::new() }), 2 => some]
}

impl Traits {
    fn give(&self, mut workload: Workload) -> Workload {
        let group = |index: Option<usize>| index.map(|index| GROUPS[index].to_owned());
        for (task, traits) in workload.tasks.iter_mut().zip(self.kinds.iter().cycle()) {
            let (in_group, length, process, kernel_thread, ext) = *traits;
            task.task_group = group(in_group);
            task.relative_length = length;
            task.process = process && !task.system;
            // What makes an application's task a process makes noise disturb caches.
            task.disturbs = u64::from(process && task.system) << 18;
            task.kernel_thread = kernel_thread && task.system;
            if let (true, Policy::Other { nice, .. }) = (ext, task.scheduling.policy) {
                task.scheduling.policy = Policy::Ext { nice };
            }
        }
        let count = workload.tasks.len();
        for (kind, place, to) in self.moves.iter().filter(|_| count > 0) {
            let program = &mut workload.tasks[kind.index(count)].program;
            // Behind the last step, where no loop refers to, or in place of a step that nothing else depends on.
            let replaced = program.get_mut(place.index(8)).filter(|op| matches!(op, Op::Sleep(_) | Op::Yield));
            match replaced {
                Some(op) => *op = Op::SetTaskGroup(group(*to)),
                None => program.push(Op::SetTaskGroup(group(*to))),
            }
        }
        workload.cgroups.clone_from(&self.groups);
        workload
    }
}
