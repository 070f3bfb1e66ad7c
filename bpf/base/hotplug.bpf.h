/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CPUs that come and go while the scheduler stays.
 *
 * The kernel itself moves the running task and the waiting tasks of a CPU that goes. Here the CPU leaves its line, and the sets in which
 * idle CPUs are sought. Its state stays, for when the CPU comes back.
 *
 * One case is not handled: Linux 6.12 treats a CPU that has gone as idle until a task picks it. That one task gets another CPU
 * (select_fallback_rq), and may have to wait there for the end of a slice.
 */
#ifndef __TANDEM_BASE_HOTPLUG_H
#define __TANDEM_BASE_HOTPLUG_H

#include "../state/exit.bpf.h"
#include "enqueue.bpf.h"

const struct cpumask *scx_bpf_get_online_cpumask(void) __ksym;
void scx_bpf_put_cpumask(const struct cpumask *cpumask) __ksym;

/* How many CPUs are about to go, or have gone: `active` says whether there are any. */
u32 nr_gone;

/* CPUs that were offline when the scheduler was loaded: the loader could only guess their facts. */
bool strangers[MAX_CPUS];

static bool hotplug_is_online(u32 cpu)
{
	const struct cpumask *online = scx_bpf_get_online_cpumask();
	bool is_online = bpf_cpumask_test_cpu(cpu, online);

	scx_bpf_put_cpumask(online);
	return is_online;
}

/* Notes that a CPU is about to go, or has come. The kernel takes one CPU at a time up or down. */
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
 * Makes a task that wakes wait in the queue of the CPU that was chosen for it, if the waking CPU has gone. The waking CPU may wake the
 * thread that took it down, or a thread of RCU. Interrupts are off on that CPU for good, and Linux kicks other CPUs by an interrupt to
 * the own CPU (irq_work). The irq_work would stay pending until the CPU goes offline the next time. Once the CPU is back, none of its
 * kicks works, as an interrupt is sent only for the first pending irq_work. A caller that waits until no irq_work is pending waits for
 * ever (schedutil as it leaves a CPU). In a guest a CPU was seen in this state, its own kick first among the pending work, and the kernel
 * hung. That the CPU had kicked while it went was not seen. For a CPU's own queue the kernel needs no kick.
 */
static __noinline int hotplug_takes(struct task_struct *p)
{
	u32 cpu = bpf_get_smp_processor_id();

	if (!gone[cpu & (MAX_CPUS - 1)] || hotplug_is_online(cpu))
		return false;
	dsq_insert(p, SCX_DSQ_LOCAL, SLICE_LONE, 0);
	return true;
}

/* Swaps a CPU with the one at @to among its line's CPUs: CPUs that are online come first. */
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

/* Adds a CPU to its line and its kind, or removes it. */
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
 * Moves the tasks in a queue of a line without CPUs to the line of each task's last CPU. That CPU is online, as the kernel has already
 * moved the tasks of CPUs that have gone. The remaining tasks wait far from their last CPU because fewer tasks waited there
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

/* A CPU is going: its running task and its request for a clock no longer count. */
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

/* A CPU has come online. */
static void hotplug_comes(u32 cpu)
{
	if (cpu >= nr_cpus || strangers[cpu & (MAX_CPUS - 1)])
		restart_for(cpu, true);
	else
		hotplug_change(cpu, true);
}

/* Takes out CPUs that are offline when the scheduler is loaded. */
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
