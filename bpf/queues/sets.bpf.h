/* SPDX-License-Identifier: GPL-2.0-only */
/* Sets of CPUs that tasks are confined to (affinity, cpusets). Each set has a virtual clock in each line (vclock.bpf.h). */
#ifndef __TANDEM_QUEUES_SETS_H
#define __TANDEM_QUEUES_SETS_H

#include "weight.bpf.h"

enum {
	/* Sets of several CPUs, counted once for each line that tasks of the set have been in. Sets beyond this number share clocks. */
	MAX_SETS = 1024,
	/* How many places a search for a set looks at. */
	SET_PROBES = 8,
	SET_WORDS = MAX_CPUS / 64,
};

struct cpus_set {
	/* Stands for the set and a line; 0: the place is free. */
	u64 key;
	/* The virtual time of the set's task that began to run with the most. */
	u64 vtime;
	/* The mean distance of this clock behind the line's clock, less CLOCKS_NEAR (vclock.bpf.h). */
	u64 far;
};

/* Sets of several CPUs, followed by sets of one CPU each. */
struct cpus_set cpus_sets[MAX_SETS + MAX_CPUS];

static __always_inline struct cpus_set *set_of(struct base_task *task)
{
	u32 number = task->set - 1;

	return &cpus_sets[number < MAX_SETS + MAX_CPUS ? number : 0];
}

static __always_inline u64 set_mix(u64 key, u64 more)
{
	key = (key ^ more) * 0x9e3779b97f4a7c15ULL;
	return key ^ (key >> 29);
}

/* A number that stands for the CPUs that a task may use. */
static __noinline u64 set_key_of(struct task_struct *p)
{
	u64 words[SET_WORDS] = {}, key = 1;
	u32 bytes = (nr_cpus + 63) / 64 * 8;
	s32 at;

	bpf_probe_read_kernel(words, bytes < sizeof(words) ? bytes : sizeof(words), p->cpus_ptr);
	for_range(at, 0, SET_WORDS)
		key = set_mix(key, words[at & (SET_WORDS - 1)]);
	return key;
}

/* The place of a key's set: its own, or the first free one. */
static __noinline u32 set_find(u64 key)
{
	u32 first = key >> 32;
	s32 step;

	for_range(step, 0, SET_PROBES) {
		u32 at = (first + step) & (MAX_SETS - 1);
		u64 *known = &cpus_sets[at].key;

		if (*known == key || (!*known && !__sync_val_compare_and_swap(known, 0, key)))
			return at;
	}
	return first & (MAX_SETS - 1);
}

/* A task that is confined to several CPUs enters a line. */
static __always_inline void set_enter(struct base_task *task, u32 line)
{
	task->set = 1 + set_find(set_mix(task->set_key, line) | 1);
}

/* Notes the CPUs that a task is confined to. */
static __noinline int set_note(struct task_struct *p, struct base_task *task)
{
	task->set = 0;
	task->set_key = 0;
	if (may_run_everywhere(p))
		return 0;
	if (p->nr_cpus_allowed == 1) {
		task->set = 1 + MAX_SETS + (bpf_cpumask_first(p->cpus_ptr) & (MAX_CPUS - 1));
		return 0;
	}
	task->set_key = set_key_of(p);
	set_enter(task, task->line);
	return 0;
}

#endif /* __TANDEM_QUEUES_SETS_H */
