// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that has a few functions, types and timers.

use std::sync::{Arc, LazyLock};

use tandem_bpf_vm::btf::{Btf, Builder, TypeId};
use tandem_bpf_vm::fault::Fault;
use tandem_bpf_vm::host::{Args, Clock, Host};
use tandem_bpf_vm::instance::Instance;
use tandem_bpf_vm::timer::TimerStart;

/// CPUs of this kernel.
pub const CPUS: u32 = 4;

/// Kernel functions that `bpf-vm` brings.
pub const KFUNCS: [&str; 61] = [
    "bpf_cpumask_create",
    "bpf_cpumask_acquire",
    "bpf_cpumask_release",
    "bpf_cpumask_test_cpu",
    "bpf_cpumask_set_cpu",
    "bpf_cpumask_clear_cpu",
    "bpf_cpumask_test_and_set_cpu",
    "bpf_cpumask_first",
    "bpf_cpumask_first_zero",
    "bpf_cpumask_first_and",
    "bpf_cpumask_any_distribute",
    "bpf_cpumask_any_and_distribute",
    "bpf_cpumask_weight",
    "bpf_cpumask_setall",
    "bpf_cpumask_clear",
    "bpf_cpumask_copy",
    "bpf_cpumask_and",
    "bpf_cpumask_or",
    "bpf_cpumask_xor",
    "bpf_cpumask_equal",
    "bpf_cpumask_subset",
    "bpf_cpumask_intersects",
    "bpf_cpumask_empty",
    "bpf_cpumask_full",
    "bpf_cpumask_populate",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
    "bpf_iter_bits_new",
    "bpf_iter_bits_next",
    "bpf_iter_bits_destroy",
    "bpf_list_push_front_impl",
    "bpf_list_push_back_impl",
    "bpf_list_pop_front",
    "bpf_list_pop_back",
    "bpf_rbtree_add_impl",
    "bpf_rbtree_remove",
    "bpf_rbtree_first",
    "bpf_rcu_read_lock",
    "bpf_throw",
    "bpf_arena_alloc_pages",
    "bpf_arena_free_pages",
    "bpf_arena_reserve_pages",
    "bpf_obj_new_impl",
    "bpf_percpu_obj_new_impl",
    "bpf_obj_drop_impl",
    "bpf_percpu_obj_drop_impl",
    "bpf_refcount_acquire_impl",
    "bpf_rbtree_root",
    "bpf_rbtree_left",
    "bpf_rbtree_right",
    "bpf_list_front",
    "bpf_list_back",
    "bpf_rcu_read_unlock",
    "bpf_preempt_disable",
    "bpf_preempt_enable",
    "bpf_local_irq_save",
    "bpf_local_irq_restore",
    "bpf_cast_to_kern_ctx",
    "bpf_rdonly_cast",
    "bpf_cpumask_test_and_clear_cpu",
];

/// Types of the kernel, some of the names that programs ask for.
pub fn types() -> Arc<Btf> {
    static TYPES: LazyLock<Arc<Btf>> = LazyLock::new(|| Arc::new(build()));
    Arc::clone(&TYPES)
}

fn build() -> Btf {
    let mut builder = Builder::new();
    let (int, long) = (builder.int("int", 4, true), builder.int("unsigned long", 8, false));
    let byte = builder.int("char", 1, true);
    let comm = builder.array(byte, 16);
    let words = builder.array(long, 4);
    let cpumask = builder.structure("cpumask", 32, &[("bits", words, 0)]);
    let mask = builder.pointer(cpumask);
    builder.structure("bpf_cpumask", 40, &[("cpumask", cpumask, 0), ("usage", int, 32)]);
    let task = builder.declare_struct("task_struct");
    let parent = builder.pointer(task);
    let scx =
        builder.structure("sched_ext_entity", 24, &[("slice", long, 0), ("dsq_vtime", long, 8), ("flags", int, 16)]);
    let members = [
        ("pid", int, 0),
        ("tgid", int, 4),
        ("comm", comm, 8),
        ("real_parent", parent, 24),
        ("cpus_ptr", mask, 32),
        ("scx", scx, 40),
    ];
    builder.define(task, 64, &members);
    builder.enumeration("scx_enq_flags", &[("SCX_ENQ_WAKEUP", 1), ("SCX_ENQ_HEAD", 16), ("SCX_ENQ_LAST", 1 << 41)]);
    let proto = builder.func_proto(int, &[("p", parent)]);
    builder.func("scx_bpf_task_cpu", proto);
    // Without a prototype, a program may call the function with any arguments.
    for name in KFUNCS {
        builder.func(name, TypeId::VOID);
    }
    builder.finish()
}

/// A host that answers, and remembers the timers that were started.
#[derive(Default)]
pub struct Kernel {
    /// What `bpf_get_current_task` answers.
    pub current: u64,
    /// Timers to fire, in the order started.
    pub timers: Vec<u64>,
    /// How often the time was asked for.
    pub calls: u64,
}

impl Host for Kernel {
    fn cpu(&self) -> u32 {
        1
    }

    fn now(&mut self, _: Clock) -> u64 {
        self.calls += 1;
        self.calls << 20
    }

    fn current(&self) -> u64 {
        self.current
    }

    fn current_comm(&self) -> Option<String> {
        Some("a name of more than 15 bytes".to_owned())
    }

    fn timer_start(&mut self, start: TimerStart) {
        self.timers.push(start.timer);
    }

    fn timer_cancel(&mut self, timer: u64) -> bool {
        let before = self.timers.len();
        self.timers.retain(|other| *other != timer);
        self.timers.len() < before
    }

    fn kfunc(&mut self, vm: &mut Instance, _: u32, args: Args) -> Result<u64, Fault> {
        Ok(vm.memory.load::<8>(args[0]).unwrap_or(args[0]))
    }
}
