/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A scheduler without a policy: settings say how often it does each of the things that a scheduler can do, right or wrong, and
 * chance does the rest. It looks for mistakes of the simulator; whatever it does must end in a run or in an ejection.
 *
 * Left alone, it is a FIFO with one queue.
 */
#include "../../../bpf/include/scx.bpf.h"

char _license[] SEC("license") = "GPL";

#define __range(text) __attribute__((btf_decl_tag("range " text)))
#define __help(text) __attribute__((btf_decl_tag("help " text)))
#define __needs(text) __attribute__((btf_decl_tag("needs " text)))

s32 scx_bpf_pick_any_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
u32 scx_bpf_nr_cpu_ids(void) __ksym;
void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
void scx_bpf_dispatch_cancel(void) __ksym;
void scx_bpf_dsq_reenq(u64 dsq_id, u64 reenq_flags) __ksym __weak;

/* Where a task goes. */
enum place {
	PLACE_FIFO,
	PLACE_LOCAL,
	PLACE_GLOBAL,
	PLACE_SORTED,
	PLACE_OWN,
	/* The local queue of any CPU: it may be one that the task may not use, or there may be none. */
	PLACE_REMOTE,
	PLACE_REMOTE_CAREFUL,
	PLACE_NO_QUEUE,
	PLACE_NOWHERE,
	NR_PLACES,
};

/* How select_cpu chooses. */
enum choice {
	CHOICE_PREV,
	CHOICE_DEFAULT,
	CHOICE_IDLE,
	CHOICE_ANY,
	CHOICE_WILD,
};

enum {
	FIFO_DSQ = 0,
	SORTED_DSQ = 1,
	OWN_DSQ = 100,
	NO_DSQ = 0xdead,
	MAX_CPUS = 1024,
	NR_REMEMBERED = 4,
	PERCENT = 100,
};

/* Percent, but for the first two. */
const volatile enum choice choice __help("How select_cpu chooses.");
const volatile enum place place __help("Where a task goes.");
const volatile u32 other_place_pct __range("0..100");
const volatile u32 direct_pct __range("0..100");
const volatile u32 wild_pct __range("0..100");
const volatile u32 head_pct __range("0..100");
const volatile u32 preempt_pct __range("0..100");
const volatile u32 flags_pct __range("0..100");
const volatile u32 forget_pct __range("0..100");
const volatile u32 kick_pct __range("0..100");
const volatile u32 kick_flags __range("0..7");
const volatile u32 kick_self_pct __range("0..100");
const volatile u32 lazy_pct __range("0..100");
const volatile u32 old_tasks_pct __range("0..100");
const volatile u32 move_pct __range("0..100");
const volatile u32 cut_pct __range("0..100");
const volatile u32 perf_pct __range("0..100");
const volatile u32 perf __range("0..2000");
const volatile u32 destroy_pct __range("0..100");
const volatile u32 refuse_pct __range("0..100");
const volatile u32 error_after __range("0..100000");

const volatile u32 slice_us __range("0..100000") = 5000;
const volatile bool endless __help("Slices have no end.");
const volatile u32 timer_us __range("0..100000");
const volatile u32 cpus __range("0..1024");

/* Callbacks and flags that are there or not. */
const volatile bool with_select __needs("select_cpu");
const volatile bool with_tick __needs("tick");
const volatile bool with_running __needs("running stopping");
const volatile bool with_runnable __needs("runnable quiescent");
const volatile bool with_idle __needs("update_idle");
const volatile bool with_cpus __needs("cpu_online cpu_offline");
const volatile bool with_release __needs("cpu_acquire cpu_release");
const volatile bool with_mask __needs("set_cpumask set_weight");
const volatile bool with_yield __needs("yield");
const volatile bool with_dequeue __needs("dequeue core_sched_before");
const volatile bool keep_builtin_idle __needs("SCX_OPS_KEEP_BUILTIN_IDLE");
const volatile bool enq_last __needs("SCX_OPS_ENQ_LAST");
const volatile bool enq_exiting __needs("SCX_OPS_ENQ_EXITING");
const volatile bool partial __needs("SCX_OPS_SWITCH_PARTIAL");

struct wakeup {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct wakeup);
} wakeups SEC(".maps");

/* Tasks that were seen, by chance still there. */
static s32 remembered[NR_REMEMBERED];
static u32 nr_remembered;
static u32 nr_enqueued;

static bool happens(u32 percent)
{
	return percent && bpf_get_prandom_u32() % PERCENT < percent;
}

/* A CPU that there is. */
static s32 some_cpu(void)
{
	u32 count = scx_bpf_nr_cpu_ids();

	return count ? bpf_get_prandom_u32() % count : 0;
}

/* A CPU that there may be. */
static s32 wild_cpu(void)
{
	return happens(wild_pct) ? (s32)bpf_get_prandom_u32() : some_cpu();
}

static u64 slice(void)
{
	if (happens(cut_pct))
		return 0;
	return endless ? -1ULL : (u64)slice_us * NSEC_PER_USEC;
}

static void kick(s32 cpu)
{
	if (!happens(kick_pct))
		return;
	scx_bpf_kick_cpu(happens(kick_self_pct) ? cpu : wild_cpu(), kick_flags);
}

static u64 flags_of(u64 enq_flags)
{
	if (happens(head_pct))
		enq_flags |= SCX_ENQ_HEAD;
	if (happens(preempt_pct))
		enq_flags |= SCX_ENQ_PREEMPT;
	if (happens(flags_pct))
		enq_flags |= 1ULL << (bpf_get_prandom_u32() % 64);
	return enq_flags;
}

static void put(struct task_struct *p, s32 cpu, u64 enq_flags)
{
	u32 where = happens(other_place_pct) ? bpf_get_prandom_u32() % NR_PLACES : place;

	enq_flags = flags_of(enq_flags);
	switch (where) {
	case PLACE_LOCAL:
		dsq_insert(p, SCX_DSQ_LOCAL, slice(), enq_flags);
		break;
	case PLACE_GLOBAL:
		dsq_insert(p, SCX_DSQ_GLOBAL, slice(), enq_flags);
		break;
	case PLACE_SORTED:
		dsq_insert_vtime(p, SORTED_DSQ, slice(), p->scx.dsq_vtime + bpf_get_prandom_u32() % 1000, enq_flags);
		break;
	case PLACE_OWN:
		dsq_insert(p, OWN_DSQ + (cpu & (MAX_CPUS - 1)), slice(), enq_flags);
		break;
	case PLACE_REMOTE:
		dsq_insert(p, SCX_DSQ_LOCAL_ON | (u32)wild_cpu(), slice(), enq_flags);
		break;
	case PLACE_REMOTE_CAREFUL:
		cpu = scx_bpf_pick_any_cpu(p->cpus_ptr, 0);
		if (cpu >= 0)
			dsq_insert(p, SCX_DSQ_LOCAL_ON | cpu, slice(), enq_flags);
		break;
	case PLACE_NO_QUEUE:
		dsq_insert(p, NO_DSQ, slice(), enq_flags);
		break;
	case PLACE_NOWHERE:
		break;
	default:
		dsq_insert(p, FIFO_DSQ, slice(), enq_flags);
	}
}

s32 BPF_STRUCT_OPS(little_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool is_idle = false;
	s32 cpu = prev_cpu;

	switch (choice) {
	case CHOICE_DEFAULT:
		cpu = scx_bpf_select_cpu_dfl(p, prev_cpu, wake_flags, &is_idle);
		break;
	case CHOICE_IDLE:
		cpu = scx_bpf_pick_idle_cpu(p->cpus_ptr, bpf_get_prandom_u32() % 2);
		break;
	case CHOICE_ANY:
		cpu = some_cpu();
		break;
	case CHOICE_WILD:
		return wild_cpu();
	default:
		break;
	}
	if (cpu < 0)
		cpu = prev_cpu;
	if (happens(direct_pct))
		put(p, cpu, 0);
	kick(cpu);
	return cpu;
}

void BPF_STRUCT_OPS(little_enqueue, struct task_struct *p, u64 enq_flags)
{
	nr_enqueued++;
	if (error_after && nr_enqueued >= error_after)
		scx_error("%u tasks are enough", nr_enqueued);
	remembered[nr_remembered++ % NR_REMEMBERED] = p->pid;
	kick(scx_bpf_task_cpu(p));
	if (happens(forget_pct))
		return;
	put(p, scx_bpf_task_cpu(p), enq_flags);
}

void BPF_STRUCT_OPS(little_dequeue, struct task_struct *p, u64 deq_flags)
{
	kick(scx_bpf_task_cpu(p));
}

/* Tasks that may be anywhere by now. */
static void dispatch_old_tasks(s32 cpu)
{
	struct task_struct *p;
	s32 number;

	for_range(number, 0, NR_REMEMBERED) {
		if (!happens(old_tasks_pct))
			continue;
		p = bpf_task_from_pid(remembered[number & (NR_REMEMBERED - 1)]);
		if (!p)
			continue;
		put(p, cpu, 0);
		bpf_task_release(p);
	}
	if (happens(wild_pct))
		scx_bpf_dispatch_cancel();
}

static void move(s32 cpu)
{
	struct task_struct *p;

	for_queued(it, p, FIFO_DSQ) {
		if (!happens(move_pct))
			continue;
		switch (bpf_get_prandom_u32() % 4) {
		case 0:
			dsq_move(&it, p, SCX_DSQ_LOCAL_ON | (u32)wild_cpu(), 0);
			break;
		case 1:
			dsq_move_vtime(&it, p, SORTED_DSQ, bpf_get_prandom_u32());
			break;
		case 2:
			dsq_move(&it, p, OWN_DSQ + some_cpu(), flags_of(0));
			break;
		default:
			dsq_move(&it, p, SCX_DSQ_LOCAL, 0);
		}
	}
}

void BPF_STRUCT_OPS(little_dispatch, s32 cpu, struct task_struct *prev)
{
	kick(cpu);
	if (happens(lazy_pct))
		return;
	if (old_tasks_pct)
		dispatch_old_tasks(cpu);
	if (move_pct)
		move(cpu);
	if (happens(destroy_pct))
		scx_bpf_destroy_dsq(OWN_DSQ + some_cpu());
	if (prev && happens(cut_pct))
		prev->scx.slice = (u64)slice_us * NSEC_PER_USEC;
	if (happens(wild_pct))
		dsq_move_to_local(NO_DSQ);
	if (dsq_move_to_local(OWN_DSQ + cpu))
		return;
	if (dsq_move_to_local(SORTED_DSQ))
		return;
	if (dsq_move_to_local(FIFO_DSQ))
		return;
	/* No task is left behind in the queue of a CPU that is gone, at least not for ever. */
	dsq_move_to_local(OWN_DSQ + some_cpu());
}

void BPF_STRUCT_OPS(little_tick, struct task_struct *p)
{
	if (happens(cut_pct))
		p->scx.slice = 0;
	kick(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(little_runnable, struct task_struct *p, u64 enq_flags)
{
	kick(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(little_quiescent, struct task_struct *p, u64 deq_flags)
{
	kick(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(little_running, struct task_struct *p)
{
	if (happens(perf_pct))
		scx_bpf_cpuperf_set(wild_cpu(), perf);
	kick(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(little_stopping, struct task_struct *p, bool runnable)
{
	p->scx.dsq_vtime += slice_us - p->scx.slice / NSEC_PER_USEC;
	kick(scx_bpf_task_cpu(p));
}

bool BPF_STRUCT_OPS(little_yield, struct task_struct *from, struct task_struct *to)
{
	from->scx.slice = 0;
	return happens(50);
}

void BPF_STRUCT_OPS(little_update_idle, s32 cpu, bool idle)
{
	kick(cpu);
}

void BPF_STRUCT_OPS(little_cpu_acquire, s32 cpu, struct scx_cpu_acquire_args *args)
{
	kick(cpu);
}

void BPF_STRUCT_OPS(little_cpu_release, s32 cpu, struct scx_cpu_release_args *args)
{
	if (happens(move_pct))
		scx_bpf_reenqueue_local();
	kick(cpu);
}

void BPF_STRUCT_OPS(little_cpu_online, s32 cpu)
{
	kick(cpu);
}

void BPF_STRUCT_OPS(little_cpu_offline, s32 cpu)
{
	kick(cpu);
}

void BPF_STRUCT_OPS(little_set_weight, struct task_struct *p, u32 weight)
{
	kick(scx_bpf_task_cpu(p));
}

void BPF_STRUCT_OPS(little_set_cpumask, struct task_struct *p, const struct cpumask *mask)
{
	kick(scx_bpf_task_cpu(p));
}

bool BPF_STRUCT_OPS(little_core_sched_before, struct task_struct *a, struct task_struct *b)
{
	return a->pid < b->pid;
}

static int wake_up(void *map, u32 *key, struct wakeup *wakeup)
{
	if (bpf_ksym_exists(scx_bpf_dsq_reenq) && happens(move_pct))
		scx_bpf_dsq_reenq(FIFO_DSQ, 0);
	kick(some_cpu());
	bpf_timer_start(&wakeup->timer, (u64)timer_us * NSEC_PER_USEC, happens(50) ? BPF_F_TIMER_CPU_PIN : 0);
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(little_init_task, struct task_struct *p, struct scx_init_task_args *args)
{
	if (error_after && happens(refuse_pct))
		return -ENOMEM;
	if (happens(refuse_pct) && !args->fork)
		p->scx.disallow = true;
	return 0;
}

s32 BPF_STRUCT_OPS_SLEEPABLE(little_init)
{
	struct wakeup *wakeup;
	u32 key = 0;
	s32 cpu, err;

	err = scx_bpf_create_dsq(FIFO_DSQ, -1);
	if (err)
		return err;
	err = scx_bpf_create_dsq(SORTED_DSQ, -1);
	if (err)
		return err;
	for_range(cpu, 0, scx_bpf_nr_cpu_ids() + cpus) {
		err = scx_bpf_create_dsq(OWN_DSQ + cpu, -1);
		if (err)
			return err;
	}
	wakeup = bpf_map_lookup_elem(&wakeups, &key);
	if (!wakeup || !timer_us)
		return 0;
	bpf_timer_init(&wakeup->timer, &wakeups, CLOCK_MONOTONIC);
	bpf_timer_set_callback(&wakeup->timer, wake_up);
	return bpf_timer_start(&wakeup->timer, (u64)timer_us * NSEC_PER_USEC, 0);
}

SCX_OPS_DEFINE(little_ops,
	       .select_cpu		= (void *)little_select_cpu,
	       .enqueue			= (void *)little_enqueue,
	       .dequeue			= (void *)little_dequeue,
	       .dispatch		= (void *)little_dispatch,
	       .tick			= (void *)little_tick,
	       .runnable		= (void *)little_runnable,
	       .running			= (void *)little_running,
	       .stopping		= (void *)little_stopping,
	       .quiescent		= (void *)little_quiescent,
	       .yield			= (void *)little_yield,
	       .core_sched_before	= (void *)little_core_sched_before,
	       .set_weight		= (void *)little_set_weight,
	       .set_cpumask		= (void *)little_set_cpumask,
	       .update_idle		= (void *)little_update_idle,
	       .cpu_acquire		= (void *)little_cpu_acquire,
	       .cpu_release		= (void *)little_cpu_release,
	       .cpu_online		= (void *)little_cpu_online,
	       .cpu_offline		= (void *)little_cpu_offline,
	       .init_task		= (void *)little_init_task,
	       .init			= (void *)little_init,
	       .flags			= SCX_OPS_KEEP_BUILTIN_IDLE | SCX_OPS_ENQ_LAST | SCX_OPS_ENQ_EXITING |
					  SCX_OPS_SWITCH_PARTIAL,
	       .timeout_ms		= 5000,
	       .name			= "little");
