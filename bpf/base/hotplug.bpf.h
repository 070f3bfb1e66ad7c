/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that come and go while the scheduler stays.
 *
 * The kernel itself takes what runs on a CPU that goes, and what waits for it, to other CPUs. Here the CPU leaves its line, and the
 * sets among which idle CPUs are looked for; what is known of it stays, for when it comes back.
 *
 * Left alone: to Linux 6.12 a CPU that has gone is idle until it is taken once. The one task that takes it gets another CPU
 * (select_fallback_rq), and may have to wait there for the end of a slice.
 */
#ifndef __TANDEM_BASE_HOTPLUG_H
#define __TANDEM_BASE_HOTPLUG_H

#include "../state/exit.bpf.h"
#include "enqueue.bpf.h"

const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *cpumask) __ksym;

/* How many CPUs are about to go, or have gone: `active` says whether there is any. */
u32 nr_gone;

/* CPUs that were offline when the scheduler was loaded: its loader could only guess what they are. */
bool strangers[MAX_CPUS];

static bool hotplug_is_online(u32 cpu)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool is_online = bpf_cpumask_test_cpu(cpu, online);

	scx_bpf_put_cpumask(online);
	return is_online;
}

/* Notes that a CPU is about to go, or has come. The kernel lets one do so at a time. */
static void hotplug_note(u32 cpu, bool online)
{
	bool *is_gone = &gone[cpu & (MAX_CPUS - 1)];

	if (*is_gone != online)
		return;
	*is_gone = !online;
	nr_gone += online ? -1 : 1;
	if (nr_gone)
		__sync_fetch_and_or(&active, CPUS_GONE);
	else
		__sync_fetch_and_and(&active, ~CPUS_GONE);
}

/*
 * Has a task that wakes wait for the CPU that was chosen for it, if who wakes it is a CPU that is no longer there: it may be the one to
 * wake whoever wanted it away, or a thread of RCU. Its interrupts are off for good, and Linux kicks others by an interrupt to itself
 * (irq_work). That would be pending until the CPU goes the next time: once it is back nothing that it kicks is kicked, as an interrupt is
 * sent only to the first who waits for one, and who waits until nothing is pending (schedutil as it leaves a CPU) waits for ever. In a
 * guest a CPU was seen so, its own kick first among what was pending, and the kernel hung; that it had kicked as it went was not seen.
 * To a CPU's own queue the kernel needs no kick.
 */
static __noinline int hotplug_takes(struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (!gone[cpu & (MAX_CPUS - 1)] || hotplug_is_online(cpu))
		return false;
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
	return true;
}

/* Has a CPU change places with the one at @to among the CPUs of its line: those that are there come first. */
static void hotplug_move(struct line *line, u32 cpu, u32 to)
{
	u16 *there = &line_cpus[(line->first + to) & (MAX_CPUS - 1)];
	s32 at;

	for_range(at, 0, line->placed) {
		u16 *here = &line_cpus[(line->first + at) & (MAX_CPUS - 1)];

		if (*here != cpu)
			continue;
		*here = *there;
		*there = cpu;
		break;
	}
}

/* A CPU is one of its line, and of its kind, or no longer. */
static __noinline int hotplug_change(u32 cpu, bool online)
{
	struct base_cpu *bctx = base_cpu_of(cpu);
	struct line *line = line_at(bctx->line);

	if (online) {
		hotplug_move(line, cpu, line->nr_cpus);
		line->performance += facts_of(cpu)->performance;
		line->nr_cpus++;
	} else {
		line->nr_cpus--;
		line->performance -= facts_of(cpu)->performance;
		hotplug_move(line, cpu, line->nr_cpus);
	}
	pressure_place(bctx, online);
	return 0;
}

/*
 * Moves what waits in a queue of a line without CPUs to the line of the CPU where each task ran last. That CPU is there, as the kernel
 * has already taken to other CPUs what ran on those that have gone: these are tasks that wait far from it because fewer waited there
 * (steal_line_for), and may run everywhere.
 */
static void hotplug_vacate(u64 queue, u32 from)
{
	struct task_struct *p;

	for_queued(it, p, queue | from) {
		u32 to = line_of(scx_bpf_task_cpu(p));
		struct line *line = line_at(to);
		u64 later = line->vtime - line_at(from)->vtime;

		if (queue == QUEUE_LINE_IDLE)
			later = line->idle_vtime - line_at(from)->idle_vtime;
		dsq_move_vtime(&it, p, queue | to, p->scx.dsq_vtime + later);
		base_kick(scx_bpf_pick_idle_cpu(p->cpus_ptr, 0), to);
	}
}

/* A CPU is going: what ran there no longer counts, nor what it asked of the clock. */
static void hotplug_goes(u32 cpu)
{
	struct base_cpu *bctx = base_cpu_of(cpu);

	if (bctx->idles)
		preempt_change_class(bctx, false);
	bctx->deadline = 0;
	bctx->keeps = true;
	bctx->asked = 0;
	pressure_forget(cpu);
	hotplug_change(cpu, false);
	if (line_at(bctx->line)->nr_cpus)
		return;
	hotplug_vacate(QUEUE_LINE, bctx->line);
	hotplug_vacate(QUEUE_LINE_IDLE, bctx->line);
}

/* A CPU has come. */
static void hotplug_comes(u32 cpu)
{
	if (cpu >= nr_cpus || strangers[cpu & (MAX_CPUS - 1)])
		restart_for(cpu, true);
	else
		hotplug_change(cpu, true);
}

/* Takes out CPUs that are offline as the scheduler comes. */
static s32 hotplug_init(void)
{
	s32 cpu;

	for_range(cpu, 0, nr_cpus) {
		if (hotplug_is_online(cpu))
			continue;
		strangers[cpu & (MAX_CPUS - 1)] = true;
		hotplug_change(cpu, false);
	}
	return 0;
}

#endif /* __TANDEM_BASE_HOTPLUG_H */
