/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pressure: the capacity that real-time and deadline threads, interrupts, a hypervisor's host and heat take of a CPU.
 *
 * The pressure is the kernel's own (scale_rt_capacity of kernel/sched/fair.c), read from run queues. A CPU looks at itself every few
 * ticks, and when a real-time thread takes it. Where some CPUs have pressure, busy CPUs also look at one other CPU, as idle CPUs have no
 * ticks. A CPU with much less capacity left than another of its kind is under pressure. The CPU then leaves the sets in which idle CPUs
 * are sought, and comes after the others (pressed.bpf.h). So choices cost nothing where there is no pressure.
 *
 * Real-time threads do not make an idle CPU slower: as they come, the running task goes elsewhere. Interrupts and heat do make an idle
 * CPU slower. Where CPUs differ, a slowed CPU counts as the kind that it is no faster than, and a thread that computes there leaves the
 * CPU.
 */
#ifndef __TANDEM_PLACE_PRESSURE_H
#define __TANDEM_PLACE_PRESSURE_H

#include "gather.bpf.h"

enum {
	/*
	 * When a CPU looks at itself: at ticks at which the running task's total CPU time, ns, has none of these bits set. That is one of
	 * eight ticks of any length, and needs no counter.
	 */
	PRESSURE_TICKS = 7 << 22,
	/*
	 * The time from a look at another CPU to the next, ns. An idle CPU has no ticks to look at itself: a wakeup or another CPU's tick
	 * looks at it.
	 */
	PRESSURE_NEXT_NS = 8 * NSEC_PER_MSEC,
	/* No kernel figure tells how much interrupts take of an idle CPU. For this long the last figure is taken to hold, ns. */
	PRESSURE_IRQ_NS = 512 * NSEC_PER_MSEC,
	/* Of UTIL_ONE: a smaller share counts as none, and a smaller change makes no difference. */
	PRESSURE_STEP = UTIL_ONE / 16,
	/* By how much a CPU's taken share must exceed the least one of its kind, for pressure to begin, and to go on. */
	PRESSURE_BEGINS = UTIL_ONE * 3 / 16,
	PRESSURE_STAYS = UTIL_ONE / 8,
};

/* A CPU's last look. The CPU that looks writes it; `busy` keeps other CPUs out. */
struct pressure {
	u32 busy;
	/* Share of the capacity that interrupts and heat take, of UTIL_ONE. */
	u16 slowed;
	/* When the kernel updated its figures, by the kernel's clock, and when a look first saw that update, ns. */
	u64 rt_stamp;
	u64 rt_seen;
	u64 irq_stamp;
	u64 irq_seen;
};

struct pressure pressures[MAX_CPUS];

/* The least share that is taken of any CPU of a kind. */
u16 pressure_least[MAX_KINDS];

/* The performance of a kind's fastest CPU. */
u32 kind_performance[MAX_KINDS];

/* Ways to find an idle CPU. */
enum idle_way {
	/* As the kernel finds it. */
	IDLE_ANY,
	/* Where there are several lines. */
	IDLE_NEAR,
	/* Where there are several kinds. */
	IDLE_UNEQUAL,
	/* While CPUs are under pressure. */
	IDLE_PRESSED,
};

/* The way in use, and the way while no CPU is under pressure. */
u8 idle_way;
u8 idle_way_free;

/* How many CPUs have a taken share, and which CPUs, 64 to a word. How many CPUs are under pressure. */
s32 nr_taken;
u64 taken_cpus[MAX_CPUS / 64];
s32 nr_pressed;

/* When a CPU last looked at one of these, ns, and the next CPU to look at. */
u64 pressure_looked_at;
u32 pressure_next;

/* The CPUs of each line. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct cpu_set);
	__uint(max_entries, MAX_LINES);
} line_sets SEC(".maps");

/* CPUs under pressure, by kind. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__type(key, u32);
	__type(value, struct cpu_set);
	__uint(max_entries, MAX_KINDS);
} pressed_sets SEC(".maps");

/* Capacity that firmware's limits take, and capacity that cooling devices take. */
extern const unsigned long hw_pressure __ksym __weak;
extern const unsigned long cpufreq_pressure __ksym __weak;

u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;

static __always_inline struct pressure *pressure_of(u32 cpu)
{
	return &pressures[cpu & (MAX_CPUS - 1)];
}

/* Two CPUs may change the number at once; each look corrects the way that the other left. */
static __always_inline void pressure_choose_way(void)
{
	u8 way = nr_pressed > 0 ? IDLE_PRESSED : idle_way_free;

	if (idle_way != way)
		idle_way = way;
}

/* The lower of @value and @most. */
static __always_inline u32 pressure_at_most(u64 value, u32 most)
{
	return value < most ? value : most;
}

/* Capacity that a limit on clocks takes. The figure for firmware is a mean, which the kernel updates while the CPU is busy. */
static __always_inline u32 pressure_heat(struct rq *rq, u32 cpu, u32 capacity)
{
	const unsigned long *limits = bpf_ksym_exists(&cpufreq_pressure) ? bpf_per_cpu_ptr(&cpufreq_pressure, cpu) : 0;
	const unsigned long *firmware = bpf_ksym_exists(&hw_pressure) ? bpf_per_cpu_ptr(&hw_pressure, cpu) : 0;
	u64 heat = limits ? *limits : 0, other = firmware ? *firmware : 0;

	if (other && bpf_core_field_exists(rq->avg_hw) && cpu == bpf_get_smp_processor_id())
		other = rq->avg_hw.load_avg;
	return pressure_at_most(heat > other ? heat : other, capacity);
}

/* Utilisation by real-time and deadline threads. In the kernel it decays when the CPU has work to do; here it decays by time. */
static __always_inline u32 pressure_above(struct rq *rq, struct pressure *known, u64 now)
{
	u64 stamp = rq->avg_rt.last_update_time + rq->avg_dl.last_update_time;
	u32 used = pressure_at_most(rq->avg_rt.util_avg + rq->avg_dl.util_avg, UTIL_ONE);

	if (!used)
		return 0;
	if (stamp != known->rt_stamp) {
		known->rt_stamp = stamp;
		known->rt_seen = now;
		return used;
	}
	return util_decayed(used, now - known->rt_seen);
}

/* Utilisation by interrupts and a hypervisor's host (CONFIG_IRQ_TIME_ACCOUNTING, CONFIG_PARAVIRT_TIME_ACCOUNTING). */
static __always_inline u32 pressure_irq(struct rq *rq, struct pressure *known, u64 now)
{
	u64 stamp;
	u32 used;

	if (!bpf_core_field_exists(rq->avg_irq))
		return 0;
	used = pressure_at_most(rq->avg_irq.util_avg, UTIL_ONE);
	stamp = rq->avg_irq.last_update_time;
	if (!used)
		return 0;
	if (stamp != known->irq_stamp) {
		known->irq_stamp = stamp;
		known->irq_seen = now;
	}
	return now - known->irq_seen < PRESSURE_IRQ_NS ? used : 0;
}

/* Puts a CPU into its sets, or takes the CPU out of them. */
static __noinline int pressure_place(struct base_cpu *bctx, bool belongs)
{
	u32 cpu = bctx->number, line = bctx->line, kind = bctx->kind;

	if (!place_likes(cpu))
		return 0;
	if (bctx->pressed) {
		cpu_set_change(bpf_map_lookup_elem(&pressed_sets, &kind), cpu, belongs);
		return 0;
	}
	cpu_set_change(bpf_map_lookup_elem(&line_sets, &line), cpu, belongs);
	cpu_set_change(bpf_map_lookup_elem(&kind_sets, &kind), cpu, belongs);
	if (gather_has(cpu))
		cpu_set_change(bpf_map_lookup_elem(&gather_sets, &gather_first), cpu, belongs);
	return 0;
}

/* The kind of a CPU with only @performance left: its own, or the slowest slower kind that the CPU is not much faster than. */
static __always_inline u32 pressure_kind(u32 own, u32 performance)
{
	u32 kind = own;
	s32 next;

	for_range(next, 1, MAX_KINDS) {
		if (next >= nr_kinds)
			break;
		if (next > own && !much_faster(performance, kind_performance[next & (MAX_KINDS - 1)]))
			kind = next;
	}
	return kind;
}

/* The performance that is left of a CPU. */
static __always_inline u32 pressure_left(u32 cpu, u32 taken)
{
	return facts_of(cpu)->performance * (UTIL_ONE - taken) >> 10;
}

/* Updates a CPU's sets, its kind and its limits after a look. */
static __noinline int pressure_apply(struct base_cpu *bctx, bool pressed)
{
	u32 cpu = bctx->number, own = cpu_of(cpu)->kind;
	struct pressure *known = pressure_of(cpu);
	u32 left = pressure_left(cpu, known->slowed);

	pressure_place(bctx, false);
	if (pressed != bctx->pressed) {
		__sync_fetch_and_add(&nr_pressed, pressed ? 1 : -1);
		bctx->pressed = pressed;
	}
	if (nr_kinds > 1) {
		bctx->kind = known->slowed >= PRESSURE_STAYS ? pressure_kind(own, left) : own;
		bctx->too_much = bctx->kind ? pressure_left(cpu, bctx->taken) * 1024 / 1280 : TOO_MUCH_NEVER;
	}
	bctx->slowed = known->slowed >= PRESSURE_STAYS && (pressed || bctx->kind != own);
	pressure_place(bctx, true);
	return 0;
}

/* Finds the least share that is taken of any CPU of a kind. */
static __noinline int pressure_find_least(u32 kind)
{
	u32 least = UTIL_ONE;
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		if (cpu_of(cpu)->kind == kind && base_cpu_of(cpu)->taken < least && !gone[cpu & (MAX_CPUS - 1)])
			least = base_cpu_of(cpu)->taken;
		if (!least)
			break;
	}
	pressure_least[kind & (MAX_KINDS - 1)] = least < UTIL_ONE ? least : 0;
	return 0;
}

/* Sets the share that is taken of a CPU. */
static __always_inline void pressure_set(struct base_cpu *bctx, u32 taken)
{
	u32 cpu = bctx->number;

	if (!taken != !bctx->taken) {
		__sync_fetch_and_xor(&taken_cpus[(cpu / 64) & (MAX_CPUS / 64 - 1)], 1ULL << (cpu & 63));
		__sync_fetch_and_add(&nr_taken, taken ? 1 : -1);
	}
	bctx->taken = taken;
}

static __always_inline bool pressure_differs(u32 one, u32 other)
{
	return (one > other ? one - other : other - one) >= PRESSURE_STEP;
}

/* Notes the share that is taken of a CPU, of UTIL_ONE; returns whether the share changed enough to make a difference. */
static __always_inline bool pressure_note(struct base_cpu *bctx, struct pressure *known, u32 kind, u32 taken, u32 slowed)
{
	u32 before = bctx->taken;

	if (taken < PRESSURE_STEP)
		taken = slowed = 0;
	if (!pressure_differs(taken, before) && !pressure_differs(slowed, known->slowed) && !taken == !before)
		return false;
	pressure_set(bctx, taken);
	known->slowed = slowed;
	if (taken < pressure_least[kind & (MAX_KINDS - 1)])
		pressure_least[kind & (MAX_KINDS - 1)] = taken;
	else if (before <= pressure_least[kind & (MAX_KINDS - 1)])
		pressure_find_least(kind);
	return true;
}

/* Whether a CPU is under pressure. */
static __always_inline bool pressure_has(struct base_cpu *bctx, u32 kind)
{
	u32 least = pressure_least[kind & (MAX_KINDS - 1)], more = bctx->taken > least ? bctx->taken - least : 0;

	return more >= (bctx->pressed ? PRESSURE_STAYS : PRESSURE_BEGINS);
}

/*
 * Looks at a CPU, as scale_rt_capacity does. The whole capacity is the one at the clocks that were allowed when the scheduler was loaded.
 */
static __always_inline void pressure_update(struct rq *rq, struct base_cpu *bctx, struct pressure *known)
{
	u32 cpu = bctx->number, kind = cpu_of(cpu)->kind;
	u32 capacity = scx_bpf_cpuperf_cap(cpu), actual, allowed, above, irq;
	u64 now = bpf_ktime_get_ns();
	bool changed, pressed;

	actual = capacity - pressure_heat(rq, cpu, capacity);
	allowed = capacity * facts_of(cpu)->performance / (facts_of(cpu)->capacity ?: 1);
	if (!allowed)
		return;
	if (actual > allowed)
		actual = allowed;
	irq = pressure_at_most(pressure_irq(rq, known, now), actual);
	above = pressure_at_most(pressure_above(rq, known, now), actual);
	irq = (actual - irq) * UTIL_ONE / allowed;
	above = actual ? irq * (actual - above) / actual : 0;
	changed = pressure_note(bctx, known, kind, UTIL_ONE - above, UTIL_ONE - irq);
	pressed = pressure_has(bctx, kind);
	if (changed || pressed != bctx->pressed)
		pressure_apply(bctx, pressed);
}

/* Looks at a CPU, unless another CPU is doing so or the CPU has gone. */
static __noinline int pressure_look(u32 cpu)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	struct pressure *known = pressure_of(cpu);
	struct rq *rq;

	if (gone[cpu & (MAX_CPUS - 1)] || __sync_val_compare_and_swap(&known->busy, 0, 1))
		return 0;
	rq = bpf_per_cpu_ptr(&runqueues, cpu);
	if (rq)
		pressure_update(rq, bctx, known);
	pressure_choose_way();
	known->busy = 0;
	return 0;
}

/* Looks at one of the CPUs that have a taken share; these take turns. */
static __noinline int pressure_look_around(void)
{
	u32 words = (nr_cpus + 63) / 64, next = pressure_next;
	s32 step;

	pressure_looked_at = bpf_ktime_get_ns();
	for_range(step, 0, words + 1) {
		u32 word = (next / 64 + (u32)step) % (words ?: 1);
		u64 bits = taken_cpus[word & (MAX_CPUS / 64 - 1)];
		u32 cpu;

		if (!step)
			bits &= ~0ULL << (next & 63);
		if (!bits)
			continue;
		cpu = word * 64 + lowest_bit(bits);
		pressure_next = cpu + 1 < nr_cpus ? cpu + 1 : 0;
		pressure_look(cpu);
		break;
	}
	return 0;
}

/* The capacity that is taken of this CPU by the kernel's latest figures. Less than PRESSURE_STEP counts as nothing. */
static __always_inline u64 pressure_glance(void)
{
	const unsigned long *limits = bpf_ksym_exists(&cpufreq_pressure) ? bpf_this_cpu_ptr(&cpufreq_pressure) : 0;
	u64 used = limits ? *limits : 0;
	const struct rq *rq = bpf_this_cpu_ptr(&runqueues);

	used += rq->avg_rt.util_avg + rq->avg_dl.util_avg;
	if (bpf_core_field_exists(rq->avg_irq))
		used += rq->avg_irq.util_avg;
	if (bpf_core_field_exists(rq->avg_hw))
		used += rq->avg_hw.load_avg;
	return used;
}

/*
 * Looks at this CPU, or at another one that may be idle, as some CPU has a taken share. Mechanisms choose CPUs by sets that have all CPUs
 * of a kind, and do without pressure.
 */
static __noinline int pressure_look_again(u64 used)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (!!is_asked(MECHANISMS))
		return 0;
	if (used >= PRESSURE_STEP || base_cpu_of(cpu)->taken)
		pressure_look(cpu);
	if (bpf_ktime_get_ns() - pressure_looked_at > PRESSURE_NEXT_NS)
		pressure_look_around();
	return 0;
}

/* Makes this CPU look at itself. */
static __noinline int pressure_look_here(void)
{
	u64 used = pressure_glance();

	if (used >= PRESSURE_STEP || nr_taken)
		pressure_look_again(used);
	return 0;
}

/* A real-time thread takes a CPU: there is no task to preempt there, and no slice whose end is worth waiting for. */
static __always_inline void pressure_released(u32 cpu)
{
	base_cpu_of(cpu)->deadline = 0;
	pressure_look_here();
}

/* A CPU is about to go offline. When it comes back, no share of it is taken. */
static __always_inline void pressure_forget(u32 cpu)
{
	struct base_cpu *bctx = base_cpu_of(cpu);

	pressure_set(bctx, 0);
	pressure_of(cpu)->slowed = 0;
	if (bctx->pressed || bctx->kind != cpu_of(cpu)->kind)
		pressure_apply(bctx, false);
	pressure_choose_way();
}

/* Whether a CPU is under pressure, for the sets' first members: at first no CPU is. */
static __always_inline bool pressure_is_of(u32 cpu, u32 kind)
{
	return base_cpu_of(cpu)->pressed && base_cpu_of(cpu)->kind == kind;
}

static s32 pressure_make_set(u32 kind)
{
	return cpu_set_make(bpf_map_lookup_elem(&pressed_sets, &kind), pressure_is_of, kind);
}

/* Call after util_init. */
static s32 pressure_init(void)
{
	s32 at, err;

	for_range(at, 0, nr_cpus) {
		u32 kind = cpu_of(at)->kind & (MAX_KINDS - 1);

		if (facts_of(at)->performance > kind_performance[kind])
			kind_performance[kind] = facts_of(at)->performance;
	}
	for_range(at, 0, MAX_KINDS) {
		err = pressure_make_set(at);
		if (err)
			return err;
	}
	return 0;
}

#endif /* __TANDEM_PLACE_PRESSURE_H */
