/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Utilisation of tasks and CPUs, and the clock that it asks for, where CPUs differ or have clocks that can be set.
 *
 * It is the kernel's (kernel/sched/pelt.c), independent of the CPU and its clock: it halves in 2^25 ns. Between halvings a parabola
 * stands for the exponential function, within 0.3 % of it. A task's work is counted as the kernel's pelt clock does, slower
 * on a slower CPU: what is lost of the time counts as sleep afterwards, a task's when it sleeps, a CPU's when that is idle
 * (update_rq_clock_pelt). Time in which a task waits counts as sleep, but not while it waits for its control group's next period
 * (util_release). schedutil adds a quarter to what it is asked for.
 */
#ifndef __TANDEM_CLOCKS_UTIL_H
#define __TANDEM_CLOCKS_UTIL_H

#include "../state/bits.bpf.h"
#include "../queues/line.bpf.h"

enum {
	UTIL_ONE = 1024,
	/* By energy: what needs longer at once, ns, is asked for as if it needed a sixteenth less. */
	UTIL_SPARES_NS = NSEC_PER_MSEC,
	UTIL_SPARES_SHIFT = 4,
	/* Where energy is all: as if all needed a quarter less. That is what schedutil adds. But not where less than an eighth is to spare. */
	UTIL_SAVES_SHIFT = 2,
	UTIL_FULL_SHIFT = 3,
	/* Powers of two that numbers of busy CPUs are told apart by. */
	UTIL_CROWDS = 8,
	/* Of too_much: a CPU that nothing is too much for. */
	TOO_MUCH_NEVER = 0xffff,
	HALF_LIFE_SHIFT = 25,
	/* What changes a utilisation by about one, ns: a shorter time of work counts as this, as often as it is a part of it. */
	UTIL_LEAST_NS = 1 << (HALF_LIFE_SHIFT + 1 - 10),
	UTIL_LEAST_DITHER = 9 + 10,
	/* After so long an idle CPU asks for less, ns: for half as much. */
	IDLE_LONG_NS = 1 << HALF_LIFE_SHIFT,
	/* What computes for longer has a CPU that asked for it to itself, ns: those that meet at barriers do not. */
	PULLED_MOST_NS = 200 * NSEC_PER_MSEC,
	/* From here on schedutil gives the highest clock; where limits hold that down, there is no use in asking more often than this. */
	UTIL_TOP = UTIL_ONE * 4 / 5,
	TOP_AGAIN = 8,
	/* Of uclamp_se: those of the value. */
	UTIL_CLAMP_BITS = 2 * UTIL_ONE - 1,
	/* A clock is asked for anew when what it is to do changes by an eighth. */
	ASK_SHIFT = 3,
};

/* How many CPUs run what would do better on a faster one; and which, 64 to a word, the slowest first. */
s32 nr_misfits;
u64 misfit_cpus[MAX_CPUS / 64];

/* What is lost of 1 in @ns, less than a halving, with 35 bits of fraction: 1 - 2^-x is near x (0.672 - 0.172 x). */
static __always_inline u64 util_share_lost(u64 ns)
{
	return ns * (688 - (ns * 176 >> HALF_LIFE_SHIFT));
}

/*
 * What rounds a share of a utilisation up as often as its fraction is large: a part of the time, times 2^64 over the golden ratio. By the
 * integer below, what sleeps for a millisecond at a time would never come to less than 48.
 */
static __always_inline u64 util_dither(u64 now)
{
	return (now * 0x9e3779b97f4a7c15ULL) >> (64 - (HALF_LIFE_SHIFT + 10));
}

/* What is lost of @value, if that share is lost, and by @dither. */
static __always_inline u32 util_lost_by(u32 value, u64 share, u64 dither)
{
	return (value * share + dither) >> (HALF_LIFE_SHIFT + 10);
}

/* The same for a time, less than a halving, until @now. */
static __always_inline u32 util_lost(u32 value, u64 ns, u64 now)
{
	return util_lost_by(value, util_share_lost(ns), util_dither(now));
}

/* What is left of @value after any time. */
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
 * Notes a task's clamps (uclamp). schedutil bounds by them what CPUs ask for; here they tell which CPUs are fast enough: as in the kernel
 * one is whose capacity is no less than the lower clamp, and, whatever the task needs, no less than the upper one (util_fits_cpu). Both
 * leave a fifth to spare, as utilisations have to. Until some task of the machine has a clamp the kernel keeps 0 for both of all.
 */
static __always_inline void util_note_clamps(struct task_struct *p, struct base_task *task)
{
	u32 least, most;

	if (!bpf_core_field_exists(p->uclamp))
		return;
	/* Values are bit fields, which loaders do not move loads to: the words that they are in. */
	least = *(const u32 *)&p->uclamp[UCLAMP_MIN] & UTIL_CLAMP_BITS;
	most = *(const u32 *)&p->uclamp[UCLAMP_MAX] & UTIL_CLAMP_BITS;
	if (!(least | most) && !task->util_clamps)
		return;
	task->util_least = least ? least * 4 / 5 - 1 : 0;
	task->util_most = most && most < UTIL_ONE ? most * 4 / 5 - 1 : 0;
}

/* What a task is taken for when a CPU is chosen. */
static __always_inline u32 util_to_place(struct base_task *task)
{
	u32 util = util_of(task);

	if (!task->util_clamps)
		return util;
	if (util < task->util_least)
		return task->util_least;
	return task->util_most && util > task->util_most ? task->util_most : util;
}

/* By energy: the least that is asked of the clock of a kind, by how many CPUs of a package are busy: 1, 2, 4 and so on. */
struct util_floors {
	u16 least[UTIL_CROWDS];
};

struct util_floors util_floors[MAX_KINDS];

/* Power is known, and a mode asks for it (energy.bpf.h). */
bool energy_known;

const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
void scx_bpf_put_idle_cpumask(const struct cpumask *cpumask) __ksym;
u32 bpf_cpumask_weight(const struct cpumask *cpumask) __ksym;

/*
 * The least that is asked of a CPU's clock. CPUs that are busy are taken to be spread over packages evenly. The more are busy, the less
 * it is: what asks for more than the greatest needs no count of them.
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
	/* The power of two below that. */
	crowd = (busy > 15) << 2;
	busy >>= crowd;
	pair = (busy > 3) << 1;
	busy >>= pair;
	crowd += pair + (busy > 1);
	return floors->least[crowd < UTIL_CROWDS ? crowd : UTIL_CROWDS - 1];
}

/*
 * What is asked where energy is all: less, unless the CPU is busy for nearly all of the time at the clock that it has. What computes without
 * a pause, or waits for nothing but what others compute, would else ask for less and less as it becomes slower.
 */
static __always_inline u32 util_saved(struct base_cpu *bctx, u32 util)
{
	u32 performance = (scx_bpf_cpuperf_cur(bctx->number) * bctx->capacity) >> 10;

	return util < performance - (performance >> UTIL_FULL_SHIFT) ? util - (util >> UTIL_SAVES_SHIFT) : util;
}

/* What is asked of the clock for a utilisation, by the preference. Without a mode the bounds are not there, and this is pruned. */
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
	/* What does next to nothing is idle at that clock for most of the time. */
	if (bctx->idles_dear && util < floor / 4)
		return util;
	return util < floor ? floor : util;
}

/*
 * Asks for the clock that a utilisation needs, of the CPU that runs this; not where that cannot be asked now, and the next who asks does.
 * Nothing at all would change nothing (clock.bpf.h).
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

/* What a CPU asks for with a utilisation and what waits: that would run there, if it could (cpu_util_cfs_boost of kernel/sched/fair.c). */
static __always_inline u32 util_boosted(struct base_cpu *bctx, u32 util)
{
	u32 cpus = line_at(bctx->line)->nr_cpus;

	return bctx->crowd < cpus ? util + util * bctx->crowd / cpus : 2 * util;
}

/* As util_ask_again, if that is not what was asked for before, about. For CPUs whose clocks follow. */
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

/* Notes whether what runs on a CPU would do better on a faster one, and may have that. */
static __always_inline void util_note_misfit(struct task_struct *p, u32 util, struct base_cpu *bctx)
{
	bool misfit = !util_fits(util, bctx) && may_run_everywhere(p) && !cpu_runs_noise(bctx->number);

	if (misfit != bctx->misfit)
		util_change_misfit(bctx, misfit);
}

/*
 * A mechanism says that what runs does better on a faster CPU, however little it needs: also what has come to that while it runs, as the
 * last thread of a group that goes on as others sleep.
 */
static __always_inline void util_note_ranked(struct task_struct *p, struct base_cpu *bctx)
{
	if (bctx->kind && !bctx->misfit && may_run_everywhere(p))
		util_change_misfit(bctx, true);
}

/* Where CPUs differ: what others are to know of a task that runs. */
static __always_inline void util_note_kind(struct task_struct *p, u32 util, struct base_cpu *bctx)
{
	if (bctx->has_slower)
		bctx->keeps = util < UTIL_ONE / 2 || !may_run_everywhere(p);
	if (bctx->kind)
		util_note_misfit(p, util, bctx);
}

/*
 * What is to be asked for a task that runs. What a faster CPU asked for is there beside what that CPU has to do, and is not to cost much
 * more than work does in the mean. By energy what needs more than a millisecond at once is asked for a little less, as schedutil's quarter
 * to spare is much for it; what needs less is often one of many that wait for each other, and all of them would be later.
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

/* A CPU goes idle: of those that share a clock the one that asks for most is noted, as far as these are idle. */
static __always_inline void util_note_idle(struct base_cpu *bctx)
{
	struct base_cpu *first = base_cpu_of(bctx->first_mate), *noted = base_cpu_of(first->asks_most);

	if (noted->deadline || bctx->asked >= noted->asked)
		first->asks_most = bctx->number;
}

/*
 * Wakes a CPU that has been idle for a while and still asks for a higher clock than one that has something to do and shares the clock:
 * it asks for less then, and goes back to sleep. Nobody else may speak for it (clock.bpf.h). If no CPU has anything to do, the clock
 * makes little difference.
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
	/* As much as the kernel gives a new task (post_init_entity_util_avg), on a CPU that is idle. */
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
	 * What comes from elsewhere, or is new, brings its utilisation along (attach_entity_load_avg). With a mode it does not: that the clock
	 * stays high after it costs energy, by the choosing half 0.8 % in the mean, for responses that are no shorter (docs/base.md).
	 */
	if (mode == TANDEM_MODE_NONE && task->util > bctx->util)
		bctx->util = task->util;
	/* Where tasks wait the CPU is busy from tick to tick, and these ask. */
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

/* What utilisations become by work of @ns at full performance, until @now. */
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

/* A task goes on, or stops: it has run until now, since the CPU's `util_at`, as that was set when it began. */
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

/* A CPU has nothing to do. It asks for what its utilisation is by now: for a while it may have to do again. */
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

/* A task goes to sleep: the kernel's estimate follows a rise at once and a fall by a quarter (util_est_update). */
static __always_inline void util_sleeps(struct base_task *task)
{
	task->util_at -= task->lost;
	task->lost = 0;
	if (task->util >= task->util_est)
		task->util_est = task->util;
	else
		task->util_est -= (task->util_est - task->util) / 4;
}

/* Whether a task waits for its control group's next period, and has not run since it began to. */
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
 * The wait is over, and was no sleep: the task would have run all the while if it could, and its utilisation is as if it had. The kernel
 * only stops the clock (throttle_cfs_rq), but counts a throttled task for its CPU's clock all the while, together with the others that are
 * throttled there: on most CPUs the sum asks for the highest clock, too. A task with little time for much work needs a fast CPU. As this is
 * not static, the verifier follows it once.
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
 * Whether what goes on on a CPU can change anything: the clock is not at its highest yet, no faster CPU is asked for yet, or the CPU
 * is kept for what needs little.
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

/* The fastest CPUs take anything, others what leaves them a fifth to spare (fits_capacity of kernel/sched/fair.c). */
static void util_init(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus)
		base_cpu_of(cpus_by_speed[cpu & (MAX_CPUS - 1)])->slowness = nr_cpus - 1 - cpu;
	for_range(cpu, 0, nr_cpus) {
		struct base_cpu *bctx = base_cpu_of(cpu);

		bctx->too_much = bctx->kind ? facts_of(cpu)->performance * 1024 / 1280 : TOO_MUCH_NEVER;
		/* Of two that set a clock one is enough: the mechanism. */
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
