/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of the mechanisms' decisions, by name; and the reasons why a mechanism that was asked for is inert.
 *
 * The object explains each counter and state in words: in declaration tags, as for settings, on members of structures that are named as
 * the enumerators are. Enumerators themselves cannot have tags.
 */
#ifndef __TANDEM_STATE_STATS_H
#define __TANDEM_STATE_STATS_H

#include "../base/state.bpf.h"
#include "../isolate/state.bpf.h"
#include "../longest/state.bpf.h"
#include "../serial/state.bpf.h"
#include "../sorted/state.bpf.h"
#include "../speed/state.bpf.h"

/* Each count is a decision that would have been different without the mechanism. Other counters count the events behind these decisions. */
#define __acts __attribute__((btf_decl_tag("acts")))
/* Why a mechanism is inert, and the remedy. */
#define __inert(why, remedy) __attribute__((btf_decl_tag("why " why "\nremedy " remedy)))

/* All counters. The first word of a name is the mechanism, or the first word of its name. */
#define TANDEM_STATS(sees, acts)	\
	BASE_STATS(sees, acts)		\
	LONGEST_STATS(sees, acts)	\
	SERIAL_STATS(sees, acts)	\
	SORTED_STATS(sees, acts)	\
	ISOLATE_STATS(sees, acts)	\
	SPEED_STATS(sees, acts)

#define __stat(name, text) TANDEM_STAT_##name,
enum tandem_stat {
	TANDEM_STATS(__stat, __stat)
	NR_STATS,
};

#define __sees(name, text) char TANDEM_STAT_##name __help(text);
#define __decides(name, text) char TANDEM_STAT_##name __help(text) __acts;
struct tandem_stat_texts {
	TANDEM_STATS(__sees, __decides)
};

/*
 * The states of a mechanism. If a state has several reasons, the first one holds whose names in braces are all known. The reader fills in
 * these numbers and names of the machine.
 */
#define TANDEM_STATES(state)											\
	state(OFF, )												\
	state(ACTIVE, )												\
	/* Asked for, but inert: */										\
	state(ONE_CPU, __inert("There is one CPU: nothing can be kept apart or put together.",			\
			       "two CPUs or more"))								\
	state(NO_APPLICATIONS,											\
	      __inert("Nobody says what belongs to an application, so that nothing is known to be noise.",	\
		      "a loader that enters applications, as `[applications]` of a scheduler's TOML file does"))	\
	state(ONE_KIND, __inert("All {cpus} CPUs are equally fast, within 5 %: none is the one for the longest job.",	\
				"a machine with CPUs of different speed, or clocks limited to different ones"))	\
	state(NO_COUNTERS,											\
	      __inert("Performance counters cannot be read: what threads do to the memory is not known.",	\
		      "counters that a scheduler can read; not every virtual machine has any"))			\
	state(NO_BANDWIDTH,											\
	      __inert("Nobody says what the memory can move: how much of that threads use is not known.",	\
		      "memory_mbps, or a description of this machine with a measured bandwidth "		\
		      "(`tandem machine detect --measure`, then `--machine FILE`)"))				\
	state(NO_CLOCK,												\
	      __inert("No clock below the highest is one of which the energy-delay factor can be told: their power is not known, and "	\
		      "the paper's line reaches down to two thirds of the highest.",				\
		      "a kernel that knows the power of clocks, or an operating point between two thirds and all of the highest"))	\
	state(NO_CPUFREQ, __inert("The governor {governor} does not follow what a scheduler asks for.",		\
				  "the governor schedutil")							\
			  __inert("None of the {clocks} clocks can be changed.",				\
				  "a machine with a cpufreq driver, and limits that leave several operating points")	\
			  __inert("There is no clock that can be changed.",					\
				  "a machine with a cpufreq driver, and limits that leave several operating points"))

#define __state(name, texts) TANDEM_STATE_##name,
enum tandem_state {
	TANDEM_STATES(__state)
};

#define __says(name, texts) char TANDEM_STATE_##name texts;
struct tandem_state_texts {
	TANDEM_STATES(__says)
};

/* Compilers keep a type only if a variable has it. */
struct {
	enum tandem_stat stat;
	struct tandem_stat_texts stat_texts;
	struct tandem_state_texts state_texts;
} words;

/* Each mechanism's state. The name before `_state` is that of the setting that turns the mechanism on. */
enum tandem_state isolate_state, longest_state, serial_first_state, sorted_state, speed_state;
/* The state of a part of `speed` that more often lacks its input; the part is on by default. */
enum tandem_state edp_state;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, NR_STATS);
} stats SEC(".maps");

static __always_inline void count(u32 stat)
{
	u64 *value = bpf_map_lookup_elem(&stats, &stat);

	if (value)
		(*value)++;
}

#endif /* __TANDEM_STATE_STATS_H */
