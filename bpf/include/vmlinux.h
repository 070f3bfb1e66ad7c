/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's types that the scheduler uses, and of these the members that it uses.
 *
 * Programs reach members by name (CO-RE): order, offsets and what is left out do not matter, so this small file stands for
 * the vmlinux.h of any kernel from 6.12 on. Enumerators below are those whose values have not changed since.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef signed char __s8;
typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;

typedef __u8 u8;
typedef __u16 u16;
typedef __s32 s32;
typedef __u32 u32;
typedef __s64 s64;
typedef __u64 u64;

typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

typedef _Bool bool;

enum {
	false = 0,
	true = 1,
};

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};

/* Of bpf_map_update_elem. */
enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

/* Of maps. */
enum {
	BPF_F_NO_PREALLOC = 1,
};

enum {
	BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
};

enum {
	BPF_F_CURRENT_CPU = 0xffffffffULL,
};

struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
};

struct bpf_timer {
	__u64 __opaque[2];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 __opaque[1];
} __attribute__((aligned(8)));

struct bpf_iter_scx_dsq {
	__u64 __opaque[6];
} __attribute__((aligned(8)));

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef int pid_t;

struct cpumask {
	unsigned long bits[128];
};

typedef struct cpumask cpumask_t;

struct bpf_cpumask {
	cpumask_t cpumask;
};

/* include/linux/sched/ext.h, kernel/sched/ext.c */

enum {
	SCX_SLICE_DFL = 20 * 1000 * 1000,
};

enum scx_dsq_id_flags {
	SCX_DSQ_FLAG_BUILTIN = 1ULL << 63,
	SCX_DSQ_FLAG_LOCAL_ON = 1ULL << 62,
	SCX_DSQ_LOCAL = SCX_DSQ_FLAG_BUILTIN | 2,
	SCX_DSQ_LOCAL_ON = SCX_DSQ_FLAG_BUILTIN | SCX_DSQ_FLAG_LOCAL_ON,
};

enum scx_ops_flags {
	SCX_OPS_KEEP_BUILTIN_IDLE = 1ULL << 0,
	SCX_OPS_ENQ_LAST = 1ULL << 1,
};

enum scx_wake_flags {
	SCX_WAKE_SYNC = 0x10,
};

enum scx_enq_flags {
	SCX_ENQ_WAKEUP = 1,
	SCX_ENQ_PREEMPT = 1ULL << 32,
	SCX_ENQ_LAST = 1ULL << 41,
};

enum scx_deq_flags {
	SCX_DEQ_SLEEP = 1,
};

enum scx_pick_idle_cpu_flags {
	SCX_PICK_IDLE_CORE = 1,
};

enum scx_kick_flags {
	SCX_KICK_IDLE = 1,
	SCX_KICK_PREEMPT = 2,
};

enum {
	SCX_CPUPERF_ONE = 1024,
};

enum scx_exit_kind {
	SCX_EXIT_NONE = 0,
	SCX_EXIT_UNREG = 64,
	SCX_EXIT_ERROR = 1024,
};

enum scx_ent_flags {
	SCX_TASK_QUEUED = 1,
};

struct sched_ext_entity {
	u32 flags;
	u32 weight;
	u64 slice;
	u64 dsq_vtime;
};

struct scx_exit_info {
	enum scx_exit_kind kind;
	s64 exit_code;
	const char *reason;
	char *msg;
	char *dump;
};

struct scx_init_task_args {
	bool fork;
};

struct scx_exit_task_args {
	bool cancelled;
};

struct scx_cpu_release_args {
	struct task_struct *task;
};

/* include/linux/sched.h */

struct sched_entity {
	u64 sum_exec_runtime;
};

struct task_struct {
	unsigned int flags;
	int static_prio;
	struct sched_entity se;
	struct sched_ext_entity scx;
	int nr_cpus_allowed;
	const cpumask_t *cpus_ptr;
	pid_t pid;
	pid_t tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	char comm[16];
};

/* Only the callbacks and values that the scheduler has. */
struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*tick)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *cpumask);
	void (*update_idle)(s32 cpu, bool idle);
	void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, struct scx_exit_task_args *args);
	void (*enable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(struct scx_exit_info *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#pragma clang attribute pop

#endif /* __VMLINUX_H__ */
