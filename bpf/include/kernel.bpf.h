/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers of the kernel that are macros there, which its types do not have.
 */
#ifndef __TANDEM_KERNEL_H
#define __TANDEM_KERNEL_H

enum {
	ENOMEM = 12,
	EINVAL = 22,
	NSEC_PER_USEC = 1000,
	NSEC_PER_MSEC = 1000000,
	NSEC_PER_SEC = 1000000000,
	PF_EXITING = 0x00000004,
	PF_KTHREAD = 0x00200000,
	CLOCK_MONOTONIC = 1,
	SCHED_BATCH = 3,
	SCHED_IDLE = 5,
	MAX_RT_PRIO = 100,
};

#endif /* __TANDEM_KERNEL_H */
