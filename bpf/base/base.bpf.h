/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the mechanisms share: tasks, thread groups, CPUs, queues.
 */
#ifndef __TANDEM_H
#define __TANDEM_H

#include "../include/scx.bpf.h"
#include "../settings.bpf.h"
#include "facts.bpf.h"
#include "stats.bpf.h"

enum {
	ENOMEM = 12,
	EINVAL = 22,
	NSEC_PER_USEC = 1000,
	NSEC_PER_MSEC = 1000000,
	NSEC_PER_SEC = 1000000000,
	PF_EXITING = 0x00000004,
	PF_KTHREAD = 0x00200000,
	CLOCK_MONOTONIC = 1,
};

/* Bits of `active`: the mechanisms that are on and not inert. 0: a plain weighted fair scheduler. */
enum mechanism {
	ISOLATE = 1 << 0,
	LONGEST = 1 << 1,
	SERIAL = 1 << 2,
	SORTED = 1 << 3,
	SPEED = 1 << 4,
	/* Not a mechanism: speed or isolation has clocks to set. */
	CLOCKS = 1 << 5,
};

u32 active;

/* Whether one of these was asked for. Settings are constants to the verifier, which does not follow what they turn off. */
static __always_inline bool is_asked(u32 mechanisms)
{
	return all || (mechanisms & (ISOLATE | CLOCKS) && isolate) || (mechanisms & LONGEST && longest) ||
	       (mechanisms & SERIAL && serial_first) || (mechanisms & SORTED && sorted) ||
	       (mechanisms & (SPEED | CLOCKS) && speed);
}

/* Whether one of these is on. `active` says it all, and says it first: with everything off nothing else is looked at. */
static __always_inline bool is_on(u32 mechanisms)
{
	return active & mechanisms && is_asked(mechanisms);
}

/* Whether any mechanism is on. */
static __always_inline bool is_any_on(void)
{
	return active && is_asked(ISOLATE | LONGEST | SERIAL | SORTED | SPEED);
}

/* Queues, in virtual time unless they say otherwise. */
enum queue {
	/* Tasks of no particular merit: all of them if no mechanism says otherwise. */
	QUEUE_NORMAL,
	/* longest: tasks that fast CPUs take first and slow ones last. */
	QUEUE_LONG,
	/* serial: threads in serial phases; those of parallel applications that are not the senior. */
	QUEUE_SERIAL,
	QUEUE_JUNIOR,
	/* isolate: what only the OS CPU may take. */
	QUEUE_SYSTEM,
	/* sorted: one for each CPU, by epoch and intensity. */
	QUEUE_CPU = 1 << 16,
};

/* Where a task may run: isolation's answer. */
enum place {
	/* Where applications may: everywhere, or not on the OS CPU. */
	PLACE_APPLICATION,
	/* Only on the OS CPU. */
	PLACE_SYSTEM,
};

/* Which CPU it should have: longest's and serial's answer. */
enum wish {
	WISH_ANY,
	WISH_FAST,
	/* The next kinds. */
	WISH_MIDDLE,
	WISH_SLOW,
};

/* When it runs: serial's answer. */
enum rank {
	RANK_NORMAL,
	/* Behind the others. */
	RANK_JUNIOR,
	/* Before the others. */
	RANK_SERIAL,
};

/* How long a task is among the threads of its group (longest; length.bpf.h, learn.bpf.h). */
struct job {
	/* Its place in the roster, plus 1; 0: none. */
	u32 at;
	/* The roster was full. */
	bool left_out;
	/* What it wishes, and the roster's generation for which it does. */
	u32 generation;
	enum wish wish;
	/* Its program has said how long it is. */
	bool hinted;
	/* Its work counts: it does it beside others of its group. */
	bool counts;
	/* It was handed a lock that others wait for. */
	bool holder;
	/* It has ended a round of its group and lets the others go on. */
	bool opened;
	/* The group's round in which it began its work. */
	u32 round;
	/* What it has worked since, and when that was brought up to date, ns. */
	u64 work;
	u64 counted;
	/* Work in a round, smoothed; by how much rounds differ from it, smoothed; and what the roster says. 0: unknown. */
	u64 smoothed;
	u64 spread;
	u64 length;
};

/* sorted: when a task has its turn (sorted.bpf.h). */
struct turn {
	/* The CPU in whose queue it waits, plus 1; 0: in none. */
	u32 waits_on;
	/* With which weight and intensity it was counted there. */
	u32 weight;
	u32 intensity;
	/* In which epoch of that queue it has its turn. */
	u64 epoch;
	/* What is left of a turn that was cut short, ns. */
	u64 rest;
	/* Its virtual time, since the queue uses the kernel's field for the order. */
	u64 vtime;
	/* It ran until now, or waited in another CPU's queue: it does not wake. */
	bool over;
	/* It waits in the queue for all CPUs. */
	bool newcomer;
};

/* A task. */
struct task_ctx {
	/* isolate: number of its application, 0 for system tasks. */
	u32 application;
	enum place place;
	/* When it began to run, ns; 0 while it does not. */
	u64 started;
	/* The slice that it was given, ns. */
	u64 slice;
	/* When it was last sent to another CPU as it woke, ns. */
	u64 moved;
	/* What wanted_by of the CPU said where it ran last; it goes there when it is queued the next time. */
	u32 go_to;
	/*
	 * What counters say of it, 0..1024: use of its share of the memory, and the share of its time that it waits for memory
	 * and would at the highest clock; how, see counters.bpf.h.
	 */
	u32 intensity;
	u32 stall;
	/* They have watched it long enough. */
	bool measured;
	/* The same on a scale that is 1024 times as fine; and how long they have watched, ns. */
	u32 fine_intensity;
	u32 fine_stall;
	u64 counted;
	/* speed: when it woke, ns; its work since, ns of the fastest CPU; and of all time how much it needs, of 1024 * 1024. */
	u64 woke;
	u64 did;
	u64 needs;
	/* sorted: its place in a run queue. */
	struct turn turn;
	/* Whether it counts as ready in its group. */
	bool ready;
	/* serial: time of this run that the serial share has paid already, ns. */
	u64 paid;
	/* longest: what its group's roster says of it, and how it works between meetings. */
	struct job job;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} tasks SEC(".maps");

static __always_inline struct task_ctx *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&tasks, p, 0, 0);
}

/* A thread group: what the papers call a program. */
struct group {
	s32 nr_threads;
	/* Threads that run or could. */
	s32 nr_ready;
	/* The number of its parallel phase, among all groups', and when the last one ended, ns; 0: never. */
	u64 parallel_number;
	u64 parallel_until;
	/* serial: its place among those that can fill the machine, plus 1; 0: none. */
	u32 slot;
	/* longest: how often all but one of its threads waited, and how often its roster changed. */
	u32 round;
	u32 generation;
	/* longest: how long its threads keep the locks that they are handed, a mean, ns. */
	u64 hold;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1 << 16);
	__type(key, u32);
	__type(value, struct group);
} groups SEC(".maps");

static __always_inline struct group *group_of(struct task_struct *p)
{
	u32 tgid = p->tgid;

	return bpf_map_lookup_elem(&groups, &tgid);
}

/* Counts a new thread in its group, which its first thread makes. */
static struct group *group_join(struct task_struct *p)
{
	u32 tgid = p->tgid;
	struct group new = {}, *group = group_of(p);

	if (!group) {
		/* Another thread of the group may have been quicker: then that one's stays. */
		bpf_map_update_elem(&groups, &tgid, &new, BPF_NOEXIST);
		group = group_of(p);
	}
	if (group)
		__sync_fetch_and_add(&group->nr_threads, 1);
	return group;
}

/* Its last thread takes a group away. */
static void group_leave(struct task_struct *p)
{
	u32 tgid = p->tgid;
	struct group *group = group_of(p);

	if (group && __sync_fetch_and_sub(&group->nr_threads, 1) == 1)
		bpf_map_delete_elem(&groups, &tgid);
}

/* A CPU. Written by itself only, unless a member says otherwise; others read what may be a moment old. */
struct cpu_ctx {
	/* 0 for the fastest CPUs, 1 for the next, ... */
	u32 kind;
	/* isolate: whether it takes tasks of applications, and of the system. */
	bool takes_applications;
	bool takes_system;
	/* What runs: its process and rank; 0 and RANK_NORMAL if the CPU is idle. */
	u32 pid;
	u32 tgid;
	enum rank rank;
	/* What runs belongs here, or is no application's: another CPU gains nothing by asking for it. */
	bool keeps;
	/* longest: it should have a fast CPU; its place in the roster, plus 1, and the roster's generation for which that holds. */
	bool is_long;
	u32 job_at;
	u32 generation;
	/* A task of higher rank is on its way here. */
	bool claimed;
	/* When it last lost the CPU to a longer one, ns. */
	u64 swapped_at;
	/* serial: a group whose waiting threads now have another rank; 0: none. */
	u32 promote;
	/* How many waiting tasks it has looked at for that: here because the verifier follows what is in registers. */
	u32 promote_seen;
	/* No task runs here. */
	bool idle;
	/* Memory intensity and stall of what runs, as of the task. */
	u32 intensity;
	u32 stall;
	/* Another CPU made its task stop before the end of its slice; written by that one. */
	bool preempted;
	/* A faster CPU that wants what runs here, plus 1, perhaps with WANTED_NOW; others write it. 0: none. */
	u32 wanted_by;
	/*
	 * pull: since when it has had nothing to do but what came from a slower CPU, ns, or 0; the mean of such times; and
	 * whether something is coming, which the slower CPU writes.
	 */
	u64 free_since;
	u64 free_mean;
	bool pulls;
	/* speed: the next CPU with the same clock. */
	u32 next;
	/* The operating point it asks for, plus 1 (others write it, too), and the highest that it may. */
	u32 asked;
	u32 bound;
	/* It is to do so in its next callback; others write this. */
	bool asks;
	/* isolate: it is not on the OS CPU's core, and the others' performance for which bound holds. */
	bool is_rest;
	u32 bound_rest;
	/* isolate: what it had worked when it last went idle, and (the OS CPU's) when the last window ended, ns at its highest clock. */
	u64 worked;
	u64 worked_before;
	/* Not idle, as the governor counts it, and since when, ns. */
	bool loaded;
	u64 loaded_since;
	/* Its clock is high; whoever changes the clock writes it. */
	bool warm;
	/* Whether a task of its own is in the mix of its clock, and with which share of memory. */
	u32 mixed;
	u32 share;
};

enum {
	/* The faster CPU is to leave what it does. */
	WANTED_NOW = 1 << 31,
};

struct cpu_ctx cpu_ctxs[MAX_CPUS];

/* The mask bounds the index in a way that the verifier follows; a number that is no CPU would be a bug. */
static __always_inline struct cpu_ctx *cpu_of(u32 cpu)
{
	return &cpu_ctxs[cpu & (MAX_CPUS - 1)];
}

/*
 * isolate: the other hardware thread of a dedicated OS CPU, plus 1; 0: none. Its core's clock may be low and noise disturbs
 * it (Grant & Afsahi, section 3), so it gets a thread only where no other CPU is idle.
 */
u32 last_resort;

/* How many kinds of CPU there are, by performance. */
u32 nr_kinds;

/* Virtual time of the task that ran with the most. */
u64 vtime_now;

static __always_inline u64 slice_ns(void)
{
	return (u64)slice_us * NSEC_PER_USEC;
}

static __always_inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

enum {
	/* Virtual time by which a task's turn comes after the others' at most, slices. */
	MAX_LEAD = 10,
};

/*
 * The virtual time a task is queued by where the others are at @now. Sleeping saves up no more than a slice. Having run costs
 * no more than MAX_LEAD slices: a slice of SCHED_IDLE's weight is worth a hundred, and behind twenty tasks for each CPU that is
 * forty seconds, while the kernel ejects a scheduler after thirty. So the lowest weights (nice above 10) get more than theirs.
 */
static __always_inline u64 budgeted_from(struct task_struct *p, u64 now)
{
	u64 vtime = p->scx.dsq_vtime, earliest = now - slice_ns(), latest = now + MAX_LEAD * slice_ns();

	if (vtime_before(vtime, earliest))
		return earliest;
	return vtime_before(latest, vtime) ? latest : vtime;
}

static __always_inline u64 budgeted_vtime(struct task_struct *p)
{
	return budgeted_from(p, vtime_now);
}

/*
 * Sends a task to another CPU; with SCX_ENQ_PREEMPT it runs there at once. On the way to another CPU Linux 6.12 loses that
 * flag (enqueue_task_scx takes flags as an int), and the CPU has to be kicked.
 */
static __always_inline void insert_on(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, slice_ns(), enq_flags);
	if (enq_flags & SCX_ENQ_PREEMPT)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/* Whether the task that ran until now could go on. */
static __always_inline bool is_queued(struct task_struct *p)
{
	return p && p->scx.flags & SCX_TASK_QUEUED;
}

static __always_inline bool may_run_on(const struct task_struct *p, u32 cpu)
{
	return bpf_cpumask_test_cpu(cpu, p->cpus_ptr);
}

/* Notes that a task begins to run on this CPU. */
static __always_inline struct cpu_ctx *cpu_runs(struct task_struct *p, struct task_ctx *tctx)
{
	struct cpu_ctx *cctx = cpu_of(bpf_get_smp_processor_id());

	tctx->started = bpf_ktime_get_ns();
	cctx->pid = p->pid;
	cctx->tgid = p->tgid;
	cctx->rank = RANK_NORMAL;
	cctx->is_long = false;
	cctx->keeps = false;
	cctx->job_at = 0;
	cctx->claimed = false;
	cctx->wanted_by = 0;
	cctx->idle = false;
	return cctx;
}

/* Notes that it stops; how long it ran, ns. */
static __always_inline u64 cpu_stops(struct task_struct *p, struct task_ctx *tctx)
{
	struct cpu_ctx *cctx = cpu_of(bpf_get_smp_processor_id());
	u64 ran = tctx->started ? bpf_ktime_get_ns() - tctx->started : 0;

	tctx->started = 0;
	tctx->go_to = cctx->wanted_by;
	cctx->wanted_by = 0;
	cctx->pid = 0;
	return ran;
}

#endif /* __TANDEM_H */
