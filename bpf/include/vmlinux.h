/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A small `vmlinux.h`: the types of Linux 6.12 that schedulers name, those of this project, of its tests, and of
 * tools/sched_ext.
 *
 * Programs reach members by name (CO-RE): order, offsets and what is left out do not matter, so this file stands for the
 * vmlinux.h of any kernel from 6.12 on. Values of enumerations are compiled in and are those of Linux 6.12.117; what
 * Tandem uses of them has not changed since.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

#include "bpf_types.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;

/* include/linux/sched/ext.h */

enum scx_public_consts {
	SCX_OPS_NAME_LEN = 128,
	SCX_SLICE_DFL = 20 * 1000000,
	SCX_SLICE_INF = 0xffffffffffffffffULL,
};

enum scx_dsq_id_flags {
	SCX_DSQ_FLAG_BUILTIN = 1ULL << 63,
	SCX_DSQ_FLAG_LOCAL_ON = 1ULL << 62,

	SCX_DSQ_INVALID = SCX_DSQ_FLAG_BUILTIN | 0,
	SCX_DSQ_GLOBAL = SCX_DSQ_FLAG_BUILTIN | 1,
	SCX_DSQ_LOCAL = SCX_DSQ_FLAG_BUILTIN | 2,
	SCX_DSQ_LOCAL_ON = SCX_DSQ_FLAG_BUILTIN | SCX_DSQ_FLAG_LOCAL_ON,
	SCX_DSQ_LOCAL_CPU_MASK = 0xffffffffULL,
};

enum scx_dsq_iter_flags {
	SCX_DSQ_ITER_REV = 1U << 16,
};

enum scx_ent_flags {
	SCX_TASK_QUEUED = 1,
	SCX_TASK_RESET_RUNNABLE_AT = 4,
	SCX_TASK_DEQD_FOR_SLEEP = 8,
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	s32 sticky_cpu;
	s32 holding_cpu;
	unsigned long runnable_at;
	u64 slice;
	u64 dsq_vtime;
	bool disallow;
};

/* kernel/sched/ext.c */

enum scx_consts {
	SCX_DSP_DFL_MAX_BATCH = 32,
	SCX_DSP_MAX_LOOPS = 32,
	SCX_EXIT_BT_LEN = 64,
	SCX_EXIT_MSG_LEN = 1024,
	SCX_EXIT_DUMP_DFL_LEN = 32768,
	SCX_CPUPERF_ONE = 1024,
	SCX_OPS_TASK_ITER_BATCH = 32,
};

enum scx_exit_kind {
	SCX_EXIT_NONE = 0,
	SCX_EXIT_DONE = 1,
	SCX_EXIT_UNREG = 64,
	SCX_EXIT_UNREG_BPF = 65,
	SCX_EXIT_UNREG_KERN = 66,
	SCX_EXIT_SYSRQ = 67,
	SCX_EXIT_ERROR = 1024,
	SCX_EXIT_ERROR_BPF = 1025,
	SCX_EXIT_ERROR_STALL = 1026,
};

enum scx_exit_code {
	SCX_ECODE_RSN_HOTPLUG = 1ULL << 32,
	SCX_ECODE_ACT_RESTART = 1ULL << 48,
};

enum scx_ops_flags {
	SCX_OPS_KEEP_BUILTIN_IDLE = 1ULL << 0,
	SCX_OPS_ENQ_LAST = 1ULL << 1,
	SCX_OPS_ENQ_EXITING = 1ULL << 2,
	SCX_OPS_SWITCH_PARTIAL = 1ULL << 3,
	SCX_OPS_HAS_CGROUP_WEIGHT = 1ULL << 16,
	SCX_OPS_ALL_FLAGS = 0x1000fULL,
};

enum scx_wake_flags {
	SCX_WAKE_FORK = 4,
	SCX_WAKE_TTWU = 8,
	SCX_WAKE_SYNC = 16,
};

enum scx_enq_flags {
	SCX_ENQ_WAKEUP = 1,
	SCX_ENQ_HEAD = 0x10,
	SCX_ENQ_CPU_SELECTED = 0x400,
	SCX_ENQ_PREEMPT = 1ULL << 32,
	SCX_ENQ_REENQ = 1ULL << 40,
	SCX_ENQ_LAST = 1ULL << 41,
	__SCX_ENQ_INTERNAL_MASK = 0xffULL << 56,
	SCX_ENQ_CLEAR_OPSS = 1ULL << 56,
	SCX_ENQ_DSQ_PRIQ = 1ULL << 57,
};

enum scx_deq_flags {
	SCX_DEQ_SLEEP = 1,
	SCX_DEQ_CORE_SCHED_EXEC = 1ULL << 32,
};

enum scx_pick_idle_cpu_flags {
	SCX_PICK_IDLE_CORE = 1,
};

enum scx_kick_flags {
	SCX_KICK_IDLE = 1,
	SCX_KICK_PREEMPT = 2,
	SCX_KICK_WAIT = 4,
};

enum scx_cpu_preempt_reason {
	SCX_CPU_PREEMPT_RT = 0,
	SCX_CPU_PREEMPT_DL = 1,
	SCX_CPU_PREEMPT_STOP = 2,
	SCX_CPU_PREEMPT_UNKNOWN = 3,
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	unsigned long *bt;
	u32 bt_len;
	char *msg;
	char *dump;
};

struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_cgroup_init_args {
	u32 weight;
	/* Since Linux 6.17. */
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
};

struct scx_cpu_acquire_args {};

struct scx_cpu_release_args {
	enum scx_cpu_preempt_reason reason;
	struct task_struct *task;
};

/* Since Linux 6.19. */
struct scx_bpf_dsq_insert_vtime_args {
	u64 dsq_id;
	u64 slice;
	u64 vtime;
	u64 enq_flags;
};

struct scx_dump_ctx {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	u64 at_ns;
	u64 at_jiffies;
};

struct bpf_iter_scx_dsq {
	u64 __opaque[6];
} __attribute__((aligned(8)));

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	bool (*yield)(struct task_struct *from, struct task_struct *to);
	bool (*core_sched_before)(struct task_struct *a, struct task_struct *b);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_acquire)(s32 cpu, struct scx_cpu_acquire_args *args);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	void (*dump)(struct scx_dump_ctx *ctx);
	void (*dump_cpu)(struct scx_dump_ctx *ctx, s32 cpu, bool idle);
	void (*dump_task)(struct scx_dump_ctx *ctx, struct task_struct *p);
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgrp);
	s32 (*cgroup_prep_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_cancel_move)(struct task_struct *p, struct cgroup *from, struct cgroup *to);
	void (*cgroup_set_weight)(struct cgroup *cgrp, u32 weight);
	/* Since Linux 6.17. */
	void (*cgroup_set_bandwidth)(struct cgroup *cgrp, u64 period_us, u64 quota_us, u64 burst_us);
	/* Since Linux 6.19. */
	void (*cgroup_set_idle)(struct cgroup *cgrp, bool idle);
	void (*cpu_online)(s32 cpu);
	void (*cpu_offline)(s32 cpu);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u32 dispatch_max_batch;
	u64 flags;
	u32 timeout_ms;
	u32 exit_dump_len;
	u64 hotplug_seq;
	char name[128];
};

/* include/linux/sched.h, kernel/sched/sched.h */

struct sched_entity {
	u64 sum_exec_runtime;
};

struct mm_struct;

/* include/linux/sched.h: there the value is of 11 bits, the lowest ones of the word. */
struct uclamp_se {
	unsigned int value;
};

enum uclamp_id {
	UCLAMP_MIN,
	UCLAMP_MAX,
	UCLAMP_CNT,
};

/* With CONFIG_CFS_BANDWIDTH; the period is a ktime_t. */
struct cfs_bandwidth {
	s64 period;
	u64 quota;
	u64 burst;
};

struct task_group {
	struct task_group *parent;
	struct cfs_bandwidth cfs_bandwidth;
};

struct task_struct {
	unsigned int flags;
	int prio;
	int static_prio;
	struct sched_entity se;
	struct sched_ext_entity scx;
	unsigned int policy;
	int nr_cpus_allowed;
	struct mm_struct *mm;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	const cpumask_t *cpus_ptr;
	cpumask_t cpus_mask;
	unsigned short migration_disabled;
	/* With CONFIG_UCLAMP_TASK. */
	struct uclamp_se uclamp[UCLAMP_CNT];
	/* With CONFIG_CGROUP_SCHED. */
	struct task_group *sched_task_group;
	pid_t pid;
	pid_t tgid;
	char comm[16];
};

struct scx_rq {
	u32 cpuperf_target;
};

struct sched_avg {
	u64 last_update_time;
	unsigned long load_avg;
	unsigned long util_avg;
};

struct rq {
	struct task_struct *curr;
	int cpu;
	unsigned int clock_update_flags;
	struct sched_avg avg_rt;
	struct sched_avg avg_dl;
	/* With CONFIG_HAVE_SCHED_AVG_IRQ, and CONFIG_SCHED_HW_PRESSURE. */
	struct sched_avg avg_irq;
	struct sched_avg avg_hw;
	struct scx_rq scx;
};

/* include/linux/cgroup-defs.h, include/linux/kernfs.h */

struct kernfs_node {
	u64 id;
};

struct cgroup {
	int level;
	struct kernfs_node *kn;
};

#pragma clang attribute pop

#endif /* __VMLINUX_H__ */
