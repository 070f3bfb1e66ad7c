// SPDX-License-Identifier: MIT OR Apache-2.0

use std::mem::{offset_of, size_of};

use tandem_bpf_vm::btf::{Btf, Kind, Type, TypeId};

use super::args::ScxExitInfo;
use super::rq::{PerCpu, Rq};
use super::task::{SchedExtEntity, TaskStruct};
use super::{prototype, prototypes};
use crate::scx::abi::profile::Profile;
use crate::scx::kfuncs;

fn structure(btf: &Btf, name: &str) -> TypeId {
    btf.find_kind(name, Kind::Struct).unwrap()
}

fn place(btf: &Btf, name: &str, path: &str) -> Option<(u64, u64)> {
    btf.member(structure(btf, name), path).map(|place| (place.offset(), place.size()))
}

#[test]
fn programs_find_members_where_the_accessors_have_them() {
    let btf = Profile::V6_12.kernel_btf();
    let task = |path| place(&btf, "task_struct", path);
    assert_eq!(task("scx.slice"), Some((offset_of!(TaskStruct, scx.slice) as u64, 8)));
    assert_eq!(task("scx.dsq_vtime"), Some((offset_of!(TaskStruct, scx.dsq_vtime) as u64, 8)));
    assert_eq!(task("scx.disallow"), Some((offset_of!(TaskStruct, scx.disallow) as u64, 1)));
    assert_eq!(task("se.sum_exec_runtime"), Some((offset_of!(TaskStruct, se.sum_exec_runtime) as u64, 8)));
    assert_eq!(task("__state"), Some((offset_of!(TaskStruct, state) as u64, 4)));
    assert_eq!(task("mempolicy"), Some((offset_of!(TaskStruct, mempolicy) as u64, 8)));
    assert_eq!(task("comm"), Some((offset_of!(TaskStruct, comm) as u64, 16)));
    assert_eq!(task("cpus_mask"), Some((offset_of!(TaskStruct, cpus_mask) as u64, 1024)));
    assert_eq!(place(&btf, "rq", "curr"), Some((offset_of!(Rq, curr) as u64, 8)));
    assert_eq!(place(&btf, "scx_exit_info", "kind"), Some((offset_of!(ScxExitInfo, exit_kind) as u64, 4)));
    assert_eq!(place(&btf, "cgroup", "self.parent"), Some((8, 8)));
    let guard = btf.find_kind("class_rcu_t", Kind::Typedef).and_then(|guard| btf.member(guard, "lock"));
    assert_eq!(guard.map(|lock| (lock.offset(), lock.size())), Some((0, 8)));
}

#[test]
fn what_programs_may_write_shares_no_granule_with_anything_else() {
    let writable = [
        offset_of!(SchedExtEntity, slice),
        offset_of!(SchedExtEntity, dsq_vtime),
        offset_of!(SchedExtEntity, disallow),
    ];
    assert!((offset_of!(TaskStruct, scx)).is_multiple_of(8) && writable.iter().all(|offset| offset.is_multiple_of(8)));
    let btf = Profile::V7.kernel_btf();
    let Some(Type::Struct(entity)) = btf.get(structure(&btf, "sched_ext_entity")) else { panic!() };
    for member in &entity.members {
        let offset = member.bit_offset as usize / 8;
        let others = writable.iter().filter(|granule| offset / 8 == **granule / 8).count();
        assert_eq!(others, usize::from(writable.contains(&offset)), "{}", member.name.as_str());
    }
}

#[test]
fn a_member_for_the_simulator_alone_is_not_in_btf() {
    let btf = Profile::V6_12.kernel_btf();
    let Some(Type::Struct(task)) = btf.get(structure(&btf, "task_struct")) else { panic!() };
    let hidden = offset_of!(TaskStruct, owner) as u32 * 8;
    assert!(task.members.iter().all(|member| member.bit_offset != hidden && !member.name.as_str().is_empty()));
}

#[test]
fn members_come_and_go_with_the_version() {
    let (old, new) = (Profile::V6_12.kernel_btf(), Profile::V7.kernel_btf());
    assert_eq!(place(&old, "scx_cgroup_init_args", "bw_quota_us"), None);
    assert_eq!(place(&new, "scx_cgroup_init_args", "bw_quota_us"), Some((16, 8)));
    assert_eq!(place(&old, "scx_exit_info", "flags"), None);
    assert!(old.find_kind("scx_bpf_dsq_insert_vtime_args", Kind::Struct).is_none());
    assert_eq!(new.size_of(structure(&new, "scx_bpf_dsq_insert_vtime_args")), Some(32));
    assert_eq!(new.size_of(structure(&new, "scx_bpf_select_cpu_and_args")), Some(24));
}

#[test]
fn opaque_objects_have_the_sizes_of_the_interface() {
    let btf = Profile::V6_12.kernel_btf();
    let sizes = [
        ("bpf_timer", 16),
        ("bpf_spin_lock", 4),
        ("bpf_rb_root", 16),
        ("bpf_rb_node", 32),
        ("bpf_list_head", 16),
        ("bpf_list_node", 24),
        ("bpf_iter_num", 8),
        ("bpf_iter_scx_dsq", 48),
        ("bpf_iter_css", 24),
        ("cpumask", 1024),
    ];
    for (name, size) in sizes {
        assert_eq!(btf.size_of(structure(&btf, name)), Some(size), "{name}");
    }
}

#[test]
fn functions_have_the_prototypes_of_the_version() {
    let (old, new) = (Profile::V6_12.kernel_btf(), Profile::V7.kernel_btf());
    let params = |btf: &Btf, name: &str| {
        let Type::Func { proto, .. } = btf.get(btf.find_kind(name, Kind::Func)?)? else { return None };
        let Type::FuncProto(prototype) = btf.get(*proto)? else { return None };
        Some(prototype.params.len())
    };
    assert_eq!(params(&old, "scx_bpf_dispatch"), Some(4));
    assert_eq!(params(&new, "scx_bpf_dispatch"), None);
    assert_eq!(params(&old, "scx_bpf_dsq_insert"), None);
    assert_eq!(params(&new, "scx_bpf_dsq_move_to_local"), Some(1));
    assert_eq!(params(&old, "bpf_rbtree_add_impl"), Some(5));
}

#[test]
fn a_kernel_has_the_functions_of_its_time() {
    let has = |profile: Profile, name: &str| profile.kernel_btf().find_kind(name, Kind::Func).is_some();
    let old = ["bpf_obj_new_impl", "bpf_rbtree_first", "bpf_list_pop_back", "bpf_iter_bits_new", "bpf_cpumask_weight"];
    for name in old {
        assert!(has(Profile::V6_12, name) && has(Profile::V7, name), "{name}");
    }
    // 6.14, 6.15, 6.16.
    let new = ["bpf_local_irq_save", "bpf_cpumask_populate", "bpf_rbtree_root", "bpf_rbtree_left", "bpf_list_front"];
    for name in new {
        assert!(!has(Profile::V6_12, name) && has(Profile::V6_18, name) && has(Profile::V7, name), "{name}");
        assert!(tandem_bpf_vm::kfunc::kfunc(name).is_some(), "{name}");
    }
}

#[test]
fn what_sched_ext_brings_and_bpf_can_do_is_among_the_types() {
    for profile in Profile::ALL {
        let btf = profile.kernel_btf();
        for (_, kfunc) in kfuncs::offered(profile.version) {
            assert!(btf.find_kind(kfunc.name, Kind::Func).is_some(), "{} is offered and has no type", kfunc.name);
        }
        for name in prototypes::of(profile).filter_map(prototype::parse).map(|prototype| prototype.name) {
            let known = kfuncs::number(profile.version, name).is_some() || tandem_bpf_vm::kfunc::kfunc(name).is_some();
            assert!(known, "{name} has a type and nothing behind it");
        }
    }
}

#[test]
fn enumerations_have_the_values_of_the_version() {
    let value = |profile: Profile, name: &str| profile.enum_value(name);
    let table: [(&str, Option<u64>, Option<u64>); 12] = [
        ("SCX_ENQ_HEAD", Some(0x10), Some(0x1_0000)),
        ("SCX_ENQ_CPU_SELECTED", Some(0x400), Some(0x10_0000)),
        ("SCX_ENQ_LAST", Some(0x200_0000_0000), Some(0x200_0000_0000)),
        ("SCX_ENQ_IMMED", None, Some(0x2_0000_0000)),
        ("SCX_TASK_READY", Some(2), Some(0x200)),
        ("SCX_TASK_NR_STATES", Some(4), None),
        ("SCX_SLICE_DFL", Some(20_000_000), Some(20_000_000)),
        ("SCX_SLICE_INF", Some(u64::MAX), Some(u64::MAX)),
        ("SCX_DSQ_LOCAL_ON", Some(0xc000_0000_0000_0000), Some(0xc000_0000_0000_0000)),
        ("SCX_EXIT_ERROR_STALL", Some(1026), Some(1026)),
        ("SCX_EXIT_PARENT", None, Some(68)),
        ("SCX_NO_SUCH_THING", None, None),
    ];
    for (name, old, new) in table {
        assert_eq!((value(Profile::V6_12, name), value(Profile::V7, name)), (old, new), "{name}");
    }
    let btf = Profile::V7.kernel_btf();
    let flags =
        btf.find_kind("scx_enq_flags", Kind::Enum64).and_then(|id| btf.get(id)?.enumeration().cloned()).unwrap();
    let head = flags.values.iter().find(|value| value.name.as_str() == "SCX_ENQ_HEAD");
    assert_eq!(head.map(|head| head.value), Some(0x1_0000));
}

#[test]
fn the_ops_have_the_size_that_the_kernels_have() {
    let btf = Profile::V6_12.kernel_btf();
    assert_eq!(btf.size_of(structure(&btf, "sched_ext_ops")), Some(424));
    let btf = Profile::V6_18.kernel_btf();
    assert_eq!(btf.size_of(structure(&btf, "sched_ext_ops")), Some(440));
    let btf = Profile::V7.kernel_btf();
    assert_eq!(btf.size_of(structure(&btf, "sched_ext_ops")), Some(472));
}

#[test]
fn per_cpu_variables_are_variables_of_the_version() {
    let (old, new) = (Profile::V6_12.kernel_btf(), Profile::V7.kernel_btf());
    assert!(old.find_kind("runqueues", Kind::Var).is_some());
    assert!(old.find_kind("pcpu_hot", Kind::Var).is_some() && new.find_kind("pcpu_hot", Kind::Var).is_none());
    assert!(old.find_kind("__preempt_count", Kind::Var).is_none());
    assert!(new.find_kind("__preempt_count", Kind::Var).is_some());
    assert!(size_of::<PerCpu>().is_multiple_of(8));
}
