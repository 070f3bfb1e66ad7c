/* SPDX-License-Identifier: GPL-2.0-only */
/* The base's state of tasks and CPUs. */
#ifndef __TANDEM_QUEUES_STATE_H
#define __TANDEM_QUEUES_STATE_H

#include "../include/scx.bpf.h"

/* A task. Virtual times are those of its line (line.bpf.h). */
struct base_task {
	/* The virtual time at the last charge, and the run time up to then, ns. */
	u64 vtime;
	u64 charged;
	/* When the utilisation was last updated, ns. */
	u64 util_at;
	u8 line;
	/* The virtual time of a nanosecond of work, with WEIGHT_SHIFT bits of fraction; and the weight, 1024 for nice 0. */
	u32 pace;
	u32 weight;
	/* Virtual times: of the task's burst, bounded by REQUEST_MOST, and of the most that sleep saves up. */
	u64 request;
	u64 credit;
	/* The slice while the task waits after its turn, ns. The slice tells the leeway (weight.bpf.h). */
	u32 slice;
	/* The run time since the task woke, and the mean of that over earlier wakeups, ns. */
	u32 ran;
	u32 burst;
	/*
	 * The share of the fastest CPU's time at its highest clock that the task takes, 0..1024; and the estimate of it when the task
	 * last slept.
	 */
	u32 util;
	u32 util_est;
	/* The lowest and the highest utilisation that count when a CPU is chosen (util.bpf.h); 0: there is no clamp. */
	union {
		struct {
			u16 util_least;
			u16 util_most;
		};
		u32 util_clamps;
	};
	/* Run time less work at full performance, ns: since the task woke, and in base_cpu since the CPU was idle. */
	u32 lost;
	/*
	 * When the task began to wait for its control group's next period, ns (held.bpf.h). If earlier than `util_at`, the task has run
	 * since.
	 */
	u64 held_at;
	/* The control group (cgroups.bpf.h), and whether the task counts there as runnable. */
	u16 cgroup;
	bool counted;
	/* The task is of the idle class. */
	bool idles;
	/* The task was on a CPU until now. */
	bool ran_on;
	/* By energy: a faster CPU asked for the task. Cleared when the task sleeps, computes for long, or a fast task misses the CPU. */
	bool pulled;
	/*
	 * The kind of CPU on which the task costs least, how many more times this answer is used, the utilisation for which it was found,
	 * and when, ns.
	 */
	s8 kind;
	u8 kind_again;
	u16 kind_util;
	u64 kind_at;
	/* The CPU of another package that the task was gathered from, plus 1; 0: none (gather.bpf.h). */
	u16 gathered_from;
	/* The CPU that the task is to go to, plus 1, and flags of wanted_by; 0: any. */
	u32 go_to;
	/*
	 * The set of CPUs that the task is confined to, in its line, plus 1, 0 if the task may run everywhere; and the key of the set
	 * (sets.bpf.h).
	 */
	u16 set;
	u64 set_key;
	/*
	 * While the task waits (home.bpf.h): the number of its CPU's note, plus 1, 0 if there is none; and whether it counts as one that
	 * woke.
	 */
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
	/* Of wanted_by: the CPU's running thread is to leave; the CPU is idle and waits for the thread. */
	WANTED_IN_TURN = 1 << 31,
	WANTED_CLAIMED = 1 << 30,
};

/* A CPU, on cache lines of its own. */
struct base_cpu {
	/* The virtual deadline of the running task; and the task's `charged`. */
	u64 deadline;
	u64 charged;
	/* When the CPU's utilisation was last updated; and when the running task began, where CPUs differ, ns. */
	u64 util_at;
	u64 began;
	/* The utilisation, 0..1024, and the last request for a clock. */
	u16 util;
	u16 asked;
	u32 lost;
	/* base_task.burst of the running task, where CPUs differ, ns. */
	u32 burst;
	/* The lowest utilisation of a task for which the CPU is too slow. */
	u16 too_much;
	/* Performance at the highest clock (cpu_facts.capacity). */
	u16 capacity;
	/* By energy: the request for tasks that the CPU asked for; the highest request where energy is the only aim. */
	u16 dear;
	u16 ceiling;
	/* How often the highest clock was asked for again. */
	u8 top_again;
	/* How many CPUs come after this one in cpus_by_speed. */
	u16 slowness;
	/* The CPU's number, and that of the core's other hardware thread, or NO_SIBLING. */
	u16 number;
	u16 sibling;
	/* The line that the CPU dispatches from. A byte is within `lines` without a mask. */
	u8 line;
	/* As cpu_ctx.kind, 0 for the fastest. While the CPU is slowed down this is a slower kind. */
	u8 kind;
	/*
	 * Facts of all CPUs, near at hand: clocks follow utilisation; there are other kinds; tasks' utilisation is needed for either;
	 * CPUs' utilisation is needed, for clocks or for placement by energy.
	 */
	bool has_clock;
	bool has_others;
	bool wants_util;
	bool has_util;
	/* Other CPUs share the clock; there are other lines; there are slower CPUs. */
	bool shares_clock;
	bool has_lines;
	bool has_slower;
	/* By energy: the power that the CPU's cluster draws while idle rises with the clock. */
	bool idles_dear;
	/* By energy: a task taken over from a slower CPU gets the highest clock here, or a clock that the scheduler does not set. */
	bool takes_dear;
	/* The running task may use some CPUs only, or needs little: it does not give its place to a slower CPU's thread. */
	bool keeps;
	/* base_task.pulled of the running task, unless the CPU has been missed since. Other CPUs clear it. */
	bool pulled;
	/* The running task goes on whichever task waits, and counts in `line.nr_held`. */
	bool held;
	/* The next task to begin was taken from a queue. Until it begins, `deadline` is the place of the first task that waited there. */
	bool took;
	/*
	 * Real-time threads, interrupts or heat take much more of this CPU than of others of its kind; the share that they take, of
	 * UTIL_ONE (pressure.bpf.h).
	 */
	bool pressed;
	u16 taken;
	/* A union, so that one load tests both. */
	union {
		struct {
			/* The running task would do better on a faster CPU. */
			bool misfit;
			/* Interrupts or heat make the CPU slower than others of its kind. */
			bool slowed;
		};
		u16 lags;
	};
	/* Rare conditions, in a union so that one load tests all. */
	union {
		struct {
			/* The running task is of the idle class. */
			bool idles;
			/* A task that may not run anywhere else waits. */
			bool has_pinned;
			/* At the next dispatch aged tasks come first (age.bpf.h). */
			bool looks_for_aged;
			/* The running task is to stop, as its control group has used up its quota (limits.bpf.h). */
			bool limited;
		};
		u32 unusual;
	};
	/* Ticks with a waiting task; how many more tasks a search looks at. */
	u16 ticks;
	u16 looks_left;
	/* A faster CPU that wants the running thread, plus 1, and flags. Other CPUs write it. */
	u32 wanted_by;
	/*
	 * The first of the CPUs that share the clock; and, in that one, the idle CPU among them with the highest request. Other CPUs
	 * write the latter.
	 */
	u16 first_mate;
	u16 asks_most;
	/* The running task goes on until its total run time reaches `stays_until`, ns, unless `arrivals` no longer equals the line's. */
	u32 arrivals;
	u64 stays_until;
	/* The running task's total run time when its control group was last charged, ns; and limits_since at that time. */
	u64 limit_charged;
	u32 limit_since;
	/* No faster CPU can be taken by turn before this time, ns (faster.bpf.h). */
	u64 turn_at;
	/* When the preemptions of this CPU so far will have had their turns, ns (preempt.bpf.h). */
	u64 preempt_at;
	/* Where there are other lines: when the CPU went idle, ns, and its line's clock then; 0: the CPU is busy. */
	u64 idle_since;
	u64 idle_clock;
	/* How many tasks waited in the line at the last tick; 0 since the CPU was idle. */
	u16 crowd;
	/* The line where a task waited when another CPU woke this one, plus 1. Other CPUs write it. */
	u16 look_at;
} __attribute__((aligned(64)));

#endif /* __TANDEM_QUEUES_STATE_H */
