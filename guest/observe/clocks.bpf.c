/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Watches clocks from outside of the scheduler: what each CPU asks for, where schedutil reads it; what its clock becomes; and
 * when it begins and ends to be idle. Each is a line in the kernel's trace:
 *
 *	NS CPU asks TARGET	rq->scx.cpuperf_target after scx_bpf_cpuperf_set, 0..1024
 *	NS CPU runs KHZ		the clock that the governor has chosen
 *	NS CPU idle | busy
 *
 * `tandem-load --observe` loads and attaches it.
 */
#include "../../bpf/include/scx.bpf.h"

extern const struct rq runqueues __ksym;

char _license[] SEC("license") = "GPL";

SEC("fexit/scx_bpf_cpuperf_set")
int BPF_PROG(clocks_asked, s32 cpu, u32 perf)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	if (rq)
		bpf_printk("%llu %d asks %u", bpf_ktime_get_ns(), cpu, rq->scx.cpuperf_target);
	return 0;
}

SEC("tp_btf/cpu_frequency")
int BPF_PROG(clocks_changed, u32 khz, u32 cpu)
{
	bpf_printk("%llu %u runs %u", bpf_ktime_get_ns(), cpu, khz);
	return 0;
}

/* Before the scheduler hears of it (ops.update_idle): what it measures from then on is shorter. */
SEC("fentry/__scx_update_idle")
int BPF_PROG(clocks_idle, struct rq *rq, bool idle, bool do_notify)
{
	if (!do_notify)
		return 0;
	if (idle)
		bpf_printk("%llu %u idle", bpf_ktime_get_ns(), bpf_get_smp_processor_id());
	else
		bpf_printk("%llu %u busy", bpf_ktime_get_ns(), bpf_get_smp_processor_id());
	return 0;
}
