/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The O(1) scheduler of Linux 2.6.18: papers from before Linux 2.6.23 call it Linux. All CPUs are equal to it, unless cpu_power is on.
 * Then balancing knows how fast each CPU is, as in a kernel whose groups of CPUs have unequal cpu_power.
 *
 *	who next?	the best priority of the CPU's active array. A task whose slice is used up waits in the expired array until
 *			the active one is empty and both change places. A priority is that of the nice value, up to 5 better for
 *			tasks that have slept and up to 5 worse for tasks that have run (sleep_avg). A task that has slept much is
 *			interactive and stays in the active array.
 *	how long?	100 ms at nice 0.
 *	which CPU?	the task's last CPU, or its waker's if that brings them together and makes the waker's CPU no busier.
 *	and then?	An idle CPU takes a task that waits elsewhere. A CPU that has two tasks less than another takes one, seldom,
 *			and none that runs or has just run. A difference of one is left alone. With cpu_power, load is relative to
 *			speed: a CPU twice as fast has two tasks before any leaves it, and a task moves where that gains power.
 *
 * Names are those of kernel/sched.c, 2.6.18, where it has one. Both arrays of a CPU are one queue of sched_ext, in the order of round
 * (how often the arrays have changed places), priority, and entry.
 *
 * Left out: real-time and batch tasks; averages of a CPU's load over ticks (cpu_load), of which the last value counts; weights of nice
 * values in that load; moves of several tasks at a time; scheduling domains beyond a core's threads; and pushing a running task to an
 * idle CPU. A workload could tell the difference that wakes many tasks from busy CPUs, or has fewer tasks than hardware threads.
 */
#include "../bpf/include/scx.bpf.h"
#include "../bpf/include/tags.bpf.h"

char _license[] SEC("license") = "GPL";

enum {
	MAX_CPUS = 1024,
	NO_CPU = 0xffffffff,

	/* Times in ns that the kernel has in ticks. */
	MIN_TIMESLICE = 5 * NSEC_PER_MSEC,
	DEF_TIMESLICE = 100 * NSEC_PER_MSEC,
	MAX_BONUS = 10,
	MAX_SLEEP_AVG = DEF_TIMESLICE * MAX_BONUS,
	STARVATION_LIMIT = MAX_SLEEP_AVG,
	INTERACTIVE_DELTA = 2,
	/* Percent. */
	ON_RUNQUEUE_WEIGHT = 30,
	CHILD_PENALTY = 95,

	/* SD_CPU_INIT of include/linux/topology.h: cache_hot_time, imbalance_pct, cache_nice_tries, busy_factor ms. */
	CACHE_HOT_TIME = 2500 * 1000,
	IMBALANCE_PCT = 125,
	CACHE_NICE_TRIES = 1,
	BUSY_INTERVAL = 64 * NSEC_PER_MSEC,
	/* The load of a task of nice 0, and the power of a CPU: of the slowest where CPUs differ. */
	SCHED_LOAD_SCALE = 128,

	/* 100 to 139 are nice -20 to 19. */
	DEFAULT_PRIO = 120,
	MAX_PRIO = 140,

	/* A place in a queue: round, priority, entry. */
	ROUND_SHIFT = 48,
	PRIO_SHIFT = 40,
};

static const u64 NO_SLICE_END = -1ULL;

/* The machine: the other thread of each core, or NO_CPU; and the time between two ticks. */
const volatile u32 nr_cpus = 1;
const volatile u32 sibling[MAX_CPUS];
const volatile u64 tick_ns = 4 * NSEC_PER_MSEC;
/* Performance of each CPU at the highest clock that it may have, 1 to 1024. */
const volatile u32 performance[MAX_CPUS];

const volatile bool cpu_power
	__help("Balance by each CPU's speed, as a kernel that was told of it: cpu_power of scheduling groups. Otherwise all are equals.");

/* The performance of the slowest CPU. */
u32 least_performance;

struct o1_rq {
	/* The round of the active array, and how many tasks have come in. */
	u64 round;
	u64 entries;
	u32 nr_running;
	/* The priority of the running task; MAX_PRIO: the CPU is idle. */
	u32 prio;
	/* Since when a task has waited in the expired array, 0: none waits; and the best static priority there. */
	u64 expired_timestamp;
	u32 best_expired_prio;
	/* When to look for a busier CPU, and how many attempts in a row have failed. */
	u64 next_balance;
	u32 nr_balance_failed;
};

struct o1_rq rqs[MAX_CPUS];

enum sleep_type {
	SLEEP_NORMAL,
	SLEEP_INTERACTIVE,
	/* The sleep was so long that the task counts as interactive, but as no more than that. */
	SLEEP_NONINTERACTIVE,
};

struct task_ctx {
	u32 static_prio;
	u32 prio;
	enum sleep_type sleep_type;
	u64 sleep_avg;
	s64 time_slice;
	/* When the task's present state began: sleep, wait, or run. And when the task last ran. */
	u64 timestamp;
	u64 last_ran;
	/* The task's place in the queue of `cpu`, in whose nr_running it counts if `counted`. */
	u64 place;
	u32 cpu;
	bool counted;
	/* The task gets a new place; the place is in the expired array. */
	bool requeue;
	bool expired;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task_ctx);
} task_ctxs SEC(".maps");

struct tick {
	struct bpf_timer timer;
};

/* The tick of idle CPUs, which had ticks in 2.6.18. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct tick);
	__uint(max_entries, 1);
} idle_tick SEC(".maps");

bool idle_ticks;

static __always_inline struct task_ctx *task_of(struct task_struct *p)
{
	return bpf_task_storage_get(&task_ctxs, p, 0, 0);
}

static __always_inline struct o1_rq *cpu_rq(u32 cpu)
{
	return &rqs[cpu & (MAX_CPUS - 1)];
}

/*
 * Priorities
 */

static __always_inline u32 current_bonus(const struct task_ctx *tctx)
{
	return tctx->sleep_avg * MAX_BONUS / MAX_SLEEP_AVG;
}

static __always_inline u32 effective_prio(const struct task_ctx *tctx)
{
	u32 prio = tctx->static_prio + MAX_BONUS / 2 - current_bonus(tctx);

	return prio < MAX_RT_PRIO ? MAX_RT_PRIO : prio >= MAX_PRIO ? MAX_PRIO - 1 : prio;
}

/* DELTA(): by how much a priority must be better than the static one for its task to be interactive. */
static __always_inline s32 interactive_delta(const struct task_ctx *tctx)
{
	return (s32)((tctx->static_prio - MAX_RT_PRIO) * MAX_BONUS / 40) - 20 * MAX_BONUS / 40 + INTERACTIVE_DELTA;
}

static __always_inline bool task_interactive(const struct task_ctx *tctx)
{
	return (s32)tctx->prio <= (s32)tctx->static_prio - interactive_delta(tctx);
}

static __always_inline u64 task_timeslice(const struct task_ctx *tctx)
{
	u64 scale = tctx->static_prio < DEFAULT_PRIO ? 4 * DEF_TIMESLICE : DEF_TIMESLICE;
	u64 slice = scale * (MAX_PRIO - tctx->static_prio) / 20;

	return slice < MIN_TIMESLICE ? MIN_TIMESLICE : slice;
}

static __always_inline u64 timeslice_granularity(const struct task_ctx *tctx)
{
	u32 steps = MAX_BONUS - current_bonus(tctx);

	return ((u64)MIN_TIMESLICE << ((steps ?: 1) - 1)) * nr_cpus;
}

static void recalc_task_prio(struct task_ctx *tctx, u64 slept)
{
	/* INTERACTIVE_SLEEP() */
	u64 ceiling = (u64)DEF_TIMESLICE * (MAX_BONUS / 2 + interactive_delta(tctx) + 1) - NSEC_PER_MSEC;

	if (slept > ceiling) {
		tctx->sleep_avg = ceiling;
		tctx->sleep_type = SLEEP_NONINTERACTIVE;
	} else {
		u64 most = tctx->sleep_type == SLEEP_NONINTERACTIVE ? ceiling : MAX_SLEEP_AVG;

		if (tctx->sleep_avg < most)
			tctx->sleep_avg = tctx->sleep_avg + slept < most ? tctx->sleep_avg + slept : most;
	}
	tctx->prio = effective_prio(tctx);
}

/* Charges a task for its run time since the last charge. A task that has slept much loses that more slowly. */
static void account(struct task_ctx *tctx, u64 now)
{
	u64 ran = now - tctx->timestamp;

	tctx->timestamp = now;
	tctx->time_slice -= ran;
	ran = (ran < MAX_SLEEP_AVG ? ran : MAX_SLEEP_AVG) / (current_bonus(tctx) ?: 1);
	tctx->sleep_avg -= ran < tctx->sleep_avg ? ran : tctx->sleep_avg;
}

/*
 * Queues
 */

/* The place at the end of a task's priority. */
static __always_inline u64 place_in(struct o1_rq *rq, const struct task_ctx *tctx, bool expired)
{
	u64 entry = __sync_fetch_and_add(&rq->entries, 1) & ((1ULL << PRIO_SHIFT) - 1);

	return (rq->round + expired) << ROUND_SHIFT | (u64)tctx->prio << PRIO_SHIFT | entry;
}

static __always_inline void count(struct task_ctx *tctx, u32 cpu)
{
	if (tctx->counted)
		return;
	tctx->counted = true;
	tctx->cpu = cpu;
	__sync_fetch_and_add(&cpu_rq(cpu)->nr_running, 1);
}

static __always_inline void uncount(struct task_ctx *tctx)
{
	if (!tctx->counted)
		return;
	tctx->counted = false;
	__sync_fetch_and_sub(&cpu_rq(tctx->cpu)->nr_running, 1);
}

static __always_inline void switch_arrays(struct o1_rq *rq, u64 round)
{
	rq->round = round;
	rq->expired_timestamp = 0;
	rq->best_expired_prio = MAX_PRIO;
}

static __always_inline bool expired_starving(const struct o1_rq *rq, const struct task_ctx *curr, u64 now)
{
	return rq->expired_timestamp && (now - rq->expired_timestamp >= (u64)STARVATION_LIMIT * rq->nr_running ||
					 curr->static_prio > rq->best_expired_prio);
}

/*
 * Waking up
 */

/* The idle other thread of the same core, or @cpu. */
static __always_inline u32 wake_idle(struct task_struct *p, u32 cpu)
{
	u32 other = sibling[cpu & (MAX_CPUS - 1)];

	if (other != NO_CPU && cpu_rq(cpu)->nr_running && !cpu_rq(other)->nr_running &&
	    bpf_cpumask_test_cpu(other, p->cpus_ptr))
		return other;
	return cpu;
}

/* try_to_wake_up() */
s32 BPF_STRUCT_OPS(o1_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	u32 this_cpu = bpf_get_smp_processor_id(), cpu = prev_cpu;

	if (this_cpu != cpu && bpf_cpumask_test_cpu(this_cpu, p->cpus_ptr)) {
		u32 here = cpu_rq(this_cpu)->nr_running, there = cpu_rq(cpu)->nr_running;

		/* The waker is about to sleep. */
		if (wake_flags & SCX_WAKE_SYNC && here)
			here--;
		if ((here <= there && here + there <= 1) || 100 * (here + 1) <= (100 + (IMBALANCE_PCT - 100) / 2) * there)
			cpu = this_cpu;
	}
	return wake_idle(p, cpu);
}

/* activate_task() */
void BPF_STRUCT_OPS(o1_runnable, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = task_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!tctx)
		return;
	if (tctx->timestamp)
		recalc_task_prio(tctx, now - tctx->timestamp);
	if (tctx->sleep_type == SLEEP_NORMAL)
		tctx->sleep_type = SLEEP_INTERACTIVE;
	tctx->timestamp = now;
	tctx->requeue = true;
	tctx->expired = false;
}

static void start_tick(struct tick *tick)
{
	bpf_timer_start(&tick->timer, tick_ns - bpf_ktime_get_ns() % tick_ns, 0);
}

/* Makes idle CPUs look for a task at their next tick. */
static void tick_idle(void)
{
	u32 zero = 0;
	struct tick *tick = bpf_map_lookup_elem(&idle_tick, &zero);

	if (!tick || idle_ticks)
		return;
	idle_ticks = true;
	start_tick(tick);
}

static int idle_cpus_look(void *map, u32 *key, struct tick *tick)
{
	bool idles = false, waits = false;
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		idles |= !cpu_rq(cpu)->nr_running;
		waits |= cpu_rq(cpu)->nr_running > 1;
	}
	idle_ticks = idles && waits;
	if (!idle_ticks)
		return 0;
	for_range(cpu, 0, nr_cpus) {
		if (!cpu_rq(cpu)->nr_running)
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	}
	start_tick(tick);
	return 0;
}

void BPF_STRUCT_OPS(o1_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *tctx = task_of(p);
	u32 cpu = scx_bpf_task_cpu(p);
	struct o1_rq *rq = cpu_rq(cpu);

	if (!tctx) {
		dsq_insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, enq_flags);
		return;
	}
	if (tctx->counted && tctx->cpu != cpu) {
		/* The task may no longer run on its last CPU. */
		uncount(tctx);
		tctx->requeue = true;
	}
	count(tctx, cpu);
	/* A task that is preempted keeps its place. */
	if (tctx->requeue)
		tctx->place = place_in(rq, tctx, tctx->expired);
	tctx->requeue = tctx->expired = false;
	dsq_insert_vtime(p, cpu, NO_SLICE_END, tctx->place, enq_flags);
	if (rq->prio == MAX_PRIO)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	else if (tctx->prio < rq->prio)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	if (rq->nr_running > 1)
		tick_idle();
}

/*
 * Balancing
 */

/* The CPU with the most tasks, if it has two more than this one; NO_CPU: there is none. */
static u32 find_busiest_queue(u32 this_cpu)
{
	u32 busiest = NO_CPU, most = cpu_rq(this_cpu)->nr_running + 1;
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		u32 nr_running = cpu_rq(cpu)->nr_running;

		if (nr_running > most) {
			most = nr_running;
			busiest = cpu;
		}
	}
	return busiest;
}

/* A CPU as a group of its own, for find_busiest_group(). */
struct group {
	u64 nr_running;
	u64 cpu_power;
	/* Relative to power. */
	u64 load;
};

static __always_inline void look_at(struct group *group, u32 cpu)
{
	u64 least = least_performance ?: 1, power = SCHED_LOAD_SCALE * (u64)performance[cpu & (MAX_CPUS - 1)] / least;

	group->nr_running = cpu_rq(cpu)->nr_running;
	group->cpu_power = power ?: 1;
	group->load = group->nr_running * SCHED_LOAD_SCALE * SCHED_LOAD_SCALE / group->cpu_power;
}

static __always_inline u64 least_of(u64 a, u64 b)
{
	return a < b ? a : b;
}

/* find_busiest_group(), if the imbalance is less than a task: whether a move gains power (pwr_now, pwr_move). */
static __always_inline bool gains_power(const struct group *busiest, const struct group *this)
{
	const u64 task = SCHED_LOAD_SCALE;
	u64 less = task * SCHED_LOAD_SCALE / busiest->cpu_power, more = task * SCHED_LOAD_SCALE / this->cpu_power, now, move;

	now = busiest->cpu_power * least_of(task, busiest->load) + this->cpu_power * least_of(task, this->load);
	move = busiest->load > less ? busiest->cpu_power * least_of(task, busiest->load - less) : 0;
	if (busiest->load * busiest->cpu_power < task * SCHED_LOAD_SCALE)
		more = busiest->load * busiest->cpu_power / this->cpu_power;
	move += this->cpu_power * least_of(task, this->load + more);
	return move / SCHED_LOAD_SCALE > now / SCHED_LOAD_SCALE;
}

/* find_busiest_group(): whether a task is to move. @avg_load is the load of all CPUs together, relative to their power. */
static __always_inline bool is_imbalanced(const struct group *busiest, const struct group *this, u64 avg_load)
{
	const u64 task = SCHED_LOAD_SCALE;
	u64 pull, imbalance;

	if (this->load >= busiest->load || this->load >= avg_load || 100 * busiest->load <= IMBALANCE_PCT * this->load)
		return false;
	if (busiest->load <= task)
		return false;
	if (busiest->load >= avg_load) {
		pull = least_of(busiest->load - avg_load, busiest->load - task);
		imbalance = least_of(pull * busiest->cpu_power, (avg_load - this->load) * this->cpu_power) / SCHED_LOAD_SCALE;
		if (imbalance >= task)
			return true;
	}
	return busiest->load - this->load >= 2 * task || gains_power(busiest, this);
}

/* find_busiest_group(): the CPU with the most load for its power, if it has more tasks than its power and one is to move here. */
static u32 find_busiest_group(u32 this_cpu)
{
	struct group this, group, busiest = {};
	u64 total_load = 0, total_power = 0;
	u32 found = NO_CPU;
	s32 cpu;

	look_at(&this, this_cpu);
	for_range(cpu, 0, nr_cpus) {
		look_at(&group, cpu);
		total_load += group.nr_running * SCHED_LOAD_SCALE;
		total_power += group.cpu_power;
		if (cpu == this_cpu || group.load <= busiest.load || group.nr_running <= group.cpu_power / SCHED_LOAD_SCALE)
			continue;
		busiest = group;
		found = cpu;
	}
	if (found == NO_CPU || !total_power || !busiest.cpu_power)
		return NO_CPU;
	return is_imbalanced(&busiest, &this, total_load * SCHED_LOAD_SCALE / total_power) ? found : NO_CPU;
}

/* can_migrate_task(), task_hot() */
static __always_inline bool can_migrate(struct task_struct *p, const struct task_ctx *tctx, u32 to, u64 now)
{
	return bpf_cpumask_test_cpu(to, p->cpus_ptr) &&
	       (now - tctx->last_ran >= CACHE_HOT_TIME || cpu_rq(to)->nr_balance_failed > CACHE_NICE_TRIES);
}

/* move_tasks(), pull_task(): moves the best task of the expired array, or of the active one; returns whether a task moved. */
static bool pull_task(u32 from, u32 to)
{
	u64 now = bpf_ktime_get_ns();
	struct task_struct *p;
	s32 active;

	for_range(active, 0, 2) {
		for_queued(it, p, from) {
			struct task_ctx *tctx = task_of(p);

			if (!tctx || (tctx->place >> ROUND_SHIFT == cpu_rq(from)->round) != active ||
			    !can_migrate(p, tctx, to, now))
				continue;
			uncount(tctx);
			count(tctx, to);
			tctx->place = place_in(cpu_rq(to), tctx, !active);
			if (dsq_move_vtime(&it, p, to, tctx->place))
				return true;
			uncount(tctx);
			count(tctx, from);
		}
	}
	return false;
}

/* load_balance() */
static bool load_balance(u32 cpu)
{
	u32 busiest = cpu_power ? find_busiest_group(cpu) : find_busiest_queue(cpu);
	bool pulled = busiest != NO_CPU && pull_task(busiest, cpu);

	cpu_rq(cpu)->nr_balance_failed = pulled || busiest == NO_CPU ? 0 : cpu_rq(cpu)->nr_balance_failed + 1;
	return pulled;
}

/* No other task is here: this one goes on, and if its slice is used up the arrays change places. */
static void go_on(struct o1_rq *rq, struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);

	if (!tctx)
		return;
	if (tctx->expired)
		switch_arrays(rq, rq->round + 1);
	if (tctx->requeue)
		tctx->place = place_in(rq, tctx, false);
	tctx->requeue = tctx->expired = false;
	rq->prio = tctx->prio;
	p->scx.slice = NO_SLICE_END;
}

/* schedule() */
void BPF_STRUCT_OPS(o1_dispatch, s32 cpu, struct task_struct *prev)
{
	struct o1_rq *rq = cpu_rq(cpu);
	u64 now = bpf_ktime_get_ns();

	/* rebalance_tick() */
	if (rq->nr_running && now >= rq->next_balance) {
		rq->next_balance = now + BUSY_INTERVAL;
		load_balance(cpu);
	}
	if (dsq_move_to_local(cpu))
		return;
	if (prev && prev->scx.flags & SCX_TASK_QUEUED)
		go_on(rq, prev);
	else if (load_balance(cpu))
		dsq_move_to_local(cpu);
}

/*
 * Running
 */

void BPF_STRUCT_OPS(o1_running, struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	struct o1_rq *rq = cpu_rq(scx_bpf_task_cpu(p));
	u64 now = bpf_ktime_get_ns();

	if (!tctx)
		return;
	if (tctx->place >> ROUND_SHIFT != rq->round)
		switch_arrays(rq, tctx->place >> ROUND_SHIFT);
	/* A part of the time that the task has waited since it woke counts as sleep. */
	if (tctx->sleep_type == SLEEP_INTERACTIVE)
		recalc_task_prio(tctx, (now - tctx->timestamp) * ON_RUNQUEUE_WEIGHT / 100);
	tctx->sleep_type = SLEEP_NORMAL;
	tctx->timestamp = now;
	rq->prio = tctx->prio;
	p->scx.slice = NO_SLICE_END;
}

/* scheduler_tick(), where a slice is used up. */
static void expire(struct o1_rq *rq, struct task_ctx *tctx, u64 now)
{
	tctx->prio = effective_prio(tctx);
	tctx->time_slice = task_timeslice(tctx);
	tctx->requeue = true;
	tctx->expired = !task_interactive(tctx) || expired_starving(rq, tctx, now);
	if (!rq->expired_timestamp)
		rq->expired_timestamp = now;
	if (tctx->expired && tctx->static_prio < rq->best_expired_prio)
		rq->best_expired_prio = tctx->static_prio;
}

/* scheduler_tick() */
void BPF_STRUCT_OPS(o1_tick, struct task_struct *p)
{
	struct task_ctx *tctx = task_of(p);
	u64 now = bpf_ktime_get_ns(), granularity, used, before;

	if (!tctx)
		return;
	before = task_timeslice(tctx) - tctx->time_slice;
	account(tctx, now);
	if (tctx->time_slice <= 0) {
		expire(cpu_rq(scx_bpf_task_cpu(p)), tctx, now);
		p->scx.slice = 0;
		return;
	}
	/* Interactive tasks of one priority take turns more often. */
	used = task_timeslice(tctx) - tctx->time_slice;
	granularity = timeslice_granularity(tctx);
	if (task_interactive(tctx) && (u64)tctx->time_slice >= granularity && used / granularity != before / granularity) {
		tctx->requeue = true;
		p->scx.slice = 0;
	}
}

void BPF_STRUCT_OPS(o1_stopping, struct task_struct *p, bool runnable)
{
	struct task_ctx *tctx = task_of(p);
	u64 now = bpf_ktime_get_ns();

	if (!tctx)
		return;
	account(tctx, now);
	tctx->last_ran = now;
	/* Slices end at ticks only. */
	if (tctx->time_slice <= 0)
		tctx->time_slice = 1;
}

void BPF_STRUCT_OPS(o1_quiescent, struct task_struct *p, u64 deq_flags)
{
	struct task_ctx *tctx = task_of(p);

	if (tctx)
		uncount(tctx);
}

void BPF_STRUCT_OPS(o1_update_idle, s32 cpu, bool idle)
{
	if (idle)
		cpu_rq(cpu)->prio = MAX_PRIO;
}

/*
 * Tasks
 */

static void set_static_prio(struct task_struct *p, struct task_ctx *tctx)
{
	u32 prio = p->static_prio;

	tctx->static_prio = prio < MAX_RT_PRIO || prio >= MAX_PRIO ? DEFAULT_PRIO : prio;
	tctx->prio = effective_prio(tctx);
}

/* sched_fork() */
s32 BPF_STRUCT_OPS(o1_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	struct task_ctx *tctx = bpf_task_storage_get(&task_ctxs, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	struct task_ctx *parent = args->fork ? task_of((struct task_struct *)bpf_get_current_task_btf()) : 0;

	if (!tctx)
		return -ENOMEM;
	if (parent)
		tctx->sleep_avg = (u64)current_bonus(parent) * CHILD_PENALTY / 100 * MAX_SLEEP_AVG / MAX_BONUS;
	set_static_prio(p, tctx);
	tctx->time_slice = task_timeslice(tctx);
	if (parent) {
		tctx->time_slice = (parent->time_slice + 1) >> 1;
		parent->time_slice >>= 1;
	}
	return 0;
}

void BPF_STRUCT_OPS(o1_set_weight, struct task_struct *p, u32 weight)
{
	struct task_ctx *tctx = task_of(p);

	if (tctx)
		set_static_prio(p, tctx);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(o1_init)
{
	u32 zero = 0;
	struct tick *tick = bpf_map_lookup_elem(&idle_tick, &zero);
	s32 cpu, err;

	if (!tick)
		return -ENOMEM;
	least_performance = 1024;
	for_range(cpu, 0, nr_cpus) {
		if (performance[cpu & (MAX_CPUS - 1)] < least_performance)
			least_performance = performance[cpu & (MAX_CPUS - 1)];
		cpu_rq(cpu)->prio = MAX_PRIO;
		switch_arrays(cpu_rq(cpu), 1);
		err = scx_bpf_create_dsq(cpu, -1);
		if (err)
			return err;
	}
	bpf_timer_init(&tick->timer, &idle_tick, CLOCK_MONOTONIC);
	return bpf_timer_set_callback(&tick->timer, idle_cpus_look);
}

SCX_OPS_DEFINE(o1_ops,
	       .select_cpu		= (void *)o1_select_cpu,
	       .enqueue			= (void *)o1_enqueue,
	       .dispatch		= (void *)o1_dispatch,
	       .tick			= (void *)o1_tick,
	       .runnable		= (void *)o1_runnable,
	       .running			= (void *)o1_running,
	       .stopping		= (void *)o1_stopping,
	       .quiescent		= (void *)o1_quiescent,
	       .set_weight		= (void *)o1_set_weight,
	       .update_idle		= (void *)o1_update_idle,
	       .init_task		= (void *)o1_init_task,
	       .init			= (void *)o1_init,
	       .flags			= SCX_OPS_KEEP_BUILTIN_IDLE,
	       .name			= "o1");
