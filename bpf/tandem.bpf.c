/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tandem: five published mechanisms in one scheduler, each off unless asked for, in any combination.
 *
 *	where may a task run?	isolate/	operating-system noise stays on one CPU
 *	which CPU first?	longest/	the longest job on the fastest CPU
 *	when?			serial/		serial phases first, then seniority
 *	with whom?		sorted/		memory-bound beside compute-bound
 *	how fast?		speed/		clocks follow events, and the energy-delay product
 *
 * Each callback below asks them in this order. With all off queues/ decides alone (docs/base.md), and under them where any is on
 * (over/). With `sorted`, or base=single, tasks of which no mechanism says anything wait in one queue for all CPUs, by weighted
 * virtual time.
 */
#include "base/base.bpf.h"
#include "base/place.bpf.h"
#include "base/counters.bpf.h"
#include "base/pull.bpf.h"
#include "base/trade.bpf.h"
#include "isolate/isolate.bpf.h"
#include "longest/longest.bpf.h"
#include "serial/serial.bpf.h"
#include "sorted/sorted.bpf.h"
#include "speed/speed.bpf.h"
#include "base/ask.bpf.h"
#include "queues/queues.bpf.h"
#include "queues/tick.bpf.h"
#include "over/over.bpf.h"
#include "over/held.bpf.h"
#include "queues/core.bpf.h"
#include "queues/hotplug.bpf.h"
#include "base/check.bpf.h"
#include "base/exit.bpf.h"

char _license[] SEC("license") = "GPL";

/* Sends a task that wakes to such a CPU, if there is one. */
static s32 select_by_mechanism(struct task_struct *p, struct task_ctx *tctx, s32 prev_cpu)
{
	enum rank rank;
	u64 flags = 0;
	s32 cpu;

	if (is_on(LONGEST) && turns_concern(p, tctx))
		return select_by_turns(p, prev_cpu);
	rank = rank_of(p, tctx);
	cpu = find_cpu(p, tctx, rank, wish_of(p, tctx, rank), prev_cpu, &flags);
	if (cpu < 0)
		return prev_cpu;
	if (smt && cpu != prev_cpu)
		tctx->moved = bpf_ktime_get_ns();
	count(TANDEM_STAT_BASE_IDLE);
	dsq_insert(p, SCX_DSQ_LOCAL, slice_ns(), flags);
	return cpu;
}

s32 BPF_STRUCT_OPS(tandem_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *tctx;
	bool is_idle = false;
	s32 cpu;

	if (active & QUEUES_LIMITS && held_wakes(p))
		return prev_cpu;
	if (is_alone())
		return queues_select_cpu(p, prev_cpu, wake_flags);
	if (is_under())
		return over_select_cpu(p, prev_cpu, wake_flags);
	if (is_any_on() && (tctx = task_of(p))) {
		light_wakes(tctx);
		return select_by_mechanism(p, tctx, prev_cpu);
	}
	cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
	if (is_idle) {
		count(TANDEM_STAT_BASE_IDLE);
		dsq_insert(p, SCX_DSQ_LOCAL, slice_ns(), 0);
	}
	return cpu;
}

/* The queue in which a task waits for its turn. */
static __always_inline enum queue queue_of(struct task_ctx *tctx, enum rank rank, enum wish wish)
{
	if (place_of(tctx) == PLACE_SYSTEM)
		return QUEUE_SYSTEM;
	if (rank == RANK_JUNIOR)
		count(TANDEM_STAT_SERIAL_JUNIORS);
	if (rank != RANK_NORMAL)
		return rank == RANK_SERIAL ? QUEUE_SERIAL : QUEUE_JUNIOR;
	return active & LONGEST && wish == WISH_FAST ? QUEUE_LONG : QUEUE_NORMAL;
}

/* Queues a task by virtual time. */
static void insert_by_vtime(struct task_struct *p, enum queue queue, u64 enq_flags)
{
	u64 vtime = budgeted_from(p, active & SORTED ? sorted_base_vtime() : vtime_now);

	if (active & SORTED && queue == QUEUE_NORMAL)
		sorted_note_newcomer(vtime);
	dsq_insert_vtime(p, queue, slice_ns(), vtime, enq_flags);
}

/* Queues a task where its mechanisms want it, and sees to it that a CPU which could run it at once hears of it. */
static void enqueue_by_mechanism(struct task_struct *p, struct task_ctx *tctx, u64 enq_flags)
{
	enum rank rank = rank_of(p, tctx);
	enum wish wish = wish_of(p, tctx, rank);
	s32 cpu = scx_bpf_task_cpu(p), idle;
	bool last = enq_flags & SCX_ENQ_LAST && place_fits(place_of(tctx), cpu);

	if (pull_moves(p, tctx, enq_flags))
		return;
	if (wish == WISH_FAST && !(last && !cpu_of(cpu)->kind) && goes_to_fast(p, tctx, rank, cpu, enq_flags))
		return;
	if (active & (SERIAL | LONGEST | SORTED) && wish == WISH_ANY && pull_goes_up(p, tctx, enq_flags))
		return;
	/* No other task wants the CPU. */
	if (last && wish == WISH_ANY && counters_work && trade_up(p, tctx, enq_flags))
		return;
	if (last) {
		dsq_insert(p, SCX_DSQ_LOCAL, slice_ns(), enq_flags);
		return;
	}
	if (!(is_on(SORTED) && place_of(tctx) == PLACE_APPLICATION && rank == RANK_NORMAL &&
	      sorted_enqueue(p, tctx, wish, enq_flags)))
		insert_by_vtime(p, queue_of(tctx, rank, wish), enq_flags);
	idle = pick_idle(p, tctx, cpu, wish);
	if (idle >= 0)
		scx_bpf_kick_cpu(idle, SCX_KICK_IDLE);
	else if (active & ISOLATE)
		isolate_preempt(tctx);
}

/* Queues a task of which nothing is known while mechanisms are on, where a CPU that it may use looks. */
static void enqueue_unknown(struct task_struct *p, u64 enq_flags)
{
	if (enq_flags & SCX_ENQ_LAST)
		dsq_insert(p, SCX_DSQ_LOCAL, slice_ns(), enq_flags);
	else
		insert_by_vtime(p, active & ISOLATE && isolate_is_bound(p) ? QUEUE_SYSTEM : QUEUE_NORMAL, enq_flags);
}

/* Whether a task waits elsewhere than where it is due: what is seldom so. */
static __noinline int is_taken(struct task_struct *p)
{
	return (active & CPUS_GONE && hotplug_takes(p)) || (active & QUEUES_LIMITS && held_takes(p));
}

void BPF_STRUCT_OPS(tandem_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx;

	if (active & (QUEUES_LIMITS | CPUS_GONE) && is_taken(p))
		return;
	if (is_alone()) {
		queues_enqueue(p, enq_flags);
		return;
	}
	if (is_under()) {
		over_enqueue(p, enq_flags);
		return;
	}
	count(TANDEM_STAT_BASE_QUEUED);
	if (is_any_on()) {
		tctx = task_of(p);
		if (tctx)
			enqueue_by_mechanism(p, tctx, enq_flags);
		else
			enqueue_unknown(p, enq_flags);
	} else if (enq_flags & SCX_ENQ_LAST) {
		dsq_insert(p, SCX_DSQ_LOCAL, slice_ns(), enq_flags);
	} else {
		dsq_insert_vtime(p, QUEUE_NORMAL, slice_ns(), budgeted_vtime(p), enq_flags);
	}
}

/* Gives a CPU what its mechanisms want it to run next; whether there was something. */
static bool dispatch_by_mechanism(s32 cpu, struct task_struct *prev)
{
	struct cpu_ctx *cctx = cpu_of(cpu);

	if (active & ISOLATE && cctx->isolate.takes_system && dsq_move_to_local(QUEUE_SYSTEM))
		return true;
	if (!cctx->isolate.takes_applications)
		return false;
	if (is_on(LONGEST) && turns_dispatch(cctx))
		return true;
	if (is_on(SERIAL) && serial_dispatch(cpu, prev))
		return true;
	if (is_on(LONGEST) && longest_dispatch(cctx))
		return true;
	/* Without a senior there are no juniors; those that still wait as such have waited for longest. */
	if (active & SERIAL && !senior && dsq_move_to_local(QUEUE_JUNIOR))
		return true;
	if (is_on(SORTED) && sorted_dispatch(cpu, prev))
		return true;
	if (dsq_move_to_local(QUEUE_NORMAL))
		return true;
	if (active & LONGEST && dsq_move_to_local(QUEUE_LONG))
		return true;
	return active & SERIAL && (dsq_move_to_local(QUEUE_JUNIOR) || dsq_move_to_local(QUEUE_SERIAL));
}

/*
 * Lets a task with no other behind it simply go on, if it belongs here. A task that a faster CPU wants, or could want, is
 * queued as the last one and may go elsewhere from there; so is a task on the wrong CPU, and noise, whose time is summed up
 * when it stops. That costs two switches and an idle state: Linux 6.12 goes to the idle task before it queues the last one.
 */
static void go_on(struct cpu_ctx *cctx, struct task_struct *prev)
{
	struct task_ctx *tctx;

	if (!is_queued(prev) || cctx->kind || cctx->wanted_by || (active & ISOLATE && cctx->isolate.takes_system))
		return;
	tctx = task_of(prev);
	if (!tctx || place_of(tctx) != PLACE_APPLICATION)
		return;
	prev->scx.slice = slice_ns();
	tctx->slice += slice_ns();
}

void BPF_STRUCT_OPS(tandem_dispatch, s32 cpu, struct task_struct *prev)
{
	if (is_alone()) {
		queues_dispatch(cpu, prev);
		return;
	}
	if (is_under()) {
		over_dispatch(cpu, prev);
		return;
	}
	if (!is_any_on()) {
		dsq_move_to_local(QUEUE_NORMAL);
		return;
	}
	if (active & CLOCKS)
		clock_catch_up(cpu);
	if (dispatch_by_mechanism(cpu, prev))
		return;
	if (is_on(CLOCKS) && is_queued(prev))
		speed_continues(prev);
	go_on(cpu_of(cpu), prev);
	/* The CPU has nothing to do: a slower one's thread may do better here. */
	if (!is_queued(prev) && cpu_of(cpu)->isolate.takes_applications)
		pull_running(cpu);
}

void BPF_STRUCT_OPS(tandem_runnable, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx;

	if (!(active & (QUEUES_GROUPS | SERIAL | LONGEST)))
		return;
	if (is_alone())
		queues_runnable(p);
	else if (is_under())
		over_runnable(p, enq_flags);
	else if ((tctx = task_of(p)))
		group_hears_runnable(p, tctx, enq_flags);
}

/*
 * Virtual time goes forward as tasks begin to run. CPUs may do this at the same time and one step may be lost, which the next
 * makes good.
 */
static __always_inline void advance_vtime(struct task_struct *p)
{
	if (vtime_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
}

void BPF_STRUCT_OPS(tandem_running, struct task_struct *p)
{
	struct task_ctx *tctx;
	struct cpu_ctx *cctx;

	if (is_alone()) {
		queues_running(p);
		return;
	}
	if (is_under()) {
		over_running(p);
		return;
	}
	if (!is_any_on()) {
		advance_vtime(p);
		return;
	}
	tctx = task_of(p);
	if (!tctx) {
		advance_vtime(p);
		if (is_on(CLOCKS))
			speed_running(0);
		return;
	}
	cctx = cpu_runs(p, tctx);
	cctx->keeps = place_of(tctx) != PLACE_APPLICATION || p->nr_cpus_allowed == 1 || must_stay(p);
	if (is_on(SORTED))
		sorted_running(p, tctx);
	advance_vtime(p);
	if (active & ISOLATE)
		isolate_running(tctx, cctx);
	if (is_on(SERIAL))
		cctx->rank = rank_of(p, tctx);
	if (is_on(LONGEST))
		longest_running(p, tctx, cctx);
	if (cctx->rank == RANK_NORMAL && !cctx->longest.is_long && light_stays(tctx, cctx))
		cctx->keeps = true;
	if (counters_work)
		counters_running(tctx);
	if (is_on(CLOCKS))
		speed_running(tctx);
}

void BPF_STRUCT_OPS(tandem_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *tctx;
	u64 ran;

	if (is_alone()) {
		queues_stopping(p, runnable);
		return;
	}
	if (is_under()) {
		over_stopping(p, runnable);
		return;
	}
	if (!is_any_on() || !(tctx = task_of(p))) {
		/* A task that yields is charged its whole slice. */
		p->scx.dsq_vtime += (slice_ns() - p->scx.slice) * 100 / p->scx.weight;
		return;
	}
	ran = cpu_stops(cpu_of(bpf_get_smp_processor_id()), tctx);
	pull_stopping(cpu_of(bpf_get_smp_processor_id()));
	p->scx.dsq_vtime += (active & SERIAL ? seniority_charge(p, ran) : ran) * 100 / p->scx.weight;
	if (is_on(LONGEST))
		longest_stopping(p, tctx, ran);
	if (is_on(SERIAL))
		serial_stopping(tctx, cpu_of(bpf_get_smp_processor_id()), ran);
	if (is_on(SORTED))
		sorted_stopping(p, tctx, ran, runnable);
	if (is_on(CLOCKS))
		speed_stopping(tctx, ran);
}

void BPF_STRUCT_OPS(tandem_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *tctx;

	if (!(active & (QUEUES_GROUPS | SERIAL | LONGEST | SORTED)))
		return;
	if (is_alone()) {
		queues_quiescent(p);
		return;
	}
	if (is_under()) {
		over_quiescent(p, deq_flags);
		return;
	}
	tctx = task_of(p);
	if (!tctx)
		return;
	if (is_on(SORTED))
		sorted_quiescent(p, tctx);
	group_hears_quiescent(p, tctx, deq_flags);
}

void BPF_STRUCT_OPS(tandem_update_idle, s32 cpu, bool idle)
{
	u32 on = mechanisms_on();

	if (is_alone())
		return;
	/* Over the base of several queues only hardware threads ask each other, and pairs. */
	if (smt || on & SORTED || !is_on_queues())
		cpu_of(cpu)->idle = idle;
	if (!is_on_queues() && nr_kinds > 1)
		pull_update_idle(cpu_of(cpu), idle);
	if (idle && counters_work)
		counters_idle(cpu);
	if (on & CLOCKS)
		speed_update_idle(cpu, idle);
}

/*
 * Not an op, but called at each tick and before a task leaves its CPU, ahead of `stopping`, on that CPU: here performance
 * counters can be read. A task's times that another CPU asks for come by here, too, and are left alone.
 */
SEC("tp_btf/sched_stat_runtime")
int BPF_PROG(tandem_sched_stat_runtime, struct task_struct *p, u64 ran)
{
	u32 cpu = bpf_get_smp_processor_id() & (MAX_CPUS - 1);

	if ((!counters_wanted && cpuperf_locks) || scx_bpf_task_cpu(p) != cpu)
		return 0;
	clock_catch_up(cpu);
	if (counters_wanted && counters_count(p, cpu, ran) && is_on(SORTED))
		pair_count_mix(cpu);
	return 0;
}

/*
 * A real-time task takes the CPU: what was sent to it, or ran there, is queued anew, and may run elsewhere meanwhile.
 */
void BPF_STRUCT_OPS(tandem_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	bool *under_way = &releasing[cpu & (MAX_CPUS - 1)];

	pressure_released(cpu);
	*under_way = true;
	scx_bpf_reenqueue_local();
	*under_way = false;
}

/* The same on kernels that warn of the callback: loaders take this in its place (reenqueues_anywhere). */
SEC("tp_btf/sched_switch")
int BPF_PROG(tandem_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (next->prio >= MAX_RT_PRIO || prev->prio < MAX_RT_PRIO || !bpf_ksym_exists(scx_bpf_reenqueue_local___v2___new))
		return 0;
	pressure_released(bpf_get_smp_processor_id());
	scx_bpf_reenqueue_local___v2___new();
	return 0;
}

s32 BPF_STRUCT_OPS(tandem_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *tctx;
	struct group *group;
	u32 application;

	if (is_alone()) {
		queues_init_task(p, args);
		return 0;
	}
	/* sorted becomes active with the first counters. */
	if (!is_any_on() && !sorted_wanted)
		return 0;
	/* An error would be the fork's: where there is no room, a task is scheduled without what needs it. */
	application = isolate_application(p, args->fork);
	if (is_on_queues())
		queues_init_task(p, args);
	tctx = is_on_queues() ? task_of(p) : task_make(p);
	if (!tctx) {
		if (!is_on_queues())
			count(TANDEM_STAT_BASE_UNKNOWN);
		return 0;
	}
	tctx->isolate.application = application;
	tctx->isolate.place = isolate_place(p, tctx);
	group = group_join(p, tctx);
	if (!group)
		return 0;
	if (is_on(SERIAL))
		serial_init_task(p, group);
	if (is_on(LONGEST))
		longest_init_task(p, tctx, group, args->fork);
	return 0;
}

/* What a group loses with a thread; its last one takes it away. */
static void leave_group(struct task_struct *p, struct task_ctx *tctx, struct group *group)
{
	u32 change = phase_quiescent(tctx, group);

	if (is_on(SERIAL) && change)
		serial_phase_changed(p, group, change);
	if (is_on(LONGEST))
		longest_exit_task(p, tctx, group);
	if (is_on(SERIAL) && group->nr_threads <= 1)
		seniority_leave(group, p->tgid);
	/* Where the scheduler goes and the task stays, the next one wants to know. */
	if (p->flags & PF_EXITING && group->nr_threads <= 1)
		isolate_leave(p);
}

void BPF_STRUCT_OPS(tandem_exit_task, struct task_struct *p, struct scx_exit_task_args *args)
{
	struct task_ctx *tctx = task_of(p);
	struct group *group;

	if (is_on_queues())
		queues_exit_task(tctx);
	if (is_alone())
		return;
	group = tctx ? group_of(p, tctx) : 0;
	if (group) {
		leave_group(p, tctx, group);
		group_leave(p, tctx, group);
	} else if (p->flags & PF_EXITING && p->pid == p->tgid) {
		/* Nobody counts the threads: the first one's object goes when all others have ended. */
		isolate_leave(p);
	}
}

void BPF_STRUCT_OPS(tandem_enable, struct task_struct *p)
{
	if (is_on_queues()) {
		queues_enable(p);
		return;
	}
	p->scx.dsq_vtime = vtime_now;
}

void BPF_STRUCT_OPS(tandem_set_cpumask, struct task_struct *p, const struct cpumask *cpumask)
{
	struct task_ctx *tctx;

	if (is_on_queues())
		queues_set_weight(p);
	if (!is_alone() && (tctx = task_of(p)))
		tctx->isolate.place = isolate_place(p, tctx);
}

void BPF_STRUCT_OPS(tandem_tick, struct task_struct *p)
{
	if (active & QUEUES_GROUPS)
		held_tick(p);
	if (is_alone())
		queues_tick(p);
	else if (is_under())
		over_tick(p);
}

void BPF_STRUCT_OPS(tandem_set_weight, struct task_struct *p, u32 weight)
{
	if (is_on_queues())
		queues_set_weight(p);
}

void BPF_STRUCT_OPS(tandem_cgroup_move, struct task_struct *p, struct cgroup *from, struct cgroup *to)
{
	struct task_ctx *tctx = task_of(p);

	if (!tctx)
		return;
	tctx->queues.cgroup = cgroup_number(to);
	queues_set_weight(p);
}

/* Which of two tasks runs where they must not run side by side on one core. Kernels without core scheduling do not ask. */
bool BPF_STRUCT_OPS(tandem_core_sched_before, struct task_struct *a, struct task_struct *b)
{
	return is_on_queues() ? core_before(a, b) : vtime_before(a->scx.dsq_vtime, b->scx.dsq_vtime);
}

/*
 * A CPU goes or comes, and the kernel leaves the scheduler in charge as there are these callbacks. The mechanisms decide by what CPUs
 * there were when they began (which one is for noise, which ones are fast, which are pairs), and begin again.
 */
void BPF_STRUCT_OPS(tandem_cpu_offline, s32 cpu)
{
	hotplug_note(cpu, false);
	if (is_asked(MECHANISMS))
		restart_for(cpu, false);
	else if (is_on_queues())
		hotplug_goes(cpu);
}

void BPF_STRUCT_OPS(tandem_cpu_online, s32 cpu)
{
	hotplug_note(cpu, true);
	if (is_asked(MECHANISMS))
		restart_for(cpu, true);
	else if (is_on_queues())
		hotplug_comes(cpu);
}

static s32 create_queues(void)
{
	s32 queue, err;

	for_range(queue, QUEUE_NORMAL, QUEUE_SYSTEM + 1) {
		err = scx_bpf_create_dsq(queue, -1);
		if (err)
			return err;
	}
	return sorted_create_queues();
}

/* What lies under the mechanisms that act: the base of several queues, alone if none does. */
static s32 init_base(void)
{
	s32 err;

	if (!is_on_queues())
		return 0;
	active |= (active ? QUEUES : QUEUES | ALONE) | (nr_cgroups ? QUEUES_GROUPS : 0) | (nr_limits ? QUEUES_LIMITS : 0);
	err = queues_init() ?: hotplug_init() ?: held_init();
	ranked_init();
	return err;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(tandem_init)
{
	s32 err;

	if (check_settings()) {
		scx_error("%s", (u64)problem);
		return -EINVAL;
	}
	place_find_kinds();
	if (is_bare()) {
		isolate_init();
		return place_init() ?: init_base();
	}
	pull_init();
	isolate_init();
	phase_init();
	longest_init();
	serial_init();
	sorted_init();
	err = place_init() ?: speed_init();
	if (err)
		return err;
	err = init_base();
	/* The tracepoint is attached already: from now on counters may begin on any CPU, and wake what waits for them. */
	barrier();
	counters_init();
	return err ?: create_queues();
}

SCX_OPS_DEFINE(tandem_ops,
	       .select_cpu		= (void *)tandem_select_cpu,
	       .enqueue			= (void *)tandem_enqueue,
	       .dispatch		= (void *)tandem_dispatch,
	       .runnable		= (void *)tandem_runnable,
	       .running			= (void *)tandem_running,
	       .stopping		= (void *)tandem_stopping,
	       .quiescent		= (void *)tandem_quiescent,
	       .tick			= (void *)tandem_tick,
	       .core_sched_before	= (void *)tandem_core_sched_before,
	       .set_weight		= (void *)tandem_set_weight,
	       .cgroup_init		= (void *)tandem_cgroup_init,
	       .cgroup_exit		= (void *)tandem_cgroup_exit,
	       .cgroup_move		= (void *)tandem_cgroup_move,
	       .cgroup_set_weight	= (void *)tandem_cgroup_set_weight,
	       .cgroup_set_bandwidth	= (void *)tandem_cgroup_set_bandwidth,
	       .cgroup_set_idle		= (void *)tandem_cgroup_set_idle,
	       .update_idle		= (void *)tandem_update_idle,
	       .cpu_release		= (void *)tandem_cpu_release,
	       .set_cpumask		= (void *)tandem_set_cpumask,
	       .cpu_online		= (void *)tandem_cpu_online,
	       .cpu_offline		= (void *)tandem_cpu_offline,
	       .init_task		= (void *)tandem_init_task,
	       .exit_task		= (void *)tandem_exit_task,
	       .enable			= (void *)tandem_enable,
	       .init			= (void *)tandem_init,
	       .exit			= (void *)tandem_exit,
	       .flags			= SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name			= "tandem");
