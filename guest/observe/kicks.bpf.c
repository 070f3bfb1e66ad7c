/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches kicks from outside of the scheduler: those of CPUs that are no longer online (guest/tests/unplugging). Each is a line in the
 * kernel's trace:
 *
 *	CPU is gone and kicks OTHER for THREAD
 *
 * `tandem-load --observe` loads and attaches it.
 */
#include "../../bpf/include/scx.bpf.h"

/* The kernel's type is not in its BTF. */
extern const void __cpu_online_mask __ksym;

char _license[] SEC("license") = "GPL";

SEC("fentry/scx_bpf_kick_cpu")
int BPF_PROG(kicks_made, s32 other, u64 flags)
{
	u32 cpu = bpf_get_smp_processor_id();
	char thread[16];
	u64 online = 0;

	/* Guests have at most 64 CPUs. */
	bpf_probe_read_kernel(&online, sizeof(online), &__cpu_online_mask);
	if (online >> (cpu & 63) & 1)
		return 0;
	bpf_get_current_comm(thread, sizeof(thread));
	bpf_printk("%u is gone and kicks %d for %s", cpu, other, thread);
	return 0;
}
