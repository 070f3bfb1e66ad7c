/* SPDX-License-Identifier: GPL-2.0-only */
/* The user's settings. Loaders read ranges, units and help texts from here (BTF declaration tags), and refuse values out of range. */
#ifndef __TANDEM_SETTINGS_H
#define __TANDEM_SETTINGS_H

#include "state/facts.bpf.h"

/* The paper's value, where the default is another, and its place in the paper. */
#define __letter(text) __attribute__((btf_decl_tag("letter " text)))
/* A fact of the machine that the setting gives: no search for better settings changes it. */
#define __fact(text) __attribute__((btf_decl_tag("fact " text)))
/*
 * While the setting is on, a loader adds these bits of `enum mechanism` to `asked`, so that one load tells which mechanisms several
 * settings ask for.
 */
#define __asks(bits) __attribute__((btf_decl_tag("adds asked " #bits)))
#define __said(number) #number
#define __number(macro) __said(macro)

/*
 * Each of several parallel applications has its turn within this time, so that juniors wait much shorter than the kernel's watchdog
 * allows.
 */
#define SENIORITY_CYCLE_S 10

/* `all` stands for the last one. */
enum tandem_isolate {
	TANDEM_ISOLATE_OFF,
	TANDEM_ISOLATE_DEDICATED,
	TANDEM_ISOLATE_SHARED,
};

/* The aim of sorted's balancing. */
enum tandem_sorted_balance {
	TANDEM_SORTED_BALANCE_SUMS,
	TANDEM_SORTED_BALANCE_VARIETY,
};

/*
 * The mechanisms that settings ask for; loaders set this. It is constant to the verifier, which therefore does not follow the other
 * mechanisms.
 */
const volatile u32 asked;

/* The aims of the base besides time. */
enum tandem_mode {
	TANDEM_MODE_NONE,
	TANDEM_MODE_AUTO,
	TANDEM_MODE_PERFORMANCE,
	TANDEM_MODE_BALANCED,
	TANDEM_MODE_POWERSAVE,
};

const volatile enum tandem_mode mode
	__help("What the scheduler is after besides time: none; performance, nothing else; balanced, energy where that takes no time; powersave, energy; auto, what the machine's user wishes of these.") = TANDEM_MODE_AUTO;

/* The values that a mode can have, as in the kernel's energy_performance_preference. */
enum tandem_preference {
	TANDEM_PREFERENCE_PERFORMANCE,
	TANDEM_PREFERENCE_BALANCED,
	TANDEM_PREFERENCE_POWERSAVE,
};

/*
 * mode=auto: the preference of the machine's user, which the loader finds out and changes while the scheduler runs. It is alone in its
 * section, as a loader writes a section as a whole.
 */
volatile u32 preference SEC(".data.preference") = TANDEM_PREFERENCE_BALANCED;

/* The preference now, where there is a mode. */
static inline u32 preferred(void)
{
	return mode == TANDEM_MODE_AUTO ? preference : mode - TANDEM_MODE_PERFORMANCE;
}

/* The mechanisms. */

const volatile bool all
	__asks(0x3f)
	__needs("update_idle tandem_sched_stat_runtime")
	__help("Turn on all five mechanisms, isolation as shared unless said otherwise.") = false;
const volatile enum tandem_isolate isolate
	__asks(0x21)
	__needs("update_idle")
	__help("Keep operating-system noise on one CPU: off, dedicated (applications stay off it), shared (they may use it).") = TANDEM_ISOLATE_OFF;
const volatile bool longest
	__asks(0x2)
	__needs("update_idle")
	__help("The longest jobs run on the fastest CPUs.") = false;
const volatile bool serial_first
	__asks(0x4)
	__needs("update_idle")
	__help("Serial phases of parallel applications run first, then the senior of several parallel ones.") = false;
const volatile bool sorted
	__asks(0x8)
	__needs("update_idle tandem_sched_stat_runtime")
	__help("Run queues sorted by memory intensity, opposite ways on paired CPUs, in synchronised epochs.") = false;
const volatile bool speed
	__asks(0x30)
	__needs("update_idle tandem_sched_stat_runtime")
	__help("Clocks follow idle and loaded, delayed, and the energy-delay factor of what runs.") = false;

/* isolate */

const volatile s32 os_cpu
	__range("-1..1023") __unit("CPU") __help("The CPU for operating-system noise; -1: the lowest.") = -1;
const volatile u32 os_mhz
	__range("0..20000") __unit("MHz") __help("Clock of that CPU's core; 0: dedicated, what the measured noise needs; shared, the highest.");
const volatile u32 rest_mhz
	__range("0..20000") __unit("MHz") __help("Clock of all other cores; 0: dedicated, the highest; shared, less by what noise takes of the OS CPU.");
const volatile u32 os_load_pct
	__range("1..100") __unit("%") __letter("100: section 2")
	__help("Dedicated, while the OS CPU's clock follows the noise: most that noise may load it.") = 90;
const volatile u32 os_hurry_ms
	__range("0..100") __unit("ms") __letter("0: section 2")
	__help("Dedicated, while that clock follows the noise: after so long at work without a pause it goes up at once; 0: never.") = 25;
const volatile bool noise_preempts
	__letter("true: section 6")
	__help("Noise that wakes takes a shared OS CPU from an application at once, instead of waiting for a tick.") = false;

/* longest */

const volatile bool learn_lengths
	__help("Learn lengths from earlier rounds and runs where a program gives none.")
	__letter("false: section VI; learning is the future work of section VIII") = true;
const volatile bool lock_turns
	__help("Of threads that hand on a lock only as many go around as there are fast CPUs, where that is quicker.")
	__letter("false: section IV only suggests that a lock's holder runs on a fast CPU") = true;

/* serial_first */

const volatile u32 serial_threshold
	__range("1..64") __unit("threads") __help("An application with at most so many ready threads is in a serial phase.") = 2;
const volatile bool serial_single
	__letter("true: section VII")
	__help("Programs that were never parallel count as serial phases, too.");
const volatile u32 serial_memory_ms
	__range("1..3600000") __unit("ms") __help("How long after a parallel phase a serial one counts as such.") = 10000;
const volatile u32 serial_share_pct
	__range("1..100") __unit("%") __letter("100: the end of section VII, which leaves a limit to later work")
	__help("Most CPU time that serial phases may take before others while these wait.") = 50;
const volatile bool serial_turns
	__letter("false: section VII, which names swapping as a remedy")
	__help("Serial phases take turns on the fastest CPUs; else the first one keeps its CPU.") = true;
const volatile u32 seniority_ms
	__range("1..60000") __unit("ms") __help("How long one parallel application is preferred before the next one is; with many of them less, so that all have their turn within " __number(SENIORITY_CYCLE_S) " s.") = 500;
const volatile bool seniority_whole_phase
	__letter("true: section VII")
	__help("Seniority lasts until a parallel phase ends, not only while its threads fill the machine.");

/* sorted */

const volatile u32 sorted_slice_us
	__range("1000..1000000") __unit("us") __help("Slice on the CPU with the longest queue; the others' are longer.")
	__letter("100000: Merkel & Bellosa, section 4.1") = 20000;
const volatile u32 intensity_weight_pct
	__range("1..100") __unit("%") __help("Weight of the last slice in a task's memory intensity.")
	__letter("100: Merkel & Bellosa, section 4.1") = 50;
const volatile bool sorted_always
	__help("Sort whatever threads do to the memory; else only while CPUs move a tenth of what it can.")
	__letter("true: Merkel & Bellosa, section 4.1");
const volatile enum tandem_sorted_balance sorted_balance
	__help("What exchanges between queues are for: sums, as much intensity in each; variety, threads of different intensity in each.")
	__letter("variety: Merkel & Bellosa, section 4.1") = TANDEM_SORTED_BALANCE_SUMS;
const volatile u32 memory_mbps
	__range("0..10000000") __unit("MB/s") __fact("The memory's bandwidth.") __help("Bandwidth of a node's memory; 0: what the machine says; where it does not, edp is inert, and sorted compares with the most that was seen.");

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
	__range("0..1000") __unit("%") __fact("What a lower clock costs compute-bound work.") __letter("140 with a slope of 80, for real programs; 167 with 79, for microbenchmarks: section 4.2")
	__help("Energy-delay factor of compute-bound work at two thirds of the highest clock; 0: from the power of each clock, or 167 and a slope of 79 where that is unknown.");
const volatile u32 edp_slope_pct
	__range("0..1000") __unit("%") __fact("What a lower clock costs memory-bound work.") __letter("80 with a base of 140, 79 with 167: section 4.2")
	__help("How much of that memory-bound work takes off.") = 80;
const volatile u32 edp_slowdown_pct
	__range("0..1000") __unit("%") __letter("1000, no limit: section 4.2")
	__help("Most that a thread's work may take longer for that.") = 5;
const volatile bool memory_turns
	__letter("false: Morad et al., section IX, only named as future work")
	__help("While the memory moves all that it can, threads that wait for it take turns, as few at a time as it takes, and CPUs idle.");
const volatile bool concentrate
	__help("Wake tasks where the clock is high already.")
	__letter("false: Richling et al., only planned under Future Work") = true;

#endif /* __TANDEM_SETTINGS_H */
