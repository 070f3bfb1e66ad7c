// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plain functions: helpers and kernel functions of this crate that neither run a program nor ask where the one is that calls
//! them. Compiled code tells the instance its place before all other calls, and takes over afterwards what may have changed.

use std::sync::LazyLock;

use crate::helper::helper;
use crate::host::Builtin;
use crate::kfunc::kfunc;

/// Numbers of plain helpers: lookups in maps and storages, clocks, who and where the caller is, per-CPU variables, locks,
/// counters, memory.
const HELPERS: [i32; 24] =
    [1, 4, 5, 7, 8, 14, 35, 42, 55, 80, 93, 94, 112, 113, 118, 125, 153, 154, 156, 158, 160, 195, 208, 210];

/// Names of plain kernel functions.
const KFUNCS: [&str; 17] = [
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_preempt_disable",
    "bpf_preempt_enable",
    "bpf_cast_to_kern_ctx",
    "bpf_rdonly_cast",
    "bpf_iter_num_new",
    "bpf_iter_num_next",
    "bpf_iter_num_destroy",
    "bpf_cpumask_test_cpu",
    "bpf_cpumask_set_cpu",
    "bpf_cpumask_clear_cpu",
    "bpf_cpumask_test_and_set_cpu",
    "bpf_cpumask_test_and_clear_cpu",
    "bpf_cpumask_first",
    "bpf_cpumask_first_zero",
    "bpf_cpumask_weight",
];

/// Whether a function is plain. One of the same code as a plain one, to which the compiler may give the same address, is plain, too.
pub(crate) fn is(builtin: Builtin) -> bool {
    static PLAIN: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
        let helpers = HELPERS.into_iter().filter_map(helper);
        helpers.chain(KFUNCS.into_iter().filter_map(kfunc)).collect()
    });
    PLAIN.iter().any(|plain| std::ptr::fn_addr_eq(*plain, builtin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_programs_is_not_plain() {
        assert!(HELPERS.into_iter().all(|id| helper(id).is_some_and(is)));
        assert!(KFUNCS.into_iter().all(|name| kfunc(name).is_some_and(is)));
        // `bpf_loop` and `bpf_for_each_map_elem`.
        assert!([181, 164].into_iter().all(|id| helper(id).is_some_and(|builtin| !is(builtin))));
        assert!(!is(|vm, host, args| vm.call(args[0], args, host)));
    }
}
