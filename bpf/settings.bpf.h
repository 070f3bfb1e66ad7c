/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a user sets. Loaders read ranges, units and sentences from here (BTF declaration tags) and refuse what does not fit.
 */
#ifndef __TANDEM_SETTINGS_H
#define __TANDEM_SETTINGS_H

#include "include/scx.bpf.h"

#define __range(text) __attribute__((btf_decl_tag("range " text)))
#define __unit(text) __attribute__((btf_decl_tag("unit " text)))
#define __help(text) __attribute__((btf_decl_tag("help " text)))
/* Callbacks, other programs and flags of struct sched_ext_ops that a loader leaves out unless a setting that needs them is on. */
#define __needs(text) __attribute__((btf_decl_tag("needs " text)))
#define __said(number) #number
#define __number(macro) __said(macro)

/* In this time each of several parallel applications has its turn, so that juniors wait much shorter than the kernel's watchdog. */
#define SENIORITY_CYCLE_S 10

/* The last way is the one that `all` stands for. */
enum tandem_isolate {
	TANDEM_ISOLATE_OFF,
	TANDEM_ISOLATE_DEDICATED,
	TANDEM_ISOLATE_SHARED,
};

/* The mechanisms. */

const volatile bool all
	__needs("runnable quiescent update_idle cpu_release set_cpumask exit_task tandem_sched_stat_runtime SCX_OPS_ENQ_LAST")
	__help("Turn on all five mechanisms, isolation as shared unless said otherwise.") = false;
const volatile enum tandem_isolate isolate
	__needs("set_cpumask update_idle cpu_release exit_task SCX_OPS_ENQ_LAST")
	__help("Keep operating-system noise on one CPU: off, dedicated (applications stay off it), shared (they may use it).") = TANDEM_ISOLATE_OFF;
const volatile bool longest
	__needs("runnable quiescent update_idle cpu_release exit_task SCX_OPS_ENQ_LAST")
	__help("The longest jobs run on the fastest CPUs.") = false;
const volatile bool serial_first
	__needs("runnable quiescent update_idle cpu_release exit_task SCX_OPS_ENQ_LAST")
	__help("Serial phases of parallel applications run first, then the senior of several parallel ones.") = false;
const volatile bool sorted
	__needs("quiescent update_idle cpu_release exit_task tandem_sched_stat_runtime SCX_OPS_ENQ_LAST")
	__help("Run queues sorted by memory intensity, opposite ways on paired CPUs, in synchronised epochs.") = false;
const volatile bool speed
	__needs("update_idle cpu_release exit_task tandem_sched_stat_runtime SCX_OPS_ENQ_LAST")
	__help("Clocks follow idle and loaded, delayed, and the energy-delay factor of what runs.") = false;

/* For all of them. */

const volatile u32 slice_us
	__range("100..1000000") __unit("us") __help("Time that a task may run before others have their turn.") = 20000;

/* isolate */

const volatile s32 os_cpu
	__range("-1..1023") __help("The CPU for operating-system noise; -1: the lowest.") = -1;
const volatile u32 os_mhz
	__range("0..20000") __unit("MHz") __help("Clock of that CPU's core; 0: dedicated, what the measured noise needs; shared, the highest.");
const volatile u32 rest_mhz
	__range("0..20000") __unit("MHz") __help("Clock of all other cores; 0: dedicated, the highest; shared, less by what noise takes of the OS CPU.");

/* longest */

const volatile bool learn_lengths
	__help("Learn lengths from earlier rounds and runs where a program gives none.") = true;

/* serial_first */

const volatile u32 serial_threshold
	__range("1..64") __unit("threads") __help("An application with at most so many ready threads is in a serial phase.") = 2;
const volatile bool serial_single
	__help("Programs that were never parallel count as serial phases, too.");
const volatile u32 serial_memory_ms
	__range("1..3600000") __unit("ms") __help("How long after a parallel phase a serial one counts as such.") = 10000;
const volatile u32 serial_share_pct
	__range("1..100") __unit("%") __help("Most CPU time that serial phases may take before others while these wait.") = 50;
const volatile u32 seniority_ms
	__range("1..60000") __unit("ms") __help("How long one parallel application is preferred before the next one is; with many of them less, so that all have their turn within " __number(SENIORITY_CYCLE_S) " s.") = 500;

/* sorted */

const volatile u32 sorted_slice_us
	__range("1000..1000000") __unit("us") __help("Slice on the CPU with the longest queue; the others' are longer.") = 20000;
const volatile u32 intensity_weight_pct
	__range("1..100") __unit("%") __help("Weight of the last slice in a task's memory intensity.") = 50;
const volatile u32 memory_mbps
	__range("0..10000000") __unit("MB/s") __help("Bandwidth of a node's memory; 0: what the machine says, else the most that was seen.");

/* speed */

const volatile u32 up_delay_us
	__range("0..1000000") __unit("us") __help("How long a CPU is loaded before its clock goes up.");
const volatile u32 down_delay_us
	__range("0..1000000") __unit("us") __help("How long a CPU is idle before its clock goes down.") = 4000;
const volatile u32 min_high_us
	__range("0..1000000") __unit("us") __help("Shortest time at a high clock.") = 1000;
const volatile u32 min_low_us
	__range("0..1000000") __unit("us") __help("Shortest time at a low clock.");
const volatile bool edp
	__help("Lower the clock of memory-bound work where the energy-delay product gains.") = true;
const volatile u32 edp_base_pct
	__range("0..1000") __unit("%") __help("Energy-delay factor of compute-bound work at the lowest clock; 0: from the power of each clock, or 140 and a slope of 80 where that is unknown.");
const volatile u32 edp_slope_pct
	__range("0..1000") __unit("%") __help("How much of that memory-bound work takes off.") = 80;
const volatile u32 edp_slowdown_pct
	__range("0..1000") __unit("%") __help("Most that work may take longer for that, where power is known.") = 5;
const volatile bool concentrate
	__help("Wake tasks where the clock is high already.") = true;

#endif /* __TANDEM_SETTINGS_H */
