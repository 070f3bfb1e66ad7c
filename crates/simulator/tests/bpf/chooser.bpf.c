/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A FIFO scheduler with all that a loader can find out of an object: settings with ranges, a program that refuses some
 * combinations of them, counters, a state. chooser.toml says where.
 */
#include <scx/common.bpf.h>

char _license[] SEC("license") = "GPL";

#define __tag(text) __attribute__((btf_decl_tag(text)))

enum chooser_mode {
	CHOOSER_MODE_OFF,
	CHOOSER_MODE_CALM,
	CHOOSER_MODE_VERY_BRISK,
};

enum chooser_stat {
	CHOOSER_STAT_RUN_STARTED,
	CHOOSER_STAT_RUN_STOPPED,
	CHOOSER_STAT_NEVER_SEEN,
	NR_STATS,
};

const volatile enum chooser_mode mode __tag("help How to choose.") = CHOOSER_MODE_CALM;
const volatile u32 slice_us
	__tag("range 100..100000") __tag("unit us") __tag("help Time that a task may run.") = 5000;
const volatile u64 error_after
	__tag("range 0..1000000") __tag("help So many stops end in an error; 0: none does.");
const volatile bool refuse_silently __tag("help Refuse without a word.");

/* The loader's. */
const volatile bool cpuperf;
const volatile u32 nr_opps[8];

enum chooser_mode mode_now;
/* A variable of this type brings its names into the object. */
enum chooser_stat stat_names;
char problem[80];

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__type(key, u32);
	__type(value, u64);
	__uint(max_entries, NR_STATS);
} stats SEC(".maps");

UEI_DEFINE(uei);

static u64 count(u32 stat)
{
	u64 *value = bpf_map_lookup_elem(&stats, &stat);

	return value ? ++*value : 0;
}

SEC("syscall")
int chooser_check(void *ctx)
{
	if (refuse_silently)
		return -22;
	if (mode == CHOOSER_MODE_OFF && slice_us != 5000) {
		bpf_snprintf(problem, sizeof(problem), "slice_us=%u means nothing with mode=off", (u64[]){ slice_us }, 8);
		return -22;
	}
	return 0;
}

void BPF_STRUCT_OPS(chooser_enqueue, struct task_struct *p, u64 enq_flags)
{
	scx_bpf_dispatch(p, SCX_DSQ_GLOBAL, (u64)slice_us * 1000, enq_flags);
}

void BPF_STRUCT_OPS(chooser_running, struct task_struct *p)
{
	count(CHOOSER_STAT_RUN_STARTED);
}

void BPF_STRUCT_OPS(chooser_stopping, struct task_struct *p, bool runnable)
{
	if (count(CHOOSER_STAT_RUN_STOPPED) == error_after)
		scx_bpf_error("%llu stops on this CPU", error_after);
}

s32 BPF_STRUCT_OPS_SLEEPABLE(chooser_init)
{
	mode_now = mode;
	return 0;
}

void BPF_STRUCT_OPS(chooser_exit, struct scx_exit_info *ei)
{
	UEI_RECORD(uei, ei);
}

SCX_OPS_DEFINE(chooser_ops,
	       .enqueue		= (void *)chooser_enqueue,
	       .running		= (void *)chooser_running,
	       .stopping	= (void *)chooser_stopping,
	       .init		= (void *)chooser_init,
	       .exit		= (void *)chooser_exit,
	       .name		= "chooser");
