/* SPDX-License-Identifier: GPL-2.0-only */
/* Refuses settings that contradict each other or the machine, before all other work. Loaders check ranges. */
#ifndef __TANDEM_MECHANISMS_CHECK_H
#define __TANDEM_MECHANISMS_CHECK_H

#include "../isolate/isolate.bpf.h"

/* Why the settings are refused. */
char problem[128];

#define refuse(fmt, args...)								\
({											\
	static const char ___fmt[] = fmt;						\
	unsigned long long ___args[___bpf_narg(args) ?: 1] = {};			\
	___bpf_fill(___args, args);							\
	bpf_snprintf(problem, sizeof(problem), ___fmt, ___args, sizeof(___args));	\
	-EINVAL;									\
})

/* The lowest and the highest clock of a table, MHz; 0 if there is none. */
static __always_inline u32 check_lowest_mhz(u32 table)
{
	return opp_tables[table & (MAX_OPP_TABLES - 1)].frequency[0] / 1000;
}

static __always_inline u32 check_highest_mhz(u32 table)
{
	u32 nr = opp_tables[table & (MAX_OPP_TABLES - 1)].nr_opps;

	return nr ? (opp_tables[table & (MAX_OPP_TABLES - 1)].frequency[(nr - 1) & (MAX_OPPS - 1)] + 999) / 1000 : 0;
}

/* Checks isolation's fixed clocks: they must be possible to set, and be clocks of the OS CPU, or of any CPU. */
static s32 check_clocks(void)
{
	u32 os = place_os_cpu(), table = facts_of(os)->opp_table;
	u32 lowest = check_lowest_mhz(table), highest = check_highest_mhz(table);
	s32 number;

	if ((os_mhz || rest_mhz) && !cpuperf)
		return refuse("os_mhz and rest_mhz need the governor schedutil, and clocks that can be changed");
	if (os_mhz && (os_mhz < lowest || os_mhz > highest))
		return refuse("os_mhz=%d: CPU %d has clocks from %d to %d MHz", os_mhz, os, lowest, highest);
	for_range(number, 0, MAX_OPP_TABLES) {
		if (!check_highest_mhz(number))
			continue;
		lowest = check_lowest_mhz(number) < lowest ? check_lowest_mhz(number) : lowest;
		highest = check_highest_mhz(number) > highest ? check_highest_mhz(number) : highest;
	}
	if (rest_mhz && (rest_mhz < lowest || rest_mhz > highest))
		return refuse("rest_mhz=%d: the machine has clocks from %d to %d MHz", rest_mhz, lowest, highest);
	return 0;
}

static s32 check_settings(void)
{
	if (nr_cpus < 1 || nr_cpus > MAX_CPUS)
		return refuse("tandem is built for 1 to %d CPUs; there are %d", MAX_CPUS, nr_cpus);
	if (os_cpu >= (s32)nr_cpus)
		return refuse("os_cpu=%d: the machine has CPUs 0 to %d", os_cpu, nr_cpus - 1);
	if (isolate == TANDEM_ISOLATE_OFF && !all && (os_cpu >= 0 || os_mhz || rest_mhz))
		return refuse("os_cpu, os_mhz and rest_mhz mean something with isolate=dedicated or isolate=shared only");
	if (isolate == TANDEM_ISOLATE_DEDICATED && nr_cpus == 1)
		return refuse("isolate=dedicated leaves applications no CPU: the machine has one");
	return check_clocks();
}

/* Loaders run this before they attach the scheduler. */
SEC("syscall")
int tandem_check(void *ctx)
{
	return check_settings();
}

#endif /* __TANDEM_MECHANISMS_CHECK_H */
