// SPDX-License-Identifier: GPL-2.0
/*
 * An energy counter for a guest that has none: a powercap zone as Intel's RAPL has, of a machine that draws the same power
 * whatever it does. Its counter starts again after 50 J, so that readers must cope with that.
 *
 *	echo 10 >/sys/module/guest_energy/parameters/watts
 *
 * makes the zone; 0 takes it away.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/powercap.h>

enum {
	RANGE_UJ = 50 * 1000 * 1000,
};

static struct powercap_control_type *control_type;
static struct powercap_zone *zone;
static unsigned int watts;

static int get_max_energy_range_uj(struct powercap_zone *zone, u64 *uj)
{
	*uj = RANGE_UJ;
	return 0;
}

static int get_energy_uj(struct powercap_zone *zone, u64 *uj)
{
	u32 rest;

	div_u64_rem(ktime_to_us(ktime_get()) * watts, RANGE_UJ, &rest);
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
	if (zone)
		powercap_unregister_zone(control_type, zone);
	zone = NULL;
	if (control_type)
		powercap_unregister_control_type(control_type);
	control_type = NULL;
}

static int make(void)
{
	control_type = powercap_register_control_type(NULL, "intel-rapl", NULL);
	if (IS_ERR(control_type)) {
		control_type = NULL;
		return -EBUSY;
	}
	zone = powercap_register_zone(NULL, control_type, "package-0", NULL, &zone_ops, 0, &constraint_ops);
	if (IS_ERR(zone)) {
		int err = PTR_ERR(zone);

		zone = NULL;
		take_away();
		return err;
	}
	return 0;
}

static int set_watts(const char *text, const struct kernel_param *param)
{
	int err = param_set_uint(text, param);

	if (err)
		return err;
	take_away();
	return watts ? make() : 0;
}

static const struct kernel_param_ops watts_ops = { .set = set_watts, .get = param_get_uint };

module_param_cb(watts, &watts_ops, &watts, 0644);
MODULE_PARM_DESC(watts, "what the machine draws; 0: nobody knows");
MODULE_DESCRIPTION("Energy counter of a constant power, for tests");
MODULE_LICENSE("GPL");
