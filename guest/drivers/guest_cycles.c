// SPDX-License-Identifier: GPL-2.0
/*
 * A counter of cycles for a guest that has none: perf's hardware event `cycles`, by the clock that guest_clocks pretends. What a
 * thread does in a cycle it does not change.
 *
 *	echo 1 >/sys/module/guest_cycles/parameters/on
 *
 * lets it be opened; with 0 the guest has no hardware events, as without this driver.
 */
#include <linux/module.h>
#include <linux/perf_event.h>

#include "guest_power.h"

static bool on;

static void update(struct perf_event *event)
{
	u64 now = guest_clocks_cycles(smp_processor_id());
	u64 before = local64_xchg(&event->hw.prev_count, now);

	local64_add(now - before, &event->count);
}

static void start(struct perf_event *event, int flags)
{
	local64_set(&event->hw.prev_count, guest_clocks_cycles(smp_processor_id()));
	event->hw.state = 0;
}

static void stop(struct perf_event *event, int flags)
{
	if (event->hw.state & PERF_HES_STOPPED)
		return;
	update(event);
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
}

static int add(struct perf_event *event, int flags)
{
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	if (flags & PERF_EF_START)
		start(event, flags);
	return 0;
}

static void del(struct perf_event *event, int flags)
{
	stop(event, PERF_EF_UPDATE);
}

static void read(struct perf_event *event)
{
	if (!(event->hw.state & PERF_HES_STOPPED))
		update(event);
}

static int event_init(struct perf_event *event)
{
	if (!on || event->attr.type != PERF_TYPE_HARDWARE || event->attr.config != PERF_COUNT_HW_CPU_CYCLES)
		return -ENOENT;
	return is_sampling_event(event) || has_branch_stack(event) ? -EOPNOTSUPP : 0;
}

static struct pmu pmu = {
	.task_ctx_nr = perf_sw_context,
	.capabilities = PERF_PMU_CAP_NO_INTERRUPT,
	.event_init = event_init,
	.add = add,
	.del = del,
	.start = start,
	.stop = stop,
	.read = read,
};

static int __init begin(void)
{
	return perf_pmu_register(&pmu, "guest_cycles", -1);
}

device_initcall(begin);
module_param(on, bool, 0644);
MODULE_PARM_DESC(on, "whether cycles are counted");
MODULE_DESCRIPTION("Counter of pretended cycles, for tests");
MODULE_LICENSE("GPL");
