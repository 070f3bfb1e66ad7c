/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Refuses settings that contradict each other or the machine, before anything else. Ranges are the loader's to check.
 */
#ifndef __TANDEM_CHECK_H
#define __TANDEM_CHECK_H

#include "tandem.bpf.h"

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
	return 0;
}

/* Run by loaders before they attach the scheduler. */
SEC("syscall")
int tandem_check(void *ctx)
{
	return check_settings();
}

#endif /* __TANDEM_CHECK_H */
