// SPDX-License-Identifier: GPL-2.0
/*
 * Idle states for a guest that has none: a cpuidle driver with three of them, which all halt the CPU. They differ in what
 * guest_energy says that a CPU draws there, and in the times below, which the governor goes by and nothing takes.
 *
 *	echo 1 >/sys/module/guest_idle/parameters/states
 *
 * registers the driver; 0 takes it away.
 */
#include <linux/cpuidle.h>
#include <linux/module.h>
#include <linux/sched/idle.h>

#include "guest_power.h"

/* Polling comes first, as with drivers for real processors. */
enum {
	FIRST = 1,
};

static bool states;

static __cpuidle int enter(struct cpuidle_device *dev, struct cpuidle_driver *drv, int index)
{
	if (current_clr_polling_and_test())
		return index;
	guest_energy_state(index - FIRST);
	ct_cpuidle_enter();
	raw_safe_halt();
	raw_local_irq_disable();
	ct_cpuidle_exit();
	guest_energy_state(GUEST_BUSY);
	return index;
}

/* Microseconds. */
#define STATE(called, described, latency, residency)                                                                           \
	{                                                                                                                      \
		.name = called, .desc = described, .exit_latency = latency, .target_residency = residency, .enter = enter,     \
		.flags = CPUIDLE_FLAG_RCU_IDLE,                                                                                \
	}

static struct cpuidle_driver driver = {
	.name = "guest_idle",
	.owner = THIS_MODULE,
	.states = {
		[FIRST] = STATE("C1", "pretended, shallow", 2, 4),
		[FIRST + 1] = STATE("C3", "pretended, middle", 50, 150),
		[FIRST + 2] = STATE("C6", "pretended, deep", 100, 400),
	},
	.state_count = FIRST + GUEST_IDLE_STATES,
};

static int set_states(const char *text, const struct kernel_param *param)
{
	bool had = states;
	int err = param_set_bool(text, param);

	if (err || had == states)
		return err;
	if (had) {
		cpuidle_unregister(&driver);
		return 0;
	}
	cpuidle_poll_state_init(&driver);
	err = cpuidle_register(&driver, NULL);
	states = !err;
	return err;
}

static const struct kernel_param_ops states_ops = { .set = set_states, .get = param_get_bool };

module_param_cb(states, &states_ops, &states, 0644);
MODULE_PARM_DESC(states, "whether there are any");
MODULE_DESCRIPTION("cpuidle driver whose states are all alike, for tests");
MODULE_LICENSE("GPL");
