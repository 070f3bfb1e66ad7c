/* SPDX-License-Identifier: GPL-2.0-only */
/* Task and cgroup storage. Each test gets the addresses of two tasks and two cgroups of the host. */
#include "check.h"

char _license[] SEC("license") = "GPL";

struct task_struct;
struct cgroup;

struct owners {
	struct task_struct *tasks[2];
	struct cgroup *cgroups[2];
};

struct value {
	u64 a;
	u32 b;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct value);
} of_task SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, u32);
} of_cgroup SEC(".maps");

TEST int storage_of_tasks(struct owners *owners)
{
	struct value *first, *second, initial = { .a = 1, .b = 2 };

	CHECK(!bpf_task_storage_get(&of_task, owners->tasks[0], NULL, 0));
	first = bpf_task_storage_get(&of_task, owners->tasks[0], NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK(first && first->a == 0 && first->b == 0);
	first->a = 5;
	second = bpf_task_storage_get(&of_task, owners->tasks[1], &initial, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK(second && second != first && second->a == 1 && second->b == 2);
	CHECK(bpf_task_storage_get(&of_task, owners->tasks[0], &initial, BPF_LOCAL_STORAGE_GET_F_CREATE) == first);
	CHECK(first->a == 5);
	CHECK(bpf_task_storage_delete(&of_task, owners->tasks[1]) == 0);
	CHECK(bpf_task_storage_delete(&of_task, owners->tasks[1]) == -ENOENT);
	CHECK(!bpf_task_storage_get(&of_task, owners->tasks[1], NULL, 0));
	CHECK(!bpf_task_storage_get(&of_task, NULL, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE));
	return 0;
}

TEST int storage_of_cgroups(struct owners *owners)
{
	u32 *first;

	CHECK(!bpf_cgrp_storage_get(&of_cgroup, owners->cgroups[0], NULL, 0));
	first = bpf_cgrp_storage_get(&of_cgroup, owners->cgroups[0], NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	CHECK(first && *first == 0);
	*first = 8;
	CHECK(!bpf_cgrp_storage_get(&of_cgroup, owners->cgroups[1], NULL, 0));
	first = bpf_cgrp_storage_get(&of_cgroup, owners->cgroups[0], NULL, 0);
	CHECK(first && *first == 8);
	CHECK(bpf_cgrp_storage_delete(&of_cgroup, owners->cgroups[0]) == 0);
	return 0;
}

/* After the host has let the first task go: nothing of it is left, also for a new task at the same address. */
SEC("?syscall") int storage_is_gone(struct owners *owners)
{
	CHECK(!bpf_task_storage_get(&of_task, owners->tasks[0], NULL, 0));
	return 0;
}
