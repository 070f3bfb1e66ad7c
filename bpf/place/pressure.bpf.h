/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pressure: what real-time and deadline threads, interrupts, a host and heat take of a CPU.
 *
 * It is the kernel's own (scale_rt_capacity of kernel/sched/fair.c), read from run queues. A CPU glances at itself every few ticks, and as
 * a real-time thread takes it; where something is taken of CPUs busy ones look at one more, as idle ones have no ticks. A CPU that has much
 * less left than another of its kind is under pressure: it is taken out of the sets among which idle CPUs are looked for, and comes after
 * the others (pressed.bpf.h). So choices cost nothing where there is no pressure.
 *
 * What real-time threads take does not make a CPU slower while it is idle: what runs as they come goes elsewhere. Interrupts and heat do:
 * where CPUs differ such a CPU is of the kind that it is no faster than, and what computes there leaves it.
 */
#ifndef __TANDEM_PLACE_PRESSURE_H
#define __TANDEM_PLACE_PRESSURE_H

#include "gather.bpf.h"

enum {
	/*
	 * When a CPU looks at itself: at ticks at which what runs has had so much, ns, that none of these bits is set. With ticks of any
	 * length that is one of eight, and there is no need to count them.
	 */
	PRESSURE_TICKS = 7 << 22,
	/* How far another look is off that nobody but who wakes could take, ns. */
	PRESSURE_NEXT_NS = 8 * NSEC_PER_MSEC,
	/* What interrupts take of an idle CPU nobody counts: it is taken for as much for so long, ns. */
	PRESSURE_IRQ_NS = 512 * NSEC_PER_MSEC,
	/* Of UTIL_ONE: a smaller share is none, and a smaller change makes no difference. */
	PRESSURE_STEP = UTIL_ONE / 16,
	/* How much more must be taken than of another CPU of the kind, for a CPU to come to be under pressure, and to stay so. */
	PRESSURE_BEGINS = UTIL_ONE * 3 / 16,
	PRESSURE_STAYS = UTIL_ONE / 8,
};

/* What is known of a CPU. Whoever looks writes it, one at a time. */
struct pressure {
	u32 busy;
	/* Of UTIL_ONE: what interrupts and heat take of its capacity. */
	u16 slowed;
	/* When the kernel had brought its figures up to date by its own clock, and when that was seen, ns. */
	u64 rt_stamp;
	u64 rt_seen;
	u64 irq_stamp;
	u64 irq_seen;
};

struct pressure pressures[MAX_CPUS];

/* The least that is taken of a CPU of a kind. */
u16 pressure_least[MAX_KINDS];

/* The performance of a kind's fastest CPU. */
u32 kind_performance[MAX_KINDS];

/* How an idle CPU is found. */
enum idle_way {
	/* As the kernel does it. */
	IDLE_ANY,
	/* Where there are several lines. */
	IDLE_NEAR,
	/* Where there are several kinds. */
	IDLE_UNEQUAL,
	/* While CPUs are under pressure. */
	IDLE_PRESSED,
};

/* That; and while none is under pressure. */
u8 idle_way;
u8 idle_way_free;

/* Of how many CPUs something is taken, and which, 64 to a word; and how many are under pressure. */
s32 nr_taken;
u64 taken_cpus[MAX_CPUS / 64];
s32 nr_pressed;

/* When one of these was last looked at by another one, ns, and which is the next. */
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

/* Where firmware tells of limits; and where cooling devices do. */
extern const unsigned long hw_pressure __ksym __weak;
extern const unsigned long cpufreq_pressure __ksym __weak;

u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;

static __always_inline struct pressure *pressure_of(u32 cpu)
{
	return &pressures[cpu & (MAX_CPUS - 1)];
}

/* Two CPUs may change the number at once: each look makes good what the other one's left. */
static __always_inline void pressure_choose_way(void)
{
	u8 way = nr_pressed > 0 ? IDLE_PRESSED : idle_way_free;

	if (idle_way != way)
		idle_way = way;
}

/* @value, or @most if that is less. */
static __always_inline u32 pressure_at_most(u64 value, u32 most)
{
	return value < most ? value : most;
}

/* Capacity that a limit on clocks takes. That of firmware is a mean, which the kernel keeps while the CPU is busy. */
static __always_inline u32 pressure_heat(struct rq *rq, u32 cpu, u32 capacity)
{
	const unsigned long *limits = bpf_ksym_exists(&cpufreq_pressure) ? bpf_per_cpu_ptr(&cpufreq_pressure, cpu) : 0;
	const unsigned long *firmware = bpf_ksym_exists(&hw_pressure) ? bpf_per_cpu_ptr(&hw_pressure, cpu) : 0;
	u64 heat = limits ? *limits : 0, other = firmware ? *firmware : 0;

	if (other && bpf_core_field_exists(rq->avg_hw) && cpu == bpf_get_smp_processor_id())
		other = rq->avg_hw.load_avg;
	return pressure_at_most(heat > other ? heat : other, capacity);
}

/* What real-time and deadline threads use. The kernel lets it fall as it has something to do on the CPU; here it falls by time. */
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

/* What interrupts use, and a host (CONFIG_IRQ_TIME_ACCOUNTING, CONFIG_PARAVIRT_TIME_ACCOUNTING). */
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

/* Takes a CPU into the sets where it belongs, or out of these. */
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

/* The kind that a CPU is of with so much performance left: no slower than its own but for those that it is no faster than. */
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

/* What is left of a CPU's performance. */
static __always_inline u32 pressure_left(u32 cpu, u32 taken)
{
	return facts_of(cpu)->performance * (UTIL_ONE - taken) >> 10;
}

/* Makes of a CPU what it is by now. */
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

/* The least that is taken of a CPU of a kind, looked for anew. */
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

/* Sets what is taken of a CPU. */
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

/* Notes what is taken of a CPU, of UTIL_ONE; whether that makes a difference. */
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

/* Looks at a CPU, as scale_rt_capacity does. Of its capacity counts what its clocks were allowed as the scheduler came. */
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

/* The same, if no other CPU does so, and the CPU is there. */
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

/* Looks at one of the CPUs of which something is taken, each in its turn. */
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

/* What is used of this CPU, and missing, by the kernel's latest figures: less than PRESSURE_STEP is nothing. */
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
 * Something is taken of a CPU: of this one, or of another one that may be idle. Mechanisms choose CPUs by sets that have all of a kind, and
 * do without.
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

/* A CPU looks at itself. */
static __noinline int pressure_look_here(void)
{
	u64 used = pressure_glance();

	if (used >= PRESSURE_STEP || nr_taken)
		pressure_look_again(used);
	return 0;
}

/* A real-time thread takes a CPU: nothing that runs there can be preempted, or waits for the end of a slice. */
static __always_inline void pressure_released(u32 cpu)
{
	base_cpu_of(cpu)->deadline = 0;
	pressure_look_here();
}

/* A CPU is about to go: nothing is taken of it when it comes again. */
static __always_inline void pressure_forget(u32 cpu)
{
	struct base_cpu *bctx = base_cpu_of(cpu);

	pressure_set(bctx, 0);
	pressure_of(cpu)->slowed = 0;
	if (bctx->pressed || bctx->kind != cpu_of(cpu)->kind)
		pressure_apply(bctx, false);
	pressure_choose_way();
}

/* At first no CPU is. */
static __always_inline bool pressure_is_of(u32 cpu, u32 kind)
{
	return base_cpu_of(cpu)->pressed && base_cpu_of(cpu)->kind == kind;
}

static s32 pressure_make_set(u32 kind)
{
	return cpu_set_make(bpf_map_lookup_elem(&pressed_sets, &kind), pressure_is_of, kind);
}

/* After util_init. */
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
