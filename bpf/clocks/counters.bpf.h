/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How memory-bound tasks are, from performance counters.
 *
 * Callbacks of sched_ext may not read counters; programs at tracepoints may. The kernel passes the tracepoint sched_stat_runtime on a
 * task's CPU: at each tick, and before it takes the task off, ahead of `stopping`. The counters' gain since the last tracepoint is
 * therefore the running task's.
 *
 * Intensity is bytes per second over the task's fair share of the memory's bandwidth, which is 1/n of the bandwidth if n CPUs are busy.
 * (Merkel & Bellosa: memory transactions in a slice, section 4.1, as utilisation of the bus, 0 to 1, section 4.2.) So n streams that
 * saturate the bus have intensity 1 each, though each moves 1/n of the bytes that one stream alone could. Stall is the share of time that
 * waits for memory at the highest clock. Stall says more about the cost of a lower clock.
 *
 * Where the bandwidth is unknown, intensity is relative to the highest rate ever seen. Tasks can be sorted by this intensity, but it does
 * not show that the memory is busy: a task that runs alone has intensity 1. Code that needs to know whether memory is busy asks
 * counters_capacity() first: edp.bpf.h, and stall where no event counts it.
 */
#ifndef __TANDEM_CLOCKS_COUNTERS_H
#define __TANDEM_CLOCKS_COUNTERS_H

#include "clock.bpf.h"

/* Loaders open these events for each CPU: transactions with memory, of transaction_bytes each; cycles that wait for memory; cycles. */
#define COUNTER_MAP(name)						\
	struct {							\
		__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);		\
		__uint(max_entries, MAX_CPUS);				\
		__type(key, u32);					\
		__type(value, u32);					\
	} name SEC(".maps")

COUNTER_MAP(memory_transactions);
COUNTER_MAP(stalled_cycles);
COUNTER_MAP(cycles);

enum {
	/* Intensity and stall of 1, and the finer scale of averages. */
	ONE = 1024,
	FINE_SHIFT = 10,
	/* The highest traffic. */
	TRAFFIC_MOST = 16 * ONE,
	/* A task counts as measured after this run time, ns. */
	MEASURED_AFTER = 1000000,
	MAX_NODES = 64,
	/* A CPU's rate is a mean over at least this run time, ns: the time between a tick and a switch is too short to tell a rate. */
	RATE_AFTER = 500000,
	/*
	 * Memory goes on to matter for this long, ns. For some slices tasks that only compute may run on all CPUs, while tasks that use
	 * memory wait for their turns.
	 */
	MATTERS_FOR = 1000000000,
	/* Counters of a task that does the same as before are read twice in nine times: seven are left out, one only notes where they stand. */
	COUNTERS_REST = 8,
	/* An average that changes by no more than this counts as unchanged, of ONE. */
	COUNTERS_SAME = ONE / 16,
};

/* A CPU's counters at the last reading. */
struct cpu_counters {
	struct bpf_perf_event_value transactions;
	struct bpf_perf_event_value stalled;
	struct bpf_perf_event_value cycles;
	/* This CPU's counters have been read once. */
	bool known;
	/* The CPU has run a task since it was idle, and counts in its node. */
	bool busy;
	/* The number of readings still left out, plus 1 for the reading after them, which only notes where the counters stand; 0: none. */
	u16 rest;
	/* MB/s that the CPU's tasks moved at the last measurement; run time, ns, and transactions since then. */
	u32 rate;
	u64 ran;
	u64 moved;
};

struct cpu_counters cpu_counters[MAX_CPUS];

/* The load that a node's CPUs put on their memory. */
struct node_memory {
	s32 nr_busy;
	/* MB/s of all CPUs of the node, and the highest sum ever. */
	s32 rate;
	s32 most;
	/* Rates are compared: counters do not rest, and the transactions of all CPUs are summed up. */
	bool watched;
	u64 moved;
	/* When CPUs last moved a tenth of the bandwidth, ns. */
	u64 used;
};

struct node_memory node_memories[MAX_NODES];

/* A mechanism that was asked for needs counters. */
bool counters_wanted;
/* Counters can be read. */
bool counters_work;

static void counters_init(void)
{
	/* While speed is inert no code uses the counters for it. */
	counters_wanted = is_asked(SORTED) || (is_on(SPEED) && edp);
}

static __always_inline struct node_memory *memory_of(u32 cpu)
{
	return &node_memories[facts_of(cpu)->node & (MAX_NODES - 1)];
}

/*
 * An event's gain since the last reading. The kernel lets events take turns if there are more events than counters; the gain is then
 * scaled to the whole time. Negative: the event did not count at all, or there is none.
 */
static __always_inline s64 counter_gain(void *map, struct bpf_perf_event_value *last)
{
	struct bpf_perf_event_value now = {};
	u64 gain, enabled, running;

	if (bpf_perf_event_read_value(map, BPF_F_CURRENT_CPU, &now, sizeof(now)))
		return -1;
	gain = now.counter - last->counter;
	enabled = now.enabled - last->enabled;
	running = now.running - last->running;
	*last = now;
	if (running == enabled)
		return gain;
	return running ? gain * enabled / running : -1;
}

/* The bandwidth of a node's memory, MB/s: from the setting, or as the loader knows it; 0: unknown. */
static __always_inline u32 counters_capacity(void)
{
	return memory_mbps ?: memory_bandwidth;
}

/* The bandwidth that intensity is relative to, MB/s: the capacity, or else the highest rate ever seen. */
static __always_inline u32 counters_bandwidth(struct node_memory *memory)
{
	return counters_capacity() ?: memory->most;
}

/* Notes the rate at which this CPU's task moves data, MB/s. */
static __always_inline void counters_note_rate(struct node_memory *memory, struct cpu_counters *counters, u32 rate)
{
	s32 all_of_it;

	/* The sum changes by differences, as CPUs change it at the same time. */
	all_of_it = __sync_fetch_and_add(&memory->rate, (s32)(rate - counters->rate)) + (s32)(rate - counters->rate);
	counters->rate = rate;
	/* Of two new records at the same time one may be lost; the next record is near. */
	if (all_of_it > memory->most)
		memory->most = all_of_it;
	if (all_of_it > 0 && (u64)all_of_it * 10 > counters_bandwidth(memory))
		memory->used = bpf_ktime_get_ns();
}

/* Notes this CPU's rate by its transactions in the last @ran ns. */
static void counters_note_moved(u32 cpu, u64 ran, u64 transactions)
{
	struct cpu_counters *counters = &cpu_counters[cpu & (MAX_CPUS - 1)];

	counters->ran += ran;
	counters->moved += transactions;
	if (counters->ran < RATE_AFTER)
		return;
	counters_note_rate(memory_of(cpu), counters, counters->moved * transaction_bytes * 1000 / counters->ran);
	counters->ran = 0;
	counters->moved = 0;
}

/*
 * Whether the memory of @cpu's node is saturated by at most @nr CPUs, which are all busy CPUs of the node. Memory begins to count as full
 * at 31/32 of its bandwidth and ceases below 15/16; @was tells whether it counted as full before. False where the bandwidth is unknown.
 */
static __always_inline bool counters_memory_full(u32 cpu, u32 nr, bool was)
{
	struct node_memory *memory = memory_of(cpu);
	u32 known = counters_capacity();

	return known && memory->nr_busy <= (s32)nr && memory->rate >= (s32)(known - known / (was ? 16 : 32));
}

/* Whether memory is used enough for tasks to disturb each other there: at a tenth of its bandwidth, at least. */
static bool counters_memory_matters(u32 cpu)
{
	u64 used = memory_of(cpu)->used;

	return used && bpf_ktime_get_ns() < used + MATTERS_FOR;
}

/* How many fair shares of the memory a task takes that moves @rate MB/s now, of ONE, 0..TRAFFIC_MOST. */
static u32 counters_traffic(u32 cpu, u32 rate)
{
	struct node_memory *memory = memory_of(cpu);
	u64 sharers = memory->nr_busy > 0 ? memory->nr_busy : 1, bandwidth, traffic;

	bandwidth = counters_bandwidth(memory);
	if (!bandwidth)
		return 0;
	traffic = rate * sharers * ONE / bandwidth;
	return traffic < TRAFFIC_MOST ? traffic : TRAFFIC_MOST;
}

/*
 * The weight of the last @ran ns in an average, of ONE. A whole slice has the setting's weight; a shorter time has proportionally less. A
 * new task's average covers its whole life as long as that is short.
 */
static u64 counters_weight(struct task_ctx *tctx, u64 ran)
{
	u64 slice = SLICE_NS, weight = (u64)intensity_weight_pct * ONE / 100, in_life;

	tctx->counted.watched += ran;
	in_life = ran * ONE / tctx->counted.watched;
	if (ran < slice)
		weight = weight * ran / slice;
	return weight > in_life ? weight : in_life;
}

/* Takes @value, of ONE, into an average. */
static __always_inline void counters_average(u32 *average, u32 value, u64 weight)
{
	s64 difference = ((s64)value << FINE_SHIFT) - *average;

	*average += (difference * (s64)weight) >> FINE_SHIFT;
}

/*
 * Takes a task's last @ran ns into its averages. @stall is negative where no event counts stalled cycles; use of the memory's capacity
 * stands in then. Where the capacity is unknown a task is taken to use none of it.
 */
static void counters_fold(struct task_ctx *tctx, u32 cpu, u64 ran, s64 transactions, s64 stall)
{
	u32 traffic = counters_traffic(cpu, transactions * transaction_bytes * 1000 / ran);
	u32 intensity = traffic < ONE ? traffic : ONE;
	u64 weight = counters_weight(tctx, ran);

	counters_average(&tctx->counted.fine_intensity, intensity, weight);
	if (stall < 0)
		stall = counters_capacity() ? intensity : 0;
	counters_average(&tctx->counted.fine_stall, stall, weight);
	counters_average(&tctx->counted.fine_traffic, traffic, weight);
	tctx->counted.intensity = tctx->counted.fine_intensity >> FINE_SHIFT;
	tctx->counted.stall = tctx->counted.fine_stall >> FINE_SHIFT;
	tctx->counted.traffic = tctx->counted.fine_traffic >> FINE_SHIFT;
	tctx->counted.measured = tctx->counted.watched >= MEASURED_AFTER;
}

/*
 * A CPU runs a task. Until its rate is measured anew the CPU keeps the rate from before it was idle, as the CPU of a lone task is idle
 * between the task's slices.
 */
static __always_inline void counters_busy(u32 cpu)
{
	struct cpu_counters *counters = &cpu_counters[cpu & (MAX_CPUS - 1)];

	if (counters->busy)
		return;
	counters->busy = true;
	__sync_fetch_and_add(&memory_of(cpu)->nr_busy, 1);
	__sync_fetch_and_add(&memory_of(cpu)->rate, (s32)counters->rate);
}

/* Copies a task's averages to its CPU. If the task is not measured yet, the next reading begins to measure it. */
static __always_inline void counters_running(struct task_ctx *tctx)
{
	u32 cpu = bpf_get_smp_processor_id();
	struct cpu_counters *counters = &cpu_counters[cpu & (MAX_CPUS - 1)];
	struct cpu_ctx *cctx = cpu_of(cpu);

	counters_busy(cpu);
	cctx->counted.intensity = tctx->counted.intensity;
	cctx->counted.stall = tctx->counted.stall;
	cctx->counted.traffic = tctx->counted.traffic;
	if (counters->rest && !tctx->counted.measured)
		counters->rest = 1;
}

/* A CPU goes idle: the other CPUs' shares of the memory grow. */
static __always_inline void counters_idle(u32 cpu)
{
	struct cpu_counters *counters = &cpu_counters[cpu & (MAX_CPUS - 1)];

	if (!counters->busy)
		return;
	counters->busy = false;
	__sync_fetch_and_add(&memory_of(cpu)->nr_busy, -1);
	__sync_fetch_and_add(&memory_of(cpu)->rate, -(s32)counters->rate);
}

/*
 * Whether the energy-delay factor of a CPU's tasks can be told. Where the power of its clocks is known, cycles that wait for memory tell
 * it, if these are counted (@stalls). Use of the memory's capacity tells it in any case.
 */
static __always_inline bool counters_tell_factor(u32 cpu, bool stalls)
{
	return counters_capacity() || (stalls && !edp_base_pct && clock_power_known(facts_of(cpu)->opp_table));
}

/* Notes whether the energy-delay factor can act. Of CPUs of several kinds one that can act is enough. */
static __always_inline void counters_tell_state(u32 cpu, bool stalls)
{
	if (edp_state == TANDEM_STATE_OFF || edp_state == TANDEM_STATE_ACTIVE)
		return;
	if (!counters_tell_factor(cpu, stalls))
		edp_state = TANDEM_STATE_NO_BANDWIDTH;
	else
		edp_state = clock_has_factor(cpu) ? TANDEM_STATE_ACTIVE : TANDEM_STATE_NO_CLOCK;
}

/* The first reading on a CPU. From now on counters work, and mechanisms that need them are on. */
static void counters_begin(u32 cpu, struct cpu_counters *counters, bool stalls)
{
	counters->known = true;
	counters_tell_state(cpu, stalls);
	if (counters_work)
		return;
	counters_work = true;
	if (sorted_state != TANDEM_STATE_NO_COUNTERS)
		return;
	sorted_state = TANDEM_STATE_ACTIVE;
	/* The base is no longer without mechanisms. */
	__sync_fetch_and_and(&active, ~ALONE);
	__sync_fetch_and_or(&active, SORTED);
}

/* Whether this reading is left out. The first reading after those left out only notes where the counters stand. */
static __always_inline bool counters_rest(struct cpu_counters *counters)
{
	return counters->rest && --counters->rest;
}

/* Leaves out the next readings if a task's behaviour has not changed. */
static __always_inline void counters_may_rest(struct node_memory *memory, struct cpu_counters *counters, struct task_ctx *tctx, u32 before)
{
	u32 now = tctx->counted.intensity + tctx->counted.stall;

	if (tctx->counted.measured && !memory->watched && (now > before ? now - before : before - now) <= COUNTERS_SAME)
		counters->rest = COUNTERS_REST;
}

/*
 * Takes the counters' gain on this CPU since the last reading for @p, which has run for @ran ns since then; returns whether the task's
 * averages changed.
 */
static bool counters_count(struct task_struct *p, u32 cpu, u64 ran)
{
	struct cpu_counters *counters = &cpu_counters[cpu & (MAX_CPUS - 1)];
	s64 transactions, stalled, all_cycles;
	bool anew = counters->rest == 1;
	struct task_ctx *tctx;
	u32 before;

	if (counters_rest(counters))
		return false;
	transactions = counter_gain(&memory_transactions, &counters->transactions);
	if (transactions < 0)
		return false;
	stalled = counter_gain(&stalled_cycles, &counters->stalled);
	all_cycles = counter_gain(&cycles, &counters->cycles);
	counters_busy(cpu);
	if (!counters->known) {
		counters_begin(cpu, counters, stalled >= 0);
		return false;
	}
	tctx = task_of(p);
	if (!tctx || !ran || anew)
		return false;
	before = tctx->counted.intensity + tctx->counted.stall;
	if (memory_of(cpu)->watched)
		__sync_fetch_and_add(&memory_of(cpu)->moved, transactions);
	counters_note_moved(cpu, ran, transactions);
	/* Many processors have no event for stalled cycles; then only intensity is known. */
	if (stalled < 0 || all_cycles <= 0)
		counters_fold(tctx, cpu, ran, transactions, -1);
	else
		counters_fold(tctx, cpu, ran, transactions, clock_share_at_top(cpu, stalled, all_cycles, ran));
	counters_may_rest(memory_of(cpu), counters, tctx, before);
	counters_running(tctx);
	return true;
}

#endif /* __TANDEM_CLOCKS_COUNTERS_H */
