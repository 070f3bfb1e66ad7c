/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel functions of sched_ext that the scheduler calls.
 *
 * Linux 6.13 renamed some of them, 6.19 and 7.1 gave some other parameters or results. All of these are weak references here, and
 * the verifier removes the branches whose function the running kernel does not have. Those of 6.12 come first, so that the
 * others cost it nothing; then the newest, since kernels that have these keep the older ones for a few releases only.
 */
#ifndef __TANDEM_SCX_H
#define __TANDEM_SCX_H

#include "vmlinux.h"
#include "kernel.bpf.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#ifndef bpf_ksym_exists
#define bpf_ksym_exists(sym) ((void *)(sym))
#endif

/* What a function that is not static, which the verifier follows once by its types, may take for granted of a pointer: it is never none. */
#define __arg_nonnull __attribute__((btf_decl_tag("arg:nonnull")))

s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags, bool *is_idle) __ksym;
s32 scx_bpf_pick_idle_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
u32 scx_bpf_cpuperf_cur(s32 cpu) __ksym;
void scx_bpf_cpuperf_set(s32 cpu, u32 perf) __ksym;
void scx_bpf_error_bstr(char *fmt, unsigned long long *data, u32 data__sz) __ksym;
void scx_bpf_exit_bstr(s64 exit_code, char *fmt, unsigned long long *data, u32 data__sz) __ksym;

u32 bpf_cpumask_first(const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;
struct task_struct *bpf_task_from_pid(s32 pid) __ksym __weak;
void bpf_task_release(struct task_struct *p) __ksym __weak;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;

int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;

int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;

/* Linux 6.12 to 6.18, from ops.cpu_release only; newer ones have it for a while yet. */
u32 scx_bpf_reenqueue_local(void) __ksym __weak;

/* Linux 6.12. */
void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
bool scx_bpf_consume(u64 dsq_id) __ksym __weak;
bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			       u64 enq_flags) __ksym __weak;
bool scx_bpf_dispatch_vtime_from_dsq(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
				     u64 enq_flags) __ksym __weak;
void scx_bpf_dispatch_from_dsq_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;

/* Since Linux 6.13. */
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			    u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;

/* Since Linux 6.19, the last one since 7.1. Loaders cut the last suffix off, so that the kernel's own stays. */
bool scx_bpf_dsq_insert___v2___new(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
bool __scx_bpf_dsq_insert_vtime(struct task_struct *p, struct scx_bpf_dsq_insert_vtime_args *args) __ksym __weak;
void scx_bpf_reenqueue_local___v2___new(void) __ksym __weak;
bool scx_bpf_dsq_move_to_local___v2___new(u64 dsq_id, u64 enq_flags) __ksym __weak;

/* Those of the kernels after 6.12, out of the way of its own: with more than two branches in it 6.12 would pay for a jump. */
static __noinline void dsq_insert_newer(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert___v2___new))
		scx_bpf_dsq_insert___v2___new(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dsq_insert(p, dsq_id, slice, enq_flags);
}

static __noinline void dsq_insert_vtime_newer(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags)
{
	if (bpf_ksym_exists(__scx_bpf_dsq_insert_vtime)) {
		struct scx_bpf_dsq_insert_vtime_args args = {
			.dsq_id = dsq_id,
			.slice = slice,
			.vtime = vtime,
			.enq_flags = enq_flags,
		};

		__scx_bpf_dsq_insert_vtime(p, &args);
	} else {
		scx_bpf_dsq_insert_vtime(p, dsq_id, slice, vtime, enq_flags);
	}
}

static __noinline bool dsq_move_to_local_newer(u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local___v2___new))
		return scx_bpf_dsq_move_to_local___v2___new(dsq_id, 0);
	return scx_bpf_dsq_move_to_local(dsq_id);
}

/* Appends @p to a queue. */
static __always_inline void dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dispatch))
		scx_bpf_dispatch(p, dsq_id, slice, enq_flags);
	else
		dsq_insert_newer(p, dsq_id, slice, enq_flags);
}

/* Puts @p into a queue at its place by @vtime, the lowest first. */
static __always_inline void dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dispatch_vtime))
		scx_bpf_dispatch_vtime(p, dsq_id, slice, vtime, enq_flags);
	else
		dsq_insert_vtime_newer(p, dsq_id, slice, vtime, enq_flags);
}

/* Takes the first task of a queue that may run on the CPU that dispatches; whether there was one. */
static __always_inline bool dsq_move_to_local(u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_consume))
		return scx_bpf_consume(dsq_id);
	return dsq_move_to_local_newer(dsq_id);
}

/* Takes @p out of the queue that @it walks and puts it at the end of another one; whether it was still there. */
static __always_inline bool dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dispatch_from_dsq))
		return scx_bpf_dispatch_from_dsq(it, p, dsq_id, enq_flags);
	return scx_bpf_dsq_move(it, p, dsq_id, enq_flags);
}

/* The same to its place by @vtime. */
static __always_inline bool dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id, u64 vtime)
{
	if (bpf_ksym_exists(scx_bpf_dispatch_vtime_from_dsq)) {
		scx_bpf_dispatch_from_dsq_set_vtime(it, vtime);
		return scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, 0);
	}
	scx_bpf_dsq_move_set_vtime(it, vtime);
	return scx_bpf_dsq_move_vtime(it, p, dsq_id, 0);
}

/* A callback: its arguments come as an array. */
#define BPF_STRUCT_OPS(name, args...)							\
	SEC("struct_ops/" #name)							\
	BPF_PROG(name, ##args)

#define BPF_STRUCT_OPS_SLEEPABLE(name, args...)						\
	SEC("struct_ops.s/" #name)							\
	BPF_PROG(name, ##args)

#define SCX_OPS_DEFINE(name, members...)						\
	SEC(".struct_ops.link")								\
	struct sched_ext_ops name = { members }

/* Ends the scheduler with a message. */
#define scx_error(fmt, args...)								\
({											\
	static char ___fmt[] = fmt;							\
	unsigned long long ___args[___bpf_narg(args) ?: 1] = {};			\
	___bpf_fill(___args, args);							\
	scx_bpf_error_bstr(___fmt, ___args, sizeof(___args));				\
})

/* Ends the scheduler in order, with a code for its loader and a message. */
#define scx_exit(code, fmt, args...)							\
({											\
	static char ___fmt[] = fmt;							\
	unsigned long long ___args[___bpf_narg(args) ?: 1] = {};			\
	___bpf_fill(___args, args);							\
	scx_bpf_exit_bstr(code, ___fmt, ___args, sizeof(___args));			\
})

/* Counts @var from @from up to, not including, @to: a loop that the verifier does not unroll. */
#define for_range(var, from, to)							\
	for (struct bpf_iter_num ___it __attribute__((aligned(8), cleanup(bpf_iter_num_destroy))),	\
		     *___p __attribute__((unused)) = (bpf_iter_num_new(&___it, (from), (to)),		\
						      (void)bpf_iter_num_destroy, (void *)0);		\
	     ({										\
		int *___t = bpf_iter_num_next(&___it);					\
		(___t && ((var) = *___t, true));					\
	     });									\
	)

/* Goes through the tasks that wait in a queue, the first one first; @it is a name for where it stands. */
#define for_queued(it, p, dsq_id) for_queued_by(it, p, dsq_id, 0)

/* The same, the last one first. */
#define for_queued_from_last(it, p, dsq_id) for_queued_by(it, p, dsq_id, SCX_DSQ_ITER_REV)

#define for_queued_by(it, p, dsq_id, flags)						\
	for (struct bpf_iter_scx_dsq it __attribute__((aligned(8), cleanup(bpf_iter_scx_dsq_destroy))),	\
		     *___q __attribute__((unused)) = (bpf_iter_scx_dsq_new(&it, (dsq_id), (flags)),	\
						      (void)bpf_iter_scx_dsq_destroy, (void *)0);	\
	     (((p) = bpf_iter_scx_dsq_next(&it)));					\
	)

#endif /* __TANDEM_SCX_H */
