/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilisation of tasks and CPUs, and the clock that a utilisation needs, where CPUs differ or have clocks that can be set.
 *
 * Utilisation is the kernel's (kernel/sched/pelt.c), independent of the CPU and its clock, and halves in 2^25 ns. Between halvings a
 * parabola stands for the exponential function, within 0.3 % of it. A task's work counts as in the kernel's pelt clock, which is slower
 * on a slower CPU. The time that the pelt clock loses counts as sleep afterwards: a task's lost time when the task sleeps, a CPU's when
 * the CPU is idle (update_rq_clock_pelt). Time in which a task waits counts as sleep, except for a wait for its control group's next
 * period (util_release). schedutil adds a quarter to a request.
 */
#ifndef __TANDEM_CLOCKS_UTIL_H
#define __TANDEM_CLOCKS_UTIL_H

#include "../state/bits.bpf.h"
#include "../queues/line.bpf.h"

enum {
	UTIL_ONE = 1024,
	/* By energy: a task that needs longer than this at once, ns, asks for a sixteenth less. */
	UTIL_SPARES_NS = NSEC_PER_MSEC,
	UTIL_SPARES_SHIFT = 4,
	/*
	 * Where energy is the only aim, every task asks for a quarter less, which is the quarter that schedutil adds. A CPU with less
	 * than an eighth of its performance to spare asks for no less.
	 */
	UTIL_SAVES_SHIFT = 2,
	UTIL_FULL_SHIFT = 3,
	/* Numbers of busy CPUs are told apart by this many powers of two. */
	UTIL_CROWDS = 8,
	/* A too_much that no utilisation reaches. */
	TOO_MUCH_NEVER = 0xffff,
	HALF_LIFE_SHIFT = 25,
	/*
	 * The time that changes a utilisation by about one, ns. Shorter work counts as this much, with a probability of its share of this
	 * time.
	 */
	UTIL_LEAST_NS = 1 << (HALF_LIFE_SHIFT + 1 - 10),
	UTIL_LEAST_DITHER = 9 + 10,
	/* After this long an idle CPU asks for a lower clock, ns: its utilisation has halved. */
	IDLE_LONG_NS = 1 << HALF_LIFE_SHIFT,
	/*
	 * A task that computes for longer than this, ns, keeps a CPU that asked for it to itself. Threads that meet at barriers do not
	 * compute for so long.
	 */
	PULLED_MOST_NS = 200 * NSEC_PER_MSEC,
	/*
	 * From this request on schedutil gives the highest clock. Where limits hold the clock down, the CPU repeats the request this
	 * often only.
	 */
	UTIL_TOP = UTIL_ONE * 4 / 5,
	TOP_AGAIN = 8,
	/* The bits of uclamp_se that hold the value. */
	UTIL_CLAMP_BITS = 2 * UTIL_ONE - 1,
	/* A CPU asks for a new clock when its need changes by an eighth. */
	ASK_SHIFT = 3,
};

/* How many CPUs run a misfit, a task that would do better on a faster CPU; and which CPUs, 64 to a word, the slowest first. */
s32 nr_misfits;
u64 misfit_cpus[MAX_CPUS / 64];

/* The share that a utilisation loses in @ns, less than a halving, with 35 bits of fraction: 1 - 2^-x is near x (0.672 - 0.172 x). */
static __always_inline u64 util_share_lost(u64 ns)
{
	return ns * (688 - (ns * 176 >> HALF_LIFE_SHIFT));
}

/*
 * A pseudo-random number that rounds up a share of a utilisation as often as its fraction is large: part of the time, times 2^64 over the
 * golden ratio. With rounding down, the utilisation of a task that sleeps for a millisecond at a time would never fall below 48.
 */
static __always_inline u64 util_dither(u64 now)
{
	return (now * 0x9e3779b97f4a7c15ULL) >> (64 - (HALF_LIFE_SHIFT + 10));
}

/* The part of @value that is lost with @share, rounded by @dither. */
static __always_inline u32 util_lost_by(u32 value, u64 share, u64 dither)
{
	return (value * share + dither) >> (HALF_LIFE_SHIFT + 10);
}

/* The part of @value that is lost in @ns, less than a halving, until @now. */
static __always_inline u32 util_lost(u32 value, u64 ns, u64 now)
{
	return util_lost_by(value, util_share_lost(ns), util_dither(now));
}

/* The part of @value that is left after @ns, which may be any time. */
static __noinline u32 util_decayed(u32 value, u64 ns)
{
	u64 halvings = ns >> HALF_LIFE_SHIFT;

	if (halvings >= 10)
		return 0;
	value >>= halvings;
	return value - util_lost_by(value, util_share_lost(ns & ((1 << HALF_LIFE_SHIFT) - 1)), 0);
}

static __always_inline u32 util_of(struct base_task *task)
{
	return task->util > task->util_est ? task->util : task->util_est;
}

/*
 * Notes a task's clamps (uclamp). schedutil bounds the requests of CPUs by clamps; here clamps tell which CPUs are fast enough. As in the
 * kernel (util_fits_cpu), the capacity must be no less than the lower clamp. A capacity no less than the upper clamp is enough, however
 * much the task needs. Both clamps leave a fifth to spare, as utilisations have to. Until any task of the machine has a clamp, the kernel
 * keeps both clamps of all tasks at 0.
 */
static __always_inline void util_note_clamps(struct task_struct *p, struct base_task *task)
{
	u32 least, most;

	if (!bpf_core_field_exists(p->uclamp))
		return;
	/* The values are bit fields, and loaders do not relocate loads of bit fields. So the words that hold the values are read. */
	least = *(const u32 *)&p->uclamp[UCLAMP_MIN] & UTIL_CLAMP_BITS;
	most = *(const u32 *)&p->uclamp[UCLAMP_MAX] & UTIL_CLAMP_BITS;
	if (!(least | most) && !task->util_clamps)
		return;
	task->util_least = least ? least * 4 / 5 - 1 : 0;
	task->util_most = most && most < UTIL_ONE ? most * 4 / 5 - 1 : 0;
}

/* The utilisation by which a CPU is chosen for a task. */
static __always_inline u32 util_to_place(struct base_task *task)
{
	u32 util = util_of(task);

	if (!task->util_clamps)
		return util;
	if (util < task->util_least)
		return task->util_least;
	return task->util_most && util > task->util_most ? task->util_most : util;
}

/* By energy: the lowest request for a kind's clock, by how many CPUs of a package are busy: 1, 2, 4 and so on. */
struct util_floors {
	u16 least[UTIL_CROWDS];
};

struct util_floors util_floors[MAX_KINDS];

/* Power is known, and a mode uses it (energy.bpf.h). */
bool energy_known;

const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
void scx_bpf_put_idle_cpumask(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_weight(const struct cpumask *cpumask) __ksym;

/*
 * The lowest request for a CPU's clock. Busy CPUs are taken to be spread over packages evenly. The more CPUs are busy, the lower this is.
 * A request above the highest of these values needs no count of busy CPUs.
 */
static __always_inline u32 util_floor(struct base_cpu *bctx, u32 util)
{
	struct util_floors *floors = &util_floors[bctx->kind & (MAX_KINDS - 1)];
	const struct cpumask *idle;
	u32 busy, crowd, pair;

	if (!energy_known)
		return 0;
	if (!package_power || util >= floors->least[0] || floors->least[0] == floors->least[UTIL_CROWDS - 1])
		return floors->least[0];
	idle = scx_bpf_get_idle_cpumask();
	busy = (nr_cpus - bpf_cpumask_weight(idle)) / (nr_packages ?: 1);
	scx_bpf_put_idle_cpumask(idle);
	/* The power of two at or below the number of busy CPUs. */
	crowd = (busy > 15) << 2;
	busy >>= crowd;
	pair = (busy > 3) << 1;
	busy >>= pair;
	crowd += pair + (busy > 1);
	return floors->least[crowd < UTIL_CROWDS ? crowd : UTIL_CROWDS - 1];
}

/*
 * The request where energy is the only aim: a quarter less, unless the CPU is busy nearly all of the time at its present clock. Otherwise
 * a task that computes without a pause would ask for less and less as it becomes slower. A task that only waits for the work of other
 * tasks would do the same.
 */
static __always_inline u32 util_saved(struct base_cpu *bctx, u32 util)
{
	u32 performance = (scx_bpf_cpuperf_cur(bctx->number) * bctx->capacity) >> 10;

	return util < performance - (performance >> UTIL_FULL_SHIFT) ? util - (util >> UTIL_SAVES_SHIFT) : util;
}

/* The request for a utilisation, by the preference. Without a mode there are no bounds, and the verifier prunes this. */
static __always_inline u32 util_bounded(struct base_cpu *bctx, u32 util)
{
	u32 floor;

	if (mode == TANDEM_MODE_NONE)
		return util;
	if (preferred() == TANDEM_PREFERENCE_PERFORMANCE)
		return UTIL_ONE;
	if (preferred() == TANDEM_PREFERENCE_POWERSAVE) {
		util = util_saved(bctx, util);
		if (bctx->ceiling && util > bctx->ceiling)
			return bctx->ceiling;
	}
	floor = util_floor(bctx, util);
	/* A CPU with next to no utilisation is idle for most of the time at that clock. */
	if (bctx->idles_dear && util < floor / 4)
		return util;
	return util < floor ? floor : util;
}

/*
 * Asks for the clock that a utilisation needs, for this CPU. If the request cannot be made now, the next call makes it. A request of 0
 * would change nothing (clock.bpf.h).
 */
static __always_inline void util_ask_bounded(struct base_cpu *bctx, u32 util)
{
	if (!rq_clock_updated())
		return;
	if (util < UTIL_TOP || bctx->asked < UTIL_TOP)
		bctx->top_again = 0;
	else if (bctx->top_again < TOP_AGAIN)
		bctx->top_again++;
	bctx->asked = util ?: 1;
	scx_bpf_cpuperf_set(bctx->number, bctx->asked < UTIL_ONE ? bctx->asked : UTIL_ONE);
}

static __always_inline void util_ask_again(struct base_cpu *bctx, u32 util)
{
	util_ask_bounded(bctx, util_bounded(bctx, util));
}

/*
 * The request of a CPU with a utilisation and waiting tasks, which would run there if they could (cpu_util_cfs_boost of
 * kernel/sched/fair.c).
 */
static __always_inline u32 util_boosted(struct base_cpu *bctx, u32 util)
{
	u32 cpus = line_at(bctx->line)->nr_cpus;

	return bctx->crowd < cpus ? util + util * bctx->crowd / cpus : 2 * util;
}

/* Asks as util_ask_again does, unless the last request was about the same. For CPUs whose clocks follow utilisation. */
static __always_inline void util_ask(struct base_cpu *bctx, u32 util)
{
	u32 apart;

	util = util_bounded(bctx, util);
	apart = util > bctx->asked ? util - bctx->asked : bctx->asked - util;
	if (bctx->asked && apart <= bctx->asked >> ASK_SHIFT)
		return;
	util_ask_bounded(bctx, util);
}

/* Whether a CPU is fast enough for a utilisation. */
static __always_inline bool util_fits(u32 util, struct base_cpu *bctx)
{
	return util < bctx->too_much;
}

static __noinline void util_change_misfit(struct base_cpu *bctx, bool misfit)
{
	bctx->misfit = misfit;
	__sync_fetch_and_xor(&misfit_cpus[(bctx->slowness / 64) & (MAX_CPUS / 64 - 1)], 1ULL << (bctx->slowness & 63));
	__sync_fetch_and_add(&nr_misfits, misfit ? 1 : -1);
}

/* Notes whether a CPU's running task would do better on a faster CPU, and may move there. */
static __always_inline void util_note_misfit(struct task_struct *p, u32 util, struct base_cpu *bctx)
{
	bool misfit = !util_fits(util, bctx) && may_run_everywhere(p) && !cpu_runs_noise(bctx->number);

	if (misfit != bctx->misfit)
		util_change_misfit(bctx, misfit);
}

/*
 * Notes the running task as a misfit for a mechanism, however little the task needs. A task may become a misfit while it runs, as the
 * last thread of a group does that goes on while the others sleep.
 */
static __always_inline void util_note_ranked(struct task_struct *p, struct base_cpu *bctx)
{
	if (bctx->kind && !bctx->misfit && may_run_everywhere(p))
		util_change_misfit(bctx, true);
}

/* Where CPUs differ: notes facts of a running task for other CPUs. */
static __always_inline void util_note_kind(struct task_struct *p, u32 util, struct base_cpu *bctx)
{
	if (bctx->has_slower)
		bctx->keeps = util < UTIL_ONE / 2 || !may_run_everywhere(p);
	if (bctx->kind)
		util_note_misfit(p, util, bctx);
}

/*
 * The utilisation to ask for while a task runs. A misfit that a faster CPU took over runs there in addition to that CPU's own tasks, and
 * its work is not to cost much more than the mean. By energy, a task that needs more than a millisecond at once asks for a little less,
 * as schedutil's spare quarter is much for it. A task that needs less is often one of many that wait for each other, and all of them
 * would be later.
 */
static __always_inline u32 util_wanted(struct base_task *task, struct base_cpu *bctx, u32 util)
{
	if (bctx->util > util)
		util = bctx->util;
	if (bctx->crowd)
		return util_boosted(bctx, util);
	if (bctx->pulled)
		return bctx->dear;
	return energy_known && task->burst > UTIL_SPARES_NS ? util - (util >> UTIL_SPARES_SHIFT) : util;
}

/* A CPU goes idle. Of the idle CPUs that share a clock, the one with the highest request is noted. */
static __always_inline void util_note_idle(struct base_cpu *bctx)
{
	struct base_cpu *first = base_cpu_of(bctx->first_mate), *noted = base_cpu_of(first->asks_most);

	if (noted->deadline || bctx->asked >= noted->asked)
		first->asks_most = bctx->number;
}

/*
 * Wakes a CPU that has long been idle, shares this CPU's clock, and still asks for a higher clock than this busy CPU does. The idle CPU
 * then asks for a lower clock, and goes back to sleep. No other CPU may ask for it (clock.bpf.h). If all CPUs are idle, the clock makes
 * little difference.
 */
static __always_inline void util_nudge(struct base_cpu *bctx)
{
	struct base_cpu *noted = base_cpu_of(base_cpu_of(bctx->first_mate)->asks_most);

	if (!noted->deadline && noted->asked > bctx->asked && bpf_ktime_get_ns() - noted->util_at > IDLE_LONG_NS)
		scx_bpf_kick_cpu(noted->number, SCX_KICK_IDLE);
}

/* A task begins to run. */
static __always_inline void util_running(struct task_struct *p, struct base_task *task, struct base_cpu *bctx)
{
	u64 now = bpf_ktime_get_ns(), slept = now - task->util_at, idle = now - bctx->util_at;

	bctx->util_at = now;
	/* As much as the kernel gives a new task on an idle CPU (post_init_entity_util_avg). */
	if (!task->util_at)
		task->util = bctx->capacity / 2;
	else if (slept >> HALF_LIFE_SHIFT)
		task->util = util_decayed(task->util, slept);
	else
		task->util -= util_lost(task->util, slept, now);
	if (bctx->has_others) {
		bctx->began = now;
		util_note_clamps(p, task);
		util_note_kind(p, util_to_place(task), bctx);
		bctx->burst = task->burst;
	}
	if (!bctx->has_util)
		return;
	bctx->pulled = task->pulled;
	if (idle >> HALF_LIFE_SHIFT)
		bctx->util = util_decayed(bctx->util, idle);
	else if (idle >= UTIL_LEAST_NS)
		bctx->util -= util_lost(bctx->util, idle, now);
	/*
	 * A task that is new, or comes from another CPU, brings its utilisation along (attach_entity_load_avg). With a mode it does not:
	 * the clock that stays high after the task costs energy, 0.8 % in the mean of the choosing half, for responses that are no
	 * shorter (docs/base.md).
	 */
	if (mode == TANDEM_MODE_NONE && task->util > bctx->util)
		bctx->util = task->util;
	/* Where tasks wait, the CPU is busy from tick to tick, and ticks ask. */
	if (bctx->has_clock && !bctx->crowd)
		util_ask(bctx, util_wanted(task, bctx, util_of(task)));
	if (bctx->shares_clock)
		util_nudge(bctx);
}

static __noinline void util_grow_long(struct base_task *task, struct base_cpu *bctx, u64 ns)
{
	task->util = UTIL_ONE - util_decayed(UTIL_ONE - task->util, ns);
	if (bctx->pulled)
		bctx->util = util_decayed(bctx->util, ns);
	else
		bctx->util = UTIL_ONE - util_decayed(UTIL_ONE - bctx->util, ns);
}

/* Raises utilisations by work of @ns at full performance, until @now. */
static __always_inline void util_grow(struct base_task *task, struct base_cpu *bctx, u64 ns, u64 now)
{
	u64 share, dither = util_dither(now);

	if (ns >> HALF_LIFE_SHIFT) {
		util_grow_long(task, bctx, ns);
		return;
	}
	share = util_share_lost(ns);
	task->util += util_lost_by(UTIL_ONE - task->util, share, dither);
	if (!bctx->has_util)
		return;
	if (bctx->pulled)
		bctx->util -= util_lost_by(bctx->util, share, dither);
	else
		bctx->util += util_lost_by(UTIL_ONE - bctx->util, share, dither);
}

/* A task goes on, or stops. The task has run until now since the CPU's `util_at`, which was set when the task began. */
static __always_inline void util_ran(struct base_task *task, struct base_cpu *bctx)
{
	u64 now = bpf_ktime_get_ns(), work = now - bctx->util_at;
	u32 performance;

	task->util_at = now;
	bctx->util_at = now;
	if (work < UTIL_LEAST_NS) {
		if (work <= util_dither(now) >> UTIL_LEAST_DITHER)
			return;
		work = UTIL_LEAST_NS;
	}
	performance = scx_bpf_cpuperf_cur(bctx->number);
	performance = (performance * bctx->capacity) >> 10;
	util_grow(task, bctx, (work * performance) >> 10, now);
	work -= (work * performance) >> 10;
	if (!work)
		return;
	task->lost += work;
	bctx->lost += work;
}

/* A CPU goes idle. The CPU asks for its present utilisation, as the same work may come back soon. */
static __always_inline void util_goes_idle(struct base_cpu *bctx)
{
	u64 now, idle;

	if (!bctx->has_util) {
		bctx->crowd = 0;
		return;
	}
	now = bpf_ktime_get_ns();
	idle = now - bctx->util_at + bctx->lost;
	bctx->lost = 0;
	if (idle >= UTIL_LEAST_NS) {
		bctx->util = util_decayed(bctx->util, idle);
		bctx->util_at = now;
	}
	bctx->crowd = 0;
	if (bctx->has_clock)
		util_ask(bctx, bctx->util);
	if (bctx->shares_clock)
		util_note_idle(bctx);
}

/* A task goes to sleep. As the kernel's estimate does, this one follows a rise at once and a fall by a quarter (util_est_update). */
static __always_inline void util_sleeps(struct base_task *task)
{
	task->util_at -= task->lost;
	task->lost = 0;
	if (task->util >= task->util_est)
		task->util_est = task->util;
	else
		task->util_est -= (task->util_est - task->util) / 4;
}

/* Whether a task waits for its control group's next period, and has not run since the wait began. */
static __always_inline bool util_is_held(struct base_task *task)
{
	return task->held_at && !vtime_before(task->held_at, task->util_at);
}

/* A task begins to wait for its control group's next period. A task that is taken off its queue and put back meanwhile goes on waiting. */
static __always_inline void util_hold(struct base_task *task, u64 now)
{
	if (util_is_held(task))
		return;
	task->held_at = now;
	task->lost = 0;
}

/*
 * The wait is over, and was no sleep: the task would have run all the while if allowed, and its utilisation grows as if it had. The
 * kernel only stops the clock (throttle_cfs_rq). But the kernel counts throttled tasks for their CPU's clock all the while, and on most
 * CPUs their sum asks for the highest clock, too. A task with little time for much work needs a fast CPU. The function is not static, so
 * that the verifier follows it once.
 */
__noinline int util_release(struct base_task *task, u64 now)
{
	u32 util;

	if (!task)
		return 0;
	if (task->util_at && util_is_held(task)) {
		util = util_decayed(task->util, task->held_at - task->util_at);
		task->util = UTIL_ONE - util_decayed(UTIL_ONE - util, now - task->held_at);
		task->util_at = now;
	}
	task->held_at = 0;
	return 0;
}

/*
 * Whether a rise in utilisation can change anything on a CPU: the clock is not at its highest yet, no faster CPU is asked for yet, or the
 * running task keeps the CPU because it needs little.
 */
static __always_inline bool util_rises(struct base_cpu *bctx)
{
	return (bctx->has_clock && bctx->top_again < TOP_AGAIN && scx_bpf_cpuperf_cur(bctx->number) < UTIL_ONE) ||
	       (bctx->too_much <= UTIL_ONE && !bctx->misfit) || bctx->keeps;
}

/* The first of the CPUs that share a CPU's clock. */
static u32 util_first_mate(u32 cpu)
{
	s32 at;

	for_range(at, 0, nr_cpus) {
		if (facts_of(at)->domain == facts_of(cpu)->domain)
			return at;
	}
	return cpu;
}

/* The fastest CPUs take any task; other CPUs take tasks that leave a fifth to spare (fits_capacity of kernel/sched/fair.c). */
static void util_init(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		base_cpu_of(cpus_by_speed[cpu & (MAX_CPUS - 1)])->slowness = nr_cpus - 1 - cpu;
	for_range(cpu, 0, nr_cpus) {
		struct base_cpu *bctx = base_cpu_of(cpu);

		bctx->too_much = bctx->kind ? facts_of(cpu)->performance * 1024 / 1280 : TOO_MUCH_NEVER;
		/* Only one part of the scheduler sets a clock: the mechanism, if one does. */
		bctx->has_clock = cpuperf && !(active & CLOCKS);
		bctx->has_others = nr_kinds > 1;
		bctx->has_lines = nr_lines > 1 && cpu_of(cpu)->isolate.takes_applications;
		bctx->has_slower = bctx->kind + 1 < nr_kinds;
		bctx->has_util = bctx->has_clock;
		bctx->wants_util = bctx->has_clock || nr_kinds > 1;
		bctx->first_mate = bctx->asks_most = bctx->has_clock ? util_first_mate(cpu) : cpu;
		if (bctx->first_mate != cpu)
			bctx->shares_clock = base_cpu_of(bctx->first_mate)->shares_clock = true;
	}
}

#endif /* __TANDEM_CLOCKS_UTIL_H */
