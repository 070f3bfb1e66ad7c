/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * sorted: the pairs of CPUs, the run queue of each CPU, and the ends of the pairs' epochs (Merkel & Bellosa, section 4.1).
 *
 * A chip is a package. Its CPUs are paired by position, hardware threads of a core next to each other: 0 with 1, 2 with 3, ... An odd CPU
 * is a pair of its own. Only time keeps a pair in step: both CPUs plan their turns to finish when the pair's epoch ends. Pair p of a
 * chip's P pairs is p/P of an epoch behind the first one.
 */
#ifndef __TANDEM_SORTED_PAIRS_H
#define __TANDEM_SORTED_PAIRS_H

#include "../state/state.bpf.h"

/* The longest epoch, ns. With more tasks slices are shorter instead. */
#define MAX_EPOCH (5ULL * NSEC_PER_SEC)

/* The tasks that wait for a CPU. Sums are atomic, since other CPUs take tasks from here. */
struct run_queue {
	/* Number of the CPU's epoch. Each task in the queue runs once in it; when all have run, the next epoch begins. */
	u64 epoch;
	/* When the epoch is to end, ns; and the weight of all tasks when it began. */
	u64 ends;
	u64 all_weight;
	/* Waiting tasks; their intensity; their weight; and the weight of those whose turn is still in this epoch. */
	s32 nr_waiting;
	s32 intensity;
	s64 weight;
	s64 left;
	/* Position in its chip; the first CPU of its pair; the next CPU of its chip, around. */
	u32 position;
	u32 pair;
	u32 next;
	/* The CPU takes part. */
	bool exists;
	/* An epoch has begun, and the CPU has not balanced since. */
	bool balance;
	/* The running task has its turn; a tick has cut the turn short. */
	bool in_turn;
	bool cut;
	/*
	 * The CPU where it last looked for a longer queue on any chip, and the CPU of its chip where it last looked for tasks of another
	 * intensity.
	 */
	u32 probed;
	u32 varied;
};

struct run_queue run_queues[MAX_CPUS];

static __always_inline struct run_queue *rq_of(u32 cpu)
{
	return &run_queues[cpu & (MAX_CPUS - 1)];
}

/* A pair, by its first CPU. */
struct pair {
	/* When the pair's epoch ends, ns, and how long the epoch is. */
	u64 ends;
	u64 length;
};

struct pair pairs[MAX_CPUS];

static __always_inline struct pair *pair_of(u32 cpu)
{
	return &pairs[rq_of(cpu)->pair & (MAX_CPUS - 1)];
}

/* A chip, by its package's number. Sums are of the last look. */
struct chip {
	u32 nr_cpus;
	u32 first;
	u32 last;
	/* The CPU that is looked at. */
	u32 at;
	/* When a CPU last looked, ns. */
	u64 looked;
	/* The most tasks that a CPU has; that CPU; the CPU with the least intensity, and that intensity. */
	u32 most;
	u32 longest;
	u32 lightest;
	s32 lightest_intensity;
};

struct chip chips[MAX_CPUS];

static __always_inline struct chip *chip_of(u32 cpu)
{
	return &chips[facts_of(cpu)->package & (MAX_CPUS - 1)];
}

/* How many CPUs take part. */
u32 nr_sorted_cpus;

static __always_inline u64 sorted_slice_ns(void)
{
	return (u64)sorted_slice_us * NSEC_PER_USEC;
}

/* Adds a CPU to its chip: to the last CPU's pair, or to a new one. */
static void pairs_add(u32 cpu)
{
	struct run_queue *rq = rq_of(cpu);
	struct chip *chip = chip_of(cpu);

	rq->position = chip->nr_cpus++;
	rq->exists = true;
	nr_sorted_cpus++;
	rq->pair = rq->position & 1 ? chip->last : cpu;
	if (rq->position)
		rq_of(chip->last)->next = cpu;
	else
		chip->first = cpu;
	rq->next = chip->first;
	rq->varied = cpu;
	chip->last = cpu;
}

static __always_inline bool pairs_may_add(u32 cpu)
{
	return cpu < nr_cpus && cpu_of(cpu)->isolate.takes_applications && !rq_of(cpu)->exists;
}

/* Makes all pairs of the CPUs that applications may use. */
static void pairs_init(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		u32 sibling = facts_of(cpu)->sibling;

		if (!pairs_may_add(cpu))
			continue;
		pairs_add(cpu);
		if (smt && pairs_may_add(sibling))
			pairs_add(sibling);
	}
}

/* Counts whether a CPU's running task and the task on its partner are of different halves of intensities. */
static __always_inline void pair_count_mix(u32 cpu)
{
	u32 first = rq_of(cpu)->pair, partner = first == cpu ? rq_of(cpu)->next : first;

	if (partner == cpu || rq_of(partner)->pair != first || cpu_of(partner)->idle)
		return;
	count((cpu_of(partner)->counted.traffic < 512) != (cpu_of(cpu)->counted.traffic < 512) ? TANDEM_STAT_SORTED_MIXED :
										     TANDEM_STAT_SORTED_ALIKE);
}

/* How many tasks a CPU has, including the running one. */
static __always_inline u32 rq_nr(u32 cpu)
{
	s32 waiting = rq_of(cpu)->nr_waiting;

	return (waiting > 0 ? waiting : 0) + !cpu_of(cpu)->idle;
}

/* The sum of the intensities of a CPU's tasks, including the running one. */
static __always_inline s32 rq_intensity(u32 cpu)
{
	return rq_of(cpu)->intensity + (cpu_of(cpu)->idle ? 0 : cpu_of(cpu)->counted.traffic);
}

/* Takes one CPU of a chip into account. */
static __always_inline void chip_look_at(struct chip *chip, u32 cpu)
{
	u32 nr = rq_nr(cpu);
	s32 intensity = rq_intensity(cpu);

	if (nr > chip->most) {
		chip->most = nr;
		chip->longest = cpu;
	}
	if (intensity < chip->lightest_intensity) {
		chip->lightest_intensity = intensity;
		chip->lightest = cpu;
	}
}

/*
 * Looks at all CPUs of a CPU's chip, at most twice in a slice however many CPUs ask. Two CPUs that look at once may leave a mixture,
 * which is as good as a look somewhat later. The function is not static, so that the verifier follows it once, not for each of its
 * callers.
 */
__noinline int chip_look(u32 cpu, u64 now)
{
	struct chip *chip = chip_of(cpu);
	s32 step;

	if (now - chip->looked < sorted_slice_ns() / 2)
		return 0;
	chip->looked = now;
	chip->most = 0;
	chip->lightest_intensity = 0x7fffffff;
	chip->at = chip->first;
	for_range(step, 0, MAX_CPUS) {
		if (step >= chip->nr_cpus)
			break;
		chip_look_at(chip, chip->at);
		chip->at = rq_of(chip->at)->next;
	}
	return 0;
}

/* The length of an epoch that begins now: the time that the longest queue takes with the slice of the setting. */
static u64 pair_length(u32 cpu, u64 now)
{
	u64 length;

	chip_look(cpu, now);
	length = (chip_of(cpu)->most ?: 1) * sorted_slice_ns();
	return length < MAX_EPOCH ? length : MAX_EPOCH;
}

/*
 * By how much an epoch that ends at @ends would end too late, ns: pair p of P is to be p/P of an epoch behind the first one. At most a
 * quarter of an epoch, so that slices are even; the rest follows in the next epoch. Negative: the epoch would end too early.
 */
static s64 pair_lag(struct chip *chip, u32 cpu, u64 ends, u64 now)
{
	struct pair *first = pair_of(chip->first);
	u64 length = first->length, number = rq_of(cpu)->position / 2, nr_pairs = (chip->nr_cpus + 1) / 2, lag;

	/* The first pair itself, and a first pair whose CPUs have been idle. */
	if (!number || !length || first->ends + length < now)
		return 0;
	/* Four more lengths keep the difference positive. */
	lag = (ends + 4 * length - first->ends - length * number / nr_pairs) % length;
	if (lag > length / 2)
		return lag > length * 3 / 4 ? -(s64)(length - lag) : -(s64)(length / 4);
	return lag < length / 4 ? lag : length / 4;
}

/* When the pair's epoch ends, ns; begins a new epoch if that is over. */
static u64 pair_ends(u32 cpu, u64 now)
{
	struct chip *chip = chip_of(cpu);
	struct pair *pair = pair_of(cpu);
	u64 ended = pair->ends, length, ends;

	if (now < ended)
		return ended;
	length = pair_length(cpu, now);
	/* After idleness time begins anew. */
	ends = (now - ended < length ? ended : now) + length;
	ends -= pair_lag(chip, cpu, ends, now);
	/* Of the CPUs that come here at the same time, one sets the end. */
	if (__sync_val_compare_and_swap(&pair->ends, ended, ends) != ended)
		return pair->ends;
	pair->length = length;
	count(TANDEM_STAT_SORTED_EPOCHS);
	return ends;
}

#endif /* __TANDEM_SORTED_PAIRS_H */
