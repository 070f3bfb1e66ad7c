/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What schedulers ask for under one name in 6.12 and under another one later. Both are declared weak, as in the schedulers' own
 * headers: the object loads into any kernel.
 */
#ifndef __EITHER_H
#define __EITHER_H

#include <scx/common.bpf.h>

void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
void scx_bpf_dsq_reenq(u64 dsq_id, u64 reenq_flags) __ksym __weak;
/* Functions of older kernels only; loaders leave out the part of a name behind the three underscores. */
void scx_bpf_dispatch___old(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
bool scx_bpf_consume___old(u64 dsq_id) __ksym __weak;

static inline void insert(struct task_struct *p, u64 dsq_id, u64 enq_flags)
{
	if (bpf_ksym_exists(scx_bpf_dsq_insert))
		scx_bpf_dsq_insert(p, dsq_id, SCX_SLICE_DFL, enq_flags);
	else
		scx_bpf_dispatch___old(p, dsq_id, SCX_SLICE_DFL, enq_flags);
}

static inline void move_to_local(u64 dsq_id)
{
	if (bpf_ksym_exists(scx_bpf_dsq_move_to_local))
		scx_bpf_dsq_move_to_local(dsq_id);
	else
		scx_bpf_consume___old(dsq_id);
}

#endif /* __EITHER_H */
