// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks of a guest in active mode: guest_clocks as a driver whose processor chooses clocks itself, with what intel_pstate leaves to
 * programs: the governors performance and powersave, limits, and energy_performance_preference. It has intel_pstate's name, by
 * which programs know such a driver.
 *
 *	echo '0-1 800000 5000000; 2-3 800000 3900000' >/sys/module/guest_pstate/parameters/policies
 *
 * gives each set of CPUs a clock with this range in kHz; an empty line takes them all away. Only one of this driver and
 * guest_clocks can be there at a time. The "processor" follows no load: a clock is the highest allowed under performance, and under
 * powersave that times 160 over the preference, within the limits, which is where a busy CPU's would come to be.
 */
#include <linux/cpufreq.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "guest_power.h"

enum {
	MAX_POLICIES = 16,
	DEFAULT_EPP = 128,
	EPP_TIMES_GAIN = 160,
};

static struct guest_range {
	struct cpumask cpus;
	unsigned int lowest, highest;
	unsigned int epp;
	unsigned int khz;
} ranges[MAX_POLICIES];

static unsigned int nr_ranges;
static bool registered;
static char described[1024];

static const struct {
	const char *name;
	unsigned int epp;
} preferences[] = {
	/* What the firmware has set comes first, but is shown by the name of its number. */
	{ "default", DEFAULT_EPP },
	{ "performance", 0 },
	{ "balance_performance", 128 },
	{ "balance_power", 192 },
	{ "power", 255 },
};

static struct guest_range *range_of(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < nr_ranges; i++) {
		if (cpumask_test_cpu(cpu, &ranges[i].cpus))
			return &ranges[i];
	}
	return NULL;
}

static void choose(struct cpufreq_policy *policy, struct guest_range *mine)
{
	unsigned int cpu, khz = policy->max;

	if (policy->policy == CPUFREQ_POLICY_POWERSAVE && mine->epp > EPP_TIMES_GAIN)
		khz = mine->highest / mine->epp * EPP_TIMES_GAIN;
	mine->khz = clamp(khz, policy->min, policy->max);
	for_each_cpu(cpu, policy->related_cpus)
		guest_energy_clock(cpu, mine->khz);
}

static int guest_pstate_init(struct cpufreq_policy *policy)
{
	struct guest_range *mine = range_of(policy->cpu);

	if (!mine)
		return -ENODEV;
	cpumask_copy(policy->cpus, &mine->cpus);
	cpumask_copy(policy->related_cpus, &mine->cpus);
	policy->cpuinfo.min_freq = policy->min = mine->lowest;
	policy->cpuinfo.max_freq = policy->max = mine->highest;
	policy->cpuinfo.transition_latency = CPUFREQ_ETERNAL;
	policy->policy = CPUFREQ_POLICY_POWERSAVE;
	return 0;
}

static int guest_pstate_verify(struct cpufreq_policy_data *policy)
{
	cpufreq_verify_within_cpu_limits(policy);
	return 0;
}

static int guest_pstate_set_policy(struct cpufreq_policy *policy)
{
	struct guest_range *mine = range_of(policy->cpu);

	if (!mine)
		return -ENODEV;
	choose(policy, mine);
	return 0;
}

static unsigned int guest_pstate_get(unsigned int cpu)
{
	struct guest_range *mine = range_of(cpu);

	return mine ? mine->khz : 0;
}

static ssize_t show_energy_performance_preference(struct cpufreq_policy *policy, char *buf)
{
	struct guest_range *mine = range_of(policy->cpu);
	unsigned int epp = policy->policy == CPUFREQ_POLICY_PERFORMANCE ? 0 : mine->epp;
	unsigned int i;

	for (i = 1; i < ARRAY_SIZE(preferences); i++) {
		if (preferences[i].epp == epp)
			return sysfs_emit(buf, "%s\n", preferences[i].name);
	}
	return sysfs_emit(buf, "%u\n", epp);
}

static ssize_t store_energy_performance_preference(struct cpufreq_policy *policy, const char *buf, size_t count)
{
	struct guest_range *mine = range_of(policy->cpu);
	unsigned int epp, i;

	for (i = 0; i < ARRAY_SIZE(preferences); i++) {
		if (sysfs_streq(buf, preferences[i].name))
			break;
	}
	if (i < ARRAY_SIZE(preferences))
		epp = preferences[i].epp;
	else if (kstrtouint(buf, 10, &epp) || epp > 255)
		return -EINVAL;
	/* As intel_pstate: under performance there is no other preference. */
	if (epp && policy->policy == CPUFREQ_POLICY_PERFORMANCE)
		return -EBUSY;
	mine->epp = epp;
	choose(policy, mine);
	return count;
}

static ssize_t show_energy_performance_available_preferences(struct cpufreq_policy *policy, char *buf)
{
	return sysfs_emit(buf, "default performance balance_performance balance_power power\n");
}

cpufreq_freq_attr_rw(energy_performance_preference);
cpufreq_freq_attr_ro(energy_performance_available_preferences);

static struct freq_attr *attributes[] = {
	&energy_performance_preference,
	&energy_performance_available_preferences,
	NULL,
};

static struct cpufreq_driver driver = {
	.name = "intel_pstate",
	.flags = CPUFREQ_CONST_LOOPS,
	.init = guest_pstate_init,
	.verify = guest_pstate_verify,
	.setpolicy = guest_pstate_set_policy,
	.get = guest_pstate_get,
	.attr = attributes,
};

/* `0-1 800000 5000000` */
static int parse_range(char *text, struct guest_range *into)
{
	char *word = strsep(&text, " ");

	if (cpulist_parse(word, &into->cpus) || cpumask_empty(&into->cpus) || !text)
		return -EINVAL;
	if (sscanf(text, "%u %u", &into->lowest, &into->highest) != 2 || !into->lowest || into->lowest > into->highest)
		return -EINVAL;
	into->epp = DEFAULT_EPP;
	return 0;
}

static int parse_ranges(char *text)
{
	char *part;
	int err;

	nr_ranges = 0;
	while ((part = strsep(&text, ";"))) {
		part = strim(part);
		if (!*part)
			continue;
		if (nr_ranges == MAX_POLICIES)
			return -E2BIG;
		err = parse_range(part, &ranges[nr_ranges]);
		if (err)
			return err;
		nr_ranges++;
	}
	return 0;
}

static int set_ranges(const char *text, const struct kernel_param *param)
{
	static char copy[sizeof(described)];
	int err;

	if (registered)
		cpufreq_unregister_driver(&driver);
	registered = false;
	described[0] = '\0';
	if (strscpy(copy, text) < 0)
		return -E2BIG;
	err = parse_ranges(copy);
	if (err || !nr_ranges)
		return err;
	err = cpufreq_register_driver(&driver);
	if (err)
		return err;
	registered = true;
	strscpy(described, text);
	return 0;
}

static int get_ranges(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", strim(described));
}

static const struct kernel_param_ops ranges_ops = { .set = set_ranges, .get = get_ranges };

module_param_cb(policies, &ranges_ops, NULL, 0644);
MODULE_PARM_DESC(policies, "CPUs, and the lowest and highest of their clocks in kHz; policies are separated by semicolons");
MODULE_DESCRIPTION("cpufreq driver in active mode without clocks, for tests");
MODULE_LICENSE("GPL");
