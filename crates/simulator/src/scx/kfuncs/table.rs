// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names, prototypes and versions of the kernel functions.

use super::context::Context;
use super::{Kfunc, Kind, Prototype, Versions, any, cgroup, dispatch, exit, idle, insert, moves, select, task};
use Context::{Any, ArgTask, Sleepable};

/// One function a line: `versions context name(parameters) -> result = handler`.
macro_rules! kfuncs {
    ($($versions:ident $context:expr, $name:literal ($($param:ident),*) -> $ret:ident = $handler:expr;)*) => {
        &[$(Kfunc {
            name: $name,
            prototype: Prototype { ret: Kind::$ret, params: &[$(Kind::$param),*] },
            versions: Versions::$versions,
            context: $context,
            handler: $handler,
        }),*]
    };
}

/// All functions of all versions; a function's number is its place.
pub static TABLE: &[Kfunc] = kfuncs! {
    Old select::CONTEXT, "scx_bpf_select_cpu_dfl"(Ptr, S32, U64, Ptr) -> S32 = select::select_cpu_dfl;
    Later select::CONTEXT_LATER, "scx_bpf_select_cpu_dfl"(Ptr, S32, U64, Ptr) -> S32 = select::select_cpu_dfl;
    Later select::CONTEXT_LATER, "scx_bpf_select_cpu_and"(Ptr, S32, U64, Ptr, U64) -> S32 = select::select_cpu_and;
    New select::CONTEXT_LATER, "__scx_bpf_select_cpu_and"(Ptr, Ptr, Ptr) -> S32 = select::select_cpu_and_args;

    Old insert::CONTEXT, "scx_bpf_dispatch"(Ptr, U64, U64, U64) -> Void = insert::INSERT;
    Old insert::CONTEXT, "scx_bpf_dispatch_vtime"(Ptr, U64, U64, U64, U64) -> Void = insert::INSERT_VTIME;
    Later insert::CONTEXT, "scx_bpf_dsq_insert"(Ptr, U64, U64, U64) -> Void = insert::INSERT;
    New insert::CONTEXT, "scx_bpf_dsq_insert___v2"(Ptr, U64, U64, U64) -> Bool = insert::INSERT;
    Later insert::CONTEXT, "scx_bpf_dsq_insert_vtime"(Ptr, U64, U64, U64, U64) -> Void = insert::INSERT_VTIME;
    New insert::CONTEXT, "__scx_bpf_dsq_insert_vtime"(Ptr, Ptr) -> Bool = insert::insert_vtime_args;

    All dispatch::CONTEXT, "scx_bpf_dispatch_nr_slots"() -> U32 = dispatch::NR_SLOTS;
    All dispatch::CONTEXT, "scx_bpf_dispatch_cancel"() -> Void = dispatch::CANCEL;
    Old dispatch::CONTEXT, "scx_bpf_consume"(U64) -> Bool = dispatch::CONSUME;
    Later dispatch::CONTEXT, "scx_bpf_dsq_move_to_local"(U64) -> Bool = dispatch::CONSUME;
    New dispatch::CONTEXT, "scx_bpf_dsq_move_to_local___v2"(U64, U64) -> Bool = dispatch::MOVE_TO_LOCAL;
    All dispatch::RELEASE_CONTEXT, "scx_bpf_reenqueue_local"() -> U32 = dispatch::REENQUEUE_LOCAL;
    New Any, "scx_bpf_reenqueue_local___v2"() -> Void = dispatch::REENQUEUE_LOCAL_LATER;
    New Any, "scx_bpf_dsq_reenq"(U64, U64) -> Void = dispatch::DSQ_REENQ;

    Old Any, "scx_bpf_dispatch_from_dsq_set_slice"(Ptr, U64) -> Void = moves::SET_SLICE;
    Old Any, "scx_bpf_dispatch_from_dsq_set_vtime"(Ptr, U64) -> Void = moves::SET_VTIME;
    Old moves::CONTEXT, "scx_bpf_dispatch_from_dsq"(Ptr, Ptr, U64, U64) -> Bool = moves::MOVE;
    Old moves::CONTEXT, "scx_bpf_dispatch_vtime_from_dsq"(Ptr, Ptr, U64, U64) -> Bool = moves::MOVE_VTIME;
    Later Any, "scx_bpf_dsq_move_set_slice"(Ptr, U64) -> Void = moves::SET_SLICE;
    Later Any, "scx_bpf_dsq_move_set_vtime"(Ptr, U64) -> Void = moves::SET_VTIME;
    Later moves::CONTEXT, "scx_bpf_dsq_move"(Ptr, Ptr, U64, U64) -> Bool = moves::MOVE;
    Later moves::CONTEXT, "scx_bpf_dsq_move_vtime"(Ptr, Ptr, U64, U64) -> Bool = moves::MOVE_VTIME;
    All Any, "bpf_iter_scx_dsq_new"(Ptr, U64, U64) -> S32 = moves::iter_new;
    All Any, "bpf_iter_scx_dsq_next"(Ptr) -> Ptr = moves::iter_next;
    All Any, "bpf_iter_scx_dsq_destroy"(Ptr) -> Void = moves::iter_destroy;
    New Any, "scx_bpf_dsq_peek"(U64) -> Ptr = moves::peek;
    All Sleepable, "scx_bpf_create_dsq"(U64, S32) -> S32 = moves::create_dsq;
    All Any, "scx_bpf_destroy_dsq"(U64) -> Void = moves::DESTROY_DSQ;
    All Any, "scx_bpf_dsq_nr_queued"(U64) -> S32 = moves::NR_QUEUED;

    All Any, "scx_bpf_exit_bstr"(S64, Ptr, Ptr, U32) -> Void = exit::exit_bstr;
    All Any, "scx_bpf_error_bstr"(Ptr, Ptr, U32) -> Void = exit::error_bstr;
    All Any, "scx_bpf_dump_bstr"(Ptr, Ptr, U32) -> Void = exit::dump_bstr;

    All Any, "scx_bpf_kick_cpu"(S32, U64) -> Void = any::KICK_CPU;
    All Any, "scx_bpf_cpuperf_cap"(S32) -> U32 = any::CPUPERF_CAP;
    All Any, "scx_bpf_cpuperf_cur"(S32) -> U32 = any::CPUPERF_CUR;
    All Any, "scx_bpf_cpuperf_set"(S32, U32) -> Void = any::cpuperf_set;
    All Any, "scx_bpf_nr_cpu_ids"() -> U32 = any::NR_CPU_IDS;
    Later Any, "scx_bpf_nr_node_ids"() -> U32 = any::NR_NODE_IDS;
    Later Any, "scx_bpf_cpu_node"(S32) -> S32 = any::CPU_NODE;
    All Any, "scx_bpf_get_possible_cpumask"() -> Ptr = any::POSSIBLE;
    All Any, "scx_bpf_get_online_cpumask"() -> Ptr = any::ONLINE;
    All Any, "scx_bpf_put_cpumask"(Ptr) -> Void = any::PUT_CPUMASK;
    All Any, "scx_bpf_task_running"(Ptr) -> Bool = any::task_running;
    All Any, "scx_bpf_task_cpu"(Ptr) -> S32 = any::task_cpu;
    All Any, "scx_bpf_cpu_rq"(S32) -> Ptr = any::CPU_RQ;
    Later Any, "scx_bpf_locked_rq"() -> Ptr = any::LOCKED_RQ;
    Later Any, "scx_bpf_cpu_curr"(S32) -> Ptr = any::CPU_CURR;
    Later Any, "scx_bpf_now"() -> U64 = any::NOW;
    New Any, "scx_bpf_task_set_slice"(Ptr, U64) -> Bool = any::set_slice;
    New Any, "scx_bpf_task_set_dsq_vtime"(Ptr, U64) -> Bool = any::set_dsq_vtime;

    All Any, "scx_bpf_get_idle_cpumask"() -> Ptr = idle::IDLE_CPUMASK;
    All Any, "scx_bpf_get_idle_smtmask"() -> Ptr = idle::IDLE_SMTMASK;
    All Any, "scx_bpf_put_idle_cpumask"(Ptr) -> Void = any::PUT_CPUMASK;
    All Any, "scx_bpf_test_and_clear_cpu_idle"(S32) -> Bool = idle::test_and_clear;
    All Any, "scx_bpf_pick_idle_cpu"(Ptr, U64) -> S32 = idle::pick_idle;
    All Any, "scx_bpf_pick_any_cpu"(Ptr, U64) -> S32 = idle::pick_any;
    Later Any, "scx_bpf_get_idle_cpumask_node"(S32) -> Ptr = idle::IDLE_CPUMASK_NODE;
    Later Any, "scx_bpf_get_idle_smtmask_node"(S32) -> Ptr = idle::IDLE_SMTMASK_NODE;
    Later Any, "scx_bpf_pick_idle_cpu_node"(Ptr, S32, U64) -> S32 = idle::pick_idle_node;
    Later Any, "scx_bpf_pick_any_cpu_node"(Ptr, S32, U64) -> S32 = idle::pick_any_node;

    All ArgTask, "scx_bpf_task_cgroup"(Ptr) -> Ptr = cgroup::task_cgroup;
    All Any, "bpf_cgroup_from_id"(U64) -> Ptr = cgroup::FROM_ID;
    All Any, "bpf_cgroup_ancestor"(Ptr, S32) -> Ptr = cgroup::ancestor;
    All Any, "bpf_cgroup_acquire"(Ptr) -> Ptr = cgroup::ACQUIRE;
    All Any, "bpf_cgroup_release"(Ptr) -> Void = cgroup::RELEASE;
    All Any, "bpf_iter_css_new"(Ptr, Ptr, U32) -> S32 = cgroup::css_new;
    All Any, "bpf_iter_css_next"(Ptr) -> Ptr = cgroup::css_next;
    All Any, "bpf_iter_css_destroy"(Ptr) -> Void = cgroup::CSS_DESTROY;

    All Any, "bpf_task_from_pid"(S32) -> Ptr = task::FROM_PID;
    Later Any, "bpf_task_from_vpid"(S32) -> Ptr = task::FROM_PID;
    All Any, "bpf_task_acquire"(Ptr) -> Ptr = task::ACQUIRE;
    All Any, "bpf_task_release"(Ptr) -> Void = task::RELEASE;
    All Any, "bpf_task_under_cgroup"(Ptr, Ptr) -> S64 = task::under_cgroup;
};
