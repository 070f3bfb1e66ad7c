// SPDX-License-Identifier: GPL-2.0
/*
 * Clocks for a guest that has none: a cpufreq driver that remembers what it was asked for and changes nothing. Governors,
 * limits and schedutil's requests can be tried with it; how fast the guest runs cannot.
 *
 *	echo '0-1 1000000 1500000 2000000; 2-3 800000 1200000' >/sys/module/guest_clocks/parameters/policies
 *
 * gives each set of CPUs a clock with these steps in kHz, ascending. An empty line takes them all away. A busy CPU draws a
 * watt at 1 GHz and that times the clock's cube at others, as the energy model has it; what guest_energy counts is another
 * formula, so that one can see which was believed.
 */
#include <linux/cpufreq.h>
#include <linux/energy_model.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/spinlock.h>

#include "guest_power.h"

enum {
	MAX_POLICIES = 16,
	MAX_STEPS = 16,
};

static struct guest_policy {
	struct cpumask cpus;
	struct cpufreq_frequency_table table[MAX_STEPS + 1];
	unsigned int steps;
} policies[MAX_POLICIES];

static unsigned int nr_policies;
static bool registered;
static char described[1024];
static DEFINE_PER_CPU(unsigned int, khz_now);
/* Cycles until the clock was changed last, and when that was, in ns. */
static DEFINE_PER_CPU(u64, cycles_before);
static DEFINE_PER_CPU(u64, changed_at);
static DEFINE_RAW_SPINLOCK(cycles_lock);

static struct guest_policy *policy_of(unsigned int cpu)
{
	unsigned int i;

	for (i = 0; i < nr_policies; i++) {
		if (cpumask_test_cpu(cpu, &policies[i].cpus))
			return &policies[i];
	}
	return NULL;
}

/* With cycles_lock. */
static u64 cycles_at(unsigned int cpu, u64 now)
{
	return per_cpu(cycles_before, cpu) +
	       mul_u64_u64_div_u64(per_cpu(khz_now, cpu), now - per_cpu(changed_at, cpu), 1000 * 1000);
}

u64 guest_clocks_cycles(unsigned int cpu)
{
	unsigned long flags;
	u64 cycles;

	raw_spin_lock_irqsave(&cycles_lock, flags);
	cycles = cycles_at(cpu, ktime_get_ns());
	raw_spin_unlock_irqrestore(&cycles_lock, flags);
	return cycles;
}

static void set_clock_of(unsigned int cpu, unsigned int khz)
{
	unsigned long flags;
	u64 now;

	raw_spin_lock_irqsave(&cycles_lock, flags);
	now = ktime_get_ns();
	per_cpu(cycles_before, cpu) = cycles_at(cpu, now);
	per_cpu(changed_at, cpu) = now;
	per_cpu(khz_now, cpu) = khz;
	raw_spin_unlock_irqrestore(&cycles_lock, flags);
	guest_energy_clock(cpu, khz);
}

static void set_clock(struct cpufreq_policy *policy, unsigned int khz)
{
	unsigned int cpu;

	for_each_cpu(cpu, policy->related_cpus)
		set_clock_of(cpu, khz);
}

static int guest_clocks_init(struct cpufreq_policy *policy)
{
	struct guest_policy *mine = policy_of(policy->cpu);

	if (!mine)
		return -ENODEV;
	cpumask_copy(policy->cpus, &mine->cpus);
	policy->freq_table = mine->table;
	policy->cpuinfo.transition_latency = 10 * NSEC_PER_USEC;
	policy->fast_switch_possible = true;
	policy->dvfs_possible_from_any_cpu = true;
	policy->cur = mine->table[mine->steps - 1].frequency;
	cpumask_copy(policy->related_cpus, &mine->cpus);
	set_clock(policy, policy->cur);
	return 0;
}

static int guest_clocks_target_index(struct cpufreq_policy *policy, unsigned int index)
{
	set_clock(policy, policy->freq_table[index].frequency);
	return 0;
}

static unsigned int guest_clocks_fast_switch(struct cpufreq_policy *policy, unsigned int khz)
{
	unsigned int index = cpufreq_frequency_table_target(policy, khz, policy->min, policy->max,
							    CPUFREQ_RELATION_L);

	set_clock(policy, policy->freq_table[index].frequency);
	return policy->freq_table[index].frequency;
}

static unsigned int guest_clocks_get(unsigned int cpu)
{
	return per_cpu(khz_now, cpu);
}

/* The lowest step that is not below *khz, and its power in uW. */
static int guest_clocks_power(struct device *dev, unsigned long *uw, unsigned long *khz)
{
	struct guest_policy *mine = policy_of(dev->id);
	unsigned int i;

	for (i = 0; mine && i < mine->steps; i++) {
		u64 mhz = mine->table[i].frequency / 1000;

		if (mine->table[i].frequency < *khz)
			continue;
		*khz = mine->table[i].frequency;
		*uw = mhz * mhz * mhz / 1000;
		return 0;
	}
	return -EINVAL;
}

static void guest_clocks_register_em(struct cpufreq_policy *policy)
{
	struct em_data_callback callback = EM_DATA_CB(guest_clocks_power);

	em_dev_register_perf_domain(get_cpu_device(policy->cpu), policy_of(policy->cpu)->steps, &callback,
				    policy->related_cpus, true);
}

static struct cpufreq_driver driver = {
	.name = "guest_clocks",
	.flags = CPUFREQ_CONST_LOOPS | CPUFREQ_HAVE_GOVERNOR_PER_POLICY,
	.init = guest_clocks_init,
	.verify = cpufreq_generic_frequency_table_verify,
	.target_index = guest_clocks_target_index,
	.fast_switch = guest_clocks_fast_switch,
	.get = guest_clocks_get,
	.register_em = guest_clocks_register_em,
	.attr = cpufreq_generic_attr,
};

/* `0-1 1000000 1500000` */
static int parse_policy(char *text, struct guest_policy *into)
{
	char *word = strsep(&text, " ");
	unsigned int khz;

	if (cpulist_parse(word, &into->cpus) || cpumask_empty(&into->cpus))
		return -EINVAL;
	into->steps = 0;
	while ((word = strsep(&text, " "))) {
		if (!*word)
			continue;
		if (into->steps == MAX_STEPS || kstrtouint(word, 10, &khz) || !khz)
			return -EINVAL;
		into->table[into->steps++] = (struct cpufreq_frequency_table){ .frequency = khz };
	}
	into->table[into->steps].frequency = CPUFREQ_TABLE_END;
	return into->steps ? 0 : -EINVAL;
}

static int parse_policies(char *text)
{
	char *part;
	int err;

	nr_policies = 0;
	while ((part = strsep(&text, ";"))) {
		part = strim(part);
		if (!*part)
			continue;
		if (nr_policies == MAX_POLICIES)
			return -E2BIG;
		err = parse_policy(part, &policies[nr_policies]);
		if (err)
			return err;
		nr_policies++;
	}
	return 0;
}

static int set_policies(const char *text, const struct kernel_param *param)
{
	static char copy[sizeof(described)];
	unsigned int cpu;
	int err;

	if (registered)
		cpufreq_unregister_driver(&driver);
	for_each_possible_cpu(cpu)
		set_clock_of(cpu, 0);
	registered = false;
	described[0] = '\0';
	if (strscpy(copy, text) < 0)
		return -E2BIG;
	err = parse_policies(copy);
	if (err || !nr_policies)
		return err;
	err = cpufreq_register_driver(&driver);
	if (err)
		return err;
	registered = true;
	strscpy(described, text);
	return 0;
}

static int get_policies(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", strim(described));
}

static const struct kernel_param_ops policies_ops = { .set = set_policies, .get = get_policies };

module_param_cb(policies, &policies_ops, NULL, 0644);
MODULE_PARM_DESC(policies, "CPUs and their steps in kHz; policies are separated by semicolons");
MODULE_DESCRIPTION("cpufreq driver without clocks, for tests");
MODULE_LICENSE("GPL");
