/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Externs that the host gives values: LINUX_KERNEL_VERSION 6.12.117, CONFIG_HZ 250, CONFIG_PREEMPT =y, CONFIG_NUMA =n,
 * and none that is called CONFIG_NOWHERE.
 */
#include "check.h"

char _license[] SEC("license") = "GPL";

extern int LINUX_KERNEL_VERSION __kconfig;
extern unsigned long CONFIG_HZ __kconfig;
extern bool CONFIG_PREEMPT __kconfig __weak;
extern enum libbpf_tristate CONFIG_NUMA __kconfig __weak;
extern int CONFIG_NOWHERE __kconfig __weak;

TEST int kernel_configuration(void *ctx)
{
	/* The kernel caps the third number of a version at 255. */
	CHECK(LINUX_KERNEL_VERSION == KERNEL_VERSION(6, 12, 117));
	CHECK(CONFIG_HZ == 250);
	CHECK(CONFIG_PREEMPT == true);
	CHECK(CONFIG_NUMA == TRI_NO);
	CHECK(CONFIG_NOWHERE == 0);
	return 0;
}
