/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the base keeps of tasks and CPUs, and what it counts.
 */
#ifndef __TANDEM_QUEUES_STATE_H
#define __TANDEM_QUEUES_STATE_H

#include "../include/scx.bpf.h"

/* A task. Virtual times are those of its line (line.bpf.h). */
struct base_task {
	/* Its virtual time when it was last charged, and what it had run by then, ns. */
	u64 vtime;
	u64 charged;
	/* When its utilisation was brought up to date, ns. */
	u64 util_at;
	u8 line;
	/* Virtual time of a nanosecond of work, with WEIGHT_SHIFT bits of fraction; and its weight, 1024 for nice 0. */
	u32 pace;
	u32 weight;
	/* Virtual times: of what it takes at once, and of the most that sleep saves up. */
	u64 request;
	u64 credit;
	/* What it is given when it has had its turn and waits again, ns: that tells its leeway (weight.bpf.h). */
	u32 slice;
	/* What it has run since it woke, and the mean of that over earlier times, ns. */
	u32 ran;
	u32 burst;
	/* Share of the fastest CPU's time at its highest clock that it takes, 0..1024; and what that was before it slept. */
	u32 util;
	u32 util_est;
	/* Utilisations that it is taken for at least and at most when a CPU is chosen (util.bpf.h); 0: there is no such clamp. */
	union {
		struct {
			u16 util_least;
			u16 util_most;
		};
		u32 util_clamps;
	};
	/* By how much the work since it woke, or since its CPU was idle, was less than the time that it took, ns. */
	u32 lost;
	/* Since when it waits for its control group's next period, ns (held.bpf.h); before `util_at`: it has run since. */
	u64 held_at;
	/* Its control group (cgroups.bpf.h), and whether it is counted there as one that could run. */
	u16 cgroup;
	bool counted;
	/* It is of the idle class. */
	bool idles;
	/* It was on a CPU until now. */
	bool ran_on;
	/* By energy: a faster CPU asked for it, and it has not slept since, or computed for long, nor has the CPU been missed. */
	bool pulled;
	/* The kind of CPU on which it costs least, how often that still holds, for which utilisation it was found, and when, ns. */
	s8 kind;
	u8 kind_again;
	u16 kind_util;
	u64 kind_at;
	/* The CPU of another package that it was gathered from, plus 1; 0: none (gather.bpf.h). */
	u16 gathered_from;
	/* The CPU that it is to go to, plus 1; 0: any. */
	u32 go_to;
	/* The set of CPUs that it is confined to, in its line, plus 1, 0 if it may run everywhere; and what stands for that (sets.bpf.h). */
	u16 set;
	u64 set_key;
	/* While it waits (home.bpf.h): the number of its CPU's note, plus 1, 0 if there is none; it is counted as one that woke. */
	union {
		struct {
			u16 home;
			bool woken;
		};
		u32 waits;
	};
};

enum {
	NO_SIBLING = 0xffff,
	/* Of wanted_by: what runs there is to leave; the CPU is idle and waits for the thread. */
	WANTED_IN_TURN = 1 << 31,
	WANTED_CLAIMED = 1 << 30,
};

/* A CPU, on a cache line of its own. */
struct base_cpu {
	/* Virtual deadline of what runs; and its `charged`. */
	u64 deadline;
	u64 charged;
	/* When the CPU's utilisation was brought up to date; and when what runs began to, where CPUs differ, ns. */
	u64 util_at;
	u64 began;
	/* Utilisation, 0..1024, and what was last asked of the clock. */
	u16 util;
	u16 asked;
	u32 lost;
	/* base_task.burst of what runs, where CPUs differ, ns. */
	u32 burst;
	/* Utilisation of a task for which the CPU is too slow. */
	u16 too_much;
	/* Performance at the highest clock (cpu_facts.capacity). */
	u16 capacity;
	/* By energy: what is asked for tasks that the CPU asked for; the most that is asked, where energy is all. */
	u16 dear;
	u16 ceiling;
	/* How often the highest clock was asked for again. */
	u8 top_again;
	/* How many CPUs come after it in cpus_by_speed. */
	u16 slowness;
	/* The CPU; and the core's other hardware thread, or NO_SIBLING. */
	u16 number;
	u16 sibling;
	/* The line that it looks into; a byte is within `lines` without a mask. */
	u8 line;
	/* As cpu_ctx.kind: 0 for the fastest; another one while it is slowed down. */
	u8 kind;
	/*
	 * What is so for all CPUs, at hand: clocks follow utilisation; there are other kinds; either, so that utilisation is of use; CPUs'
	 * own is: clocks follow it, or placement goes by energy.
	 */
	bool has_clock;
	bool has_others;
	bool wants_util;
	bool has_util;
	/* Other CPUs have its clock, too; there are other lines; there are slower CPUs. */
	bool shares_clock;
	bool has_lines;
	bool has_slower;
	/* By energy: what its cluster draws while idle rises with the clock. */
	bool idles_dear;
	/* By energy: what it takes over from slower CPUs has the highest clock, or one that nobody here chooses. */
	bool takes_dear;
	/* What runs may run on some CPUs only, or needs little: it does not give its place to a slower CPU's thread. */
	bool keeps;
	/* base_task.pulled of what runs, unless the CPU has been missed since; others take it away. */
	bool pulled;
	/* What runs goes on whatever waits, and is counted in `line.nr_held`. */
	bool held;
	/* What begins next was taken from a queue, and `deadline` is meanwhile the place of the first that waited there. */
	bool took;
	/* Real-time threads, interrupts or heat take much of it; how much, of UTIL_ONE (pressure.bpf.h). */
	bool pressed;
	u16 taken;
	/* To be seen at one look, too. */
	union {
		struct {
			/* What runs would do better on a faster CPU. */
			bool misfit;
			/* Interrupts or heat make it slower than others of its kind. */
			bool slowed;
		};
		u16 lags;
	};
	/* What is seldom so, to be seen at one look. */
	union {
		struct {
			/* What runs is of the idle class. */
			bool idles;
			/* Something waits that may run nowhere else. */
			bool has_pinned;
			/* At the next dispatch what is of age comes first (age.bpf.h). */
			bool looks_for_aged;
			/* What runs is to stop: its control group has used up its quota (limits.bpf.h). */
			bool limited;
		};
		u32 unusual;
	};
	/* Ticks with something waiting; how much is still looked at for its age. */
	u16 ticks;
	u16 looks_left;
	/* A faster CPU that wants what runs here, plus 1; others write it. */
	u32 wanted_by;
	/* The first of the CPUs that share its clock; of the first: the idle one among them that asks for most. Others write that. */
	u16 first_mate;
	u16 asks_most;
	/* What runs goes on until it has run so much, ns, unless more than so many have come to wait in the line. */
	u32 arrivals;
	u64 stays_until;
	/* What runs had run so much when its control group was last charged, ns; of which time with limits that is (limits_since). */
	u64 limit_charged;
	u32 limit_since;
	/* Before that no faster CPU can be taken over by turn, ns (faster.bpf.h). */
	u64 turn_at;
	/* Up to when what has taken the CPU as it woke has had its turns, ns (preempt.bpf.h). */
	u64 preempt_at;
	/* Where there are other lines: when the CPU went idle, ns, and its line's clock then; 0: it does not idle. */
	u64 idle_since;
	u64 idle_clock;
	/* How many waited in its line at the last tick; 0 since it was idle. */
	u16 crowd;
	/* The line where something waited when another CPU woke this one, plus 1; others write it. */
	u16 look_at;
} __attribute__((aligned(64)));

#endif /* __TANDEM_QUEUES_STATE_H */
