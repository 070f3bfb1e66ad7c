/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of the machine. A loader fills them in before the programs are verified (tandem.toml names their sources). */
#ifndef __TANDEM_STATE_FACTS_H
#define __TANDEM_STATE_FACTS_H

#include "../include/scx.bpf.h"
#include "../include/tags.bpf.h"

/*
 * While a variable is on, a loader takes the second of two parts in place of the first, if the first is needed. Otherwise the loader
 * never takes the second part.
 */
#define __instead(text) __attribute__((btf_decl_tag("instead " text)))

enum {
	MAX_CPUS = 1024,
	MAX_KINDS = 8,
	MAX_OPPS = 64,
	MAX_OPP_TABLES = 16,
	MAX_IDLE_STATES = 8,
};

struct cpu_facts {
	/* Performance at the highest allowed clock, 1..1024. The fastest CPU of the machine has 1024 at its highest clock. */
	u32 performance;
	/* Performance at the highest clock, allowed or not: the scale of cpuperf. */
	u32 capacity;
	/* The lowest CPU of the same core; the other hardware thread of a core of two, or a number beyond all CPUs. */
	u32 core;
	u32 sibling;
	/* Numbers, from 0, of the parts that the CPU shares with others: last-level cache, package, memory, clock. */
	u32 llc;
	u32 package;
	u32 node;
	u32 domain;
	/* Index into opp_tables. */
	u32 opp_table;
};

const volatile struct cpu_facts cpu_facts[MAX_CPUS];

/* Operating points of a kind of CPU, the slowest first. */
struct opp_table {
	u32 nr_opps;
	/* kHz. */
	u32 frequency[MAX_OPPS];
	/* Performance of a CPU at this point, on the scale of cpu_facts.capacity. */
	u32 performance[MAX_OPPS];
	/* mW of one busy CPU from the kernel, 0 if unknown; and from a machine description, as the difference to an idle CPU. */
	u32 power[MAX_OPPS];
	u32 busy_power[MAX_OPPS];
	/* mW that CPUs with this clock draw together while one is awake, in addition to the above; 0 if none or unknown. */
	u32 static_power[MAX_OPPS];
	/*
	 * uW of an idle CPU in each of its idle states, the shallowest first, and the shortest stay for which the state pays, us; 0:
	 * unknown.
	 */
	u32 nr_idle_states;
	u32 idle_power[MAX_IDLE_STATES];
	u32 idle_residency[MAX_IDLE_STATES];
};

const volatile struct opp_table opp_tables[MAX_OPP_TABLES];

const volatile u32 nr_cpus = 1;
const volatile bool smt;
/* The governor follows scx_bpf_cpuperf_set. */
const volatile bool cpuperf;
/*
 * scx_bpf_cpuperf_set may be called where no run queue is locked. Before Linux 6.15 that call does not lock the CPU's own run queue:
 * schedutil takes a time from there that may be out of date, and the kernel complains.
 */
const volatile bool cpuperf_locks = true;
/*
 * scx_bpf_reenqueue_local may be called from anywhere, as since Linux 6.19. These kernels warn of ops.cpu_release; a tracepoint can also
 * tell that another class takes a CPU.
 */
const volatile bool reenqueues_anywhere __instead("cpu_release tandem_sched_switch");
/*
 * The kernel's sched_ext_ops has this member. Kernels without core scheduling do not ask which task is due first. Kernels before 6.19 do
 * not report idle groups. Kernels before 6.17 do not report limits of groups.
 */
const volatile bool ops_has_core_sched_before __needs("core_sched_before");
const volatile bool ops_has_cgroup_set_idle __needs("cgroup_set_idle");
const volatile bool ops_has_cgroup_set_bandwidth __needs("cgroup_set_bandwidth");
/* mW that the machine draws regardless of its CPUs' load, 0 if none or unknown. */
const volatile u32 fixed_power;
/* mW that a package draws more while one of its CPUs is busy than while all sleep, 0 if none or unknown; and the number of packages. */
const volatile u32 package_power;
const volatile u32 nr_packages = 1;
/* Bandwidth of the memory that the most CPUs share, MB/s; 0 if unknown. */
const volatile u32 memory_bandwidth;
/* Bytes that one counted transaction with memory moves: a cache line, or the unit of a loader's own event. */
const volatile u32 transaction_bytes = 64;

/* The mask bounds the index in a way that the verifier follows. */
static __always_inline const volatile struct cpu_facts *facts_of(u32 cpu)
{
	return &cpu_facts[cpu & (MAX_CPUS - 1)];
}

#endif /* __TANDEM_STATE_FACTS_H */
