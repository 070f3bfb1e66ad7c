// SPDX-License-Identifier: GPL-2.0
/*
 * An energy counter for a guest that has none: a powercap zone as Intel's RAPL has. Its counter starts again after 50 J, so that
 * readers must cope with that.
 *
 *	echo 10 >/sys/module/guest_energy/parameters/watts
 *
 * makes the zone of a machine that draws so many watts whatever it does; 0 takes it away.
 *
 *	echo package >/sys/module/guest_energy/parameters/metered
 *
 * makes that of a machine whose power depends on what its CPUs do; `cores` makes also the zone `core` of the CPUs alone, which
 * starts again after as much; `nothing` takes them away. In milliwatts, and as parameters that can only be read:
 *
 *	busy CPU at F GHz	busy_linear * F + busy_cubic * F^3		(guest_clocks; without clocks F is 1)
 *	idle CPU		idle, by the state of guest_idle, shallow to deep
 *	all beside CPUs		asleep while each CPU is in the deepest state, else awake
 *
 * A CPU is idle only in a state of guest_idle, which says so when it comes and goes: without that driver all are busy. Four CPUs at
 * 2 GHz draw 4 * (0.5 * 2 + 0.25 * 8) + 2.5 = 14.5 W.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/powercap.h>
#include <linux/spinlock.h>

#include "guest_power.h"

enum {
	RANGE_UJ = 50 * 1000 * 1000,
	PJ_PER_UJ = 1000 * 1000,
};

static struct powercap_control_type *control_type;
static struct powercap_zone *package, *cores;
static unsigned int watts;
static bool by_cpus;

static unsigned int busy_linear = 500, busy_cubic = 250;
static unsigned int idle[GUEST_IDLE_STATES] = { 250, 150, 80 };
static unsigned int awake = 2500, asleep = 1500;

/* What CPUs do; what that draws, in mW; and what it drew until `counted_at`, in pJ. */
static DEFINE_RAW_SPINLOCK(lock);
static DEFINE_PER_CPU(unsigned int, khz_now);
static DEFINE_PER_CPU(int, state_now) = GUEST_BUSY;
static unsigned int cores_mw, others_mw;
static u64 cores_pj, others_pj, counted_at;

static unsigned int busy_mw(unsigned int khz)
{
	u64 mhz = khz ? khz / 1000 : 1000;

	return div_u64(mhz * busy_linear, 1000) + div_u64(mhz * mhz * mhz * busy_cubic, 1000 * 1000 * 1000);
}

/* Counts what has been drawn until now. With the lock, as what follows. */
static void count(void)
{
	u64 now = ktime_get_ns(), passed = now - counted_at;

	cores_pj += passed * cores_mw;
	others_pj += passed * others_mw;
	counted_at = now;
}

/* What is drawn from now on. */
static void sum(void)
{
	bool is_asleep = true;
	unsigned int cpu;

	cores_mw = 0;
	for_each_online_cpu(cpu) {
		int state = per_cpu(state_now, cpu);

		cores_mw += state == GUEST_BUSY ? busy_mw(per_cpu(khz_now, cpu)) : idle[state];
		is_asleep &= state == GUEST_IDLE_STATES - 1;
	}
	others_mw = is_asleep ? asleep : awake;
}

void guest_energy_clock(unsigned int cpu, unsigned int khz)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	count();
	per_cpu(khz_now, cpu) = khz;
	sum();
	raw_spin_unlock_irqrestore(&lock, flags);
}

void guest_energy_state(int state)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&lock, flags);
	count();
	this_cpu_write(state_now, state);
	sum();
	raw_spin_unlock_irqrestore(&lock, flags);
}

static int get_max_energy_range_uj(struct powercap_zone *zone, u64 *uj)
{
	*uj = RANGE_UJ;
	return 0;
}

static int get_energy_uj(struct powercap_zone *zone, u64 *uj)
{
	unsigned long flags;
	u64 all_uj;
	u32 rest;

	if (by_cpus) {
		raw_spin_lock_irqsave(&lock, flags);
		count();
		all_uj = div_u64(zone == cores ? cores_pj : cores_pj + others_pj, PJ_PER_UJ);
		raw_spin_unlock_irqrestore(&lock, flags);
	} else {
		all_uj = ktime_to_us(ktime_get()) * watts;
	}
	div_u64_rem(all_uj, RANGE_UJ, &rest);
	*uj = rest;
	return 0;
}

static int release(struct powercap_zone *zone)
{
	return 0;
}

static const struct powercap_zone_ops zone_ops = {
	.get_max_energy_range_uj = get_max_energy_range_uj,
	.get_energy_uj = get_energy_uj,
	.release = release,
};

static int set_nothing(struct powercap_zone *zone, int constraint, u64 value)
{
	return -EOPNOTSUPP;
}

static int get_nothing(struct powercap_zone *zone, int constraint, u64 *value)
{
	return -EOPNOTSUPP;
}

/* powercap_register_zone() wants these of a zone without constraints, too, where nobody can call them. */
static const struct powercap_zone_constraint_ops constraint_ops = {
	.set_power_limit_uw = set_nothing,
	.get_power_limit_uw = get_nothing,
	.set_time_window_us = set_nothing,
	.get_time_window_us = get_nothing,
};

static void take_away(void)
{
	if (cores)
		powercap_unregister_zone(control_type, cores);
	cores = NULL;
	if (package)
		powercap_unregister_zone(control_type, package);
	package = NULL;
	if (control_type)
		powercap_unregister_control_type(control_type);
	control_type = NULL;
}

static int make_zone(struct powercap_zone **zone, const char *name, struct powercap_zone *parent)
{
	struct powercap_zone *made;

	made = powercap_register_zone(NULL, control_type, name, parent, &zone_ops, 0, &constraint_ops);
	if (IS_ERR(made))
		return PTR_ERR(made);
	*zone = made;
	return 0;
}

static int make(bool with_cores)
{
	int err;

	control_type = powercap_register_control_type(NULL, "intel-rapl", NULL);
	if (IS_ERR(control_type)) {
		control_type = NULL;
		return -EBUSY;
	}
	err = make_zone(&package, "package-0", NULL);
	if (!err && with_cores)
		err = make_zone(&cores, "core", package);
	if (err)
		take_away();
	return err;
}

static int set_watts(const char *text, const struct kernel_param *param)
{
	int err = param_set_uint(text, param);

	if (err)
		return err;
	take_away();
	by_cpus = false;
	return watts ? make(false) : 0;
}

static const struct kernel_param_ops watts_ops = { .set = set_watts, .get = param_get_uint };

static int set_metered(const char *text, const struct kernel_param *param)
{
	bool with_cores = sysfs_streq(text, "cores");

	if (!with_cores && !sysfs_streq(text, "package") && !sysfs_streq(text, "nothing"))
		return -EINVAL;
	take_away();
	watts = 0;
	by_cpus = !sysfs_streq(text, "nothing");
	return by_cpus ? make(with_cores) : 0;
}

static int get_metered(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", !by_cpus ? "nothing" : cores ? "cores" : "package");
}

static const struct kernel_param_ops metered_ops = { .set = set_metered, .get = get_metered };

module_param_cb(watts, &watts_ops, &watts, 0644);
MODULE_PARM_DESC(watts, "what the machine draws; 0: nobody knows");
module_param_cb(metered, &metered_ops, NULL, 0644);
MODULE_PARM_DESC(metered, "of what depends on CPUs: nothing, package, or package and cores");
module_param(busy_linear, uint, 0444);
MODULE_PARM_DESC(busy_linear, "mW per GHz of a busy CPU");
module_param(busy_cubic, uint, 0444);
MODULE_PARM_DESC(busy_cubic, "and per GHz^3");
module_param_array(idle, uint, NULL, 0444);
MODULE_PARM_DESC(idle, "mW of an idle CPU, by state");
module_param(awake, uint, 0444);
MODULE_PARM_DESC(awake, "mW of all beside CPUs");
module_param(asleep, uint, 0444);
MODULE_PARM_DESC(asleep, "and while each CPU is in the deepest state");
MODULE_DESCRIPTION("Energy counter of pretended power, for tests");
MODULE_LICENSE("GPL");
