// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels do differently for a loaded scheduler, by the name of the function: everything else asks for a rule, never for a
//! version. "By 6.18" is what 6.18 has and 6.12 has not.
//!
//! Sources: `kernel/sched/ext.c`, `ext_idle.c` of 6.12.117, 6.18.2 and 7.1.5.

use super::{Profile, Version};

/// The rules of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// `scx_select_cpu_dfl` with caches and nodes, called through `select_cpu_from_kfunc`, by 6.18: also from `ops.enqueue` and
    /// from outside of callbacks.
    pub select_cpu_from_kfunc: bool,
    /// It claims an idle sibling of the previous CPU before it looks farther, by 7.1.
    pub claims_sibling: bool,
    /// `SCX_OPS_BUILTIN_IDLE_PER_NODE`, by 6.18.
    pub builtin_idle_per_node: bool,
    /// `__scx_update_idle` changes the masks before it tells the scheduler, by 6.18.
    pub masks_before_update_idle: bool,
    /// `do_enqueue_task` does not ask about tasks whose migration is disabled unless the scheduler has the flag
    /// `SCX_OPS_ENQ_MIGRATION_DISABLED`, by 6.18.
    pub asks_about_migration_disabled: bool,
    /// `scx_bpf_cpuperf_set` from a callback that holds a run queue is for its CPU only, by 6.18.
    pub cpuperf_of_locked_cpu: bool,
    /// `enqueue_task_scx` takes flags of 64 bits, by 7.1; before, what sched_ext itself has above 32 bits was lost.
    pub wide_enqueue_flags: bool,
    /// `SCX_TASK_IN_CUSTODY`, `call_task_dequeue`, by 7.1: the scheduler hears of each task that leaves its custody.
    pub custody: bool,
    /// `do_pick_task_scx` looks for work when it is the class's turn, by 7.1, not before all classes are asked (`balance_scx`).
    pub pick_balances: bool,
    /// `ext_server`, by 7.1: a deadline server gives the class a share beside real-time tasks.
    pub ext_server: bool,
    /// `SCX_TASK_REENQ_REASON_MASK`, by 7.1: a task that is given back says why.
    pub reenq_reason: bool,
    /// `kick_one_cpu` leaves a CPU alone that runs a more urgent class, by 7.1.
    pub kick_spares_higher_class: bool,
    /// libbpf puts the arena's variables at its end, by 7.1.
    pub arena_data_last: bool,
}

const V6_12: Rules = Rules {
    select_cpu_from_kfunc: false,
    claims_sibling: false,
    builtin_idle_per_node: false,
    masks_before_update_idle: false,
    asks_about_migration_disabled: true,
    cpuperf_of_locked_cpu: false,
    wide_enqueue_flags: false,
    custody: false,
    pick_balances: false,
    ext_server: false,
    reenq_reason: false,
    kick_spares_higher_class: false,
    arena_data_last: false,
};

const V6_18: Rules = Rules {
    select_cpu_from_kfunc: true,
    builtin_idle_per_node: true,
    masks_before_update_idle: true,
    asks_about_migration_disabled: false,
    cpuperf_of_locked_cpu: true,
    ..V6_12
};

const V7: Rules = Rules {
    claims_sibling: true,
    wide_enqueue_flags: true,
    custody: true,
    pick_balances: true,
    ext_server: true,
    reenq_reason: true,
    kick_spares_higher_class: true,
    arena_data_last: true,
    ..V6_18
};

impl Profile {
    /// What the kernel does.
    #[inline]
    pub fn rules(self) -> &'static Rules {
        match self.version {
            Version::V6_12 => &V6_12,
            Version::V6_18 => &V6_18,
            Version::V7 => &V7,
        }
    }
}
