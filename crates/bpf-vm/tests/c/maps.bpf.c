/* SPDX-License-Identifier: GPL-2.0-only */
/* Maps of every kind but storage, which needs an owner. */
#include "check.h"

char _license[] SEC("license") = "GPL";

struct value {
	u64 a;
	u32 b;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 3);
	__type(key, u32);
	__type(value, struct value);
} array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2);
	__uint(key_size, 6);
	__uint(value_size, sizeof(u32));
} hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4);
	__type(key, u32);
	__type(value, u32);
} lru SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, u64);
} percpu_array SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_HASH);
	__uint(max_entries, 2);
	__type(key, u64);
	__type(value, u32);
} percpu_hash SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 3);
	__type(value, u32);
} queue SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_STACK);
	__uint(max_entries, 3);
	__type(value, u32);
} stack SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ringbuf SEC(".maps");

struct inner {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, u64);
} inner0 SEC(".maps"), inner1 SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} outer_array SEC(".maps") = {
	.values = { &inner0, &inner1 },
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 3);
	__type(key, u32);
	__array(values, struct inner);
} outer_hash SEC(".maps") = {
	.values = { [2] = &inner1 },
};

TEST int arrays(void *ctx)
{
	struct value one = { .a = 1, .b = 2 }, *found;
	u32 key = 2;

	found = bpf_map_lookup_elem(&array, &key);
	CHECK(found && found->a == 0 && found->b == 0);
	CHECK(bpf_map_update_elem(&array, &key, &one, BPF_ANY) == 0);
	CHECK(found->a == 1 && found->b == 2);
	CHECK(bpf_map_update_elem(&array, &key, &one, BPF_NOEXIST) == -EEXIST);
	CHECK(bpf_map_update_elem(&array, &key, &one, 77) == -EINVAL);
	CHECK(bpf_map_delete_elem(&array, &key) == -EINVAL);
	found->a = 9;
	found = bpf_map_lookup_elem(&array, &key);
	CHECK(found && found->a == 9);
	key = 3;
	CHECK(!bpf_map_lookup_elem(&array, &key));
	CHECK(bpf_map_update_elem(&array, &key, &one, BPF_ANY) == -E2BIG);
	return 0;
}

TEST int hashes(void *ctx)
{
	u32 value = 5, *found;

	CHECK(!bpf_map_lookup_elem(&hash, "first"));
	CHECK(bpf_map_update_elem(&hash, "first", &value, BPF_EXIST) == -ENOENT);
	CHECK(bpf_map_update_elem(&hash, "first", &value, BPF_NOEXIST) == 0);
	CHECK(bpf_map_update_elem(&hash, "first", &value, BPF_NOEXIST) == -EEXIST);
	value = 6;
	CHECK(bpf_map_update_elem(&hash, "secnd", &value, BPF_ANY) == 0);
	CHECK(bpf_map_update_elem(&hash, "third", &value, BPF_ANY) == -E2BIG);
	CHECK(bpf_map_update_elem(&hash, "first", &value, BPF_EXIST) == 0);
	found = bpf_map_lookup_elem(&hash, "first");
	CHECK(found && *found == 6);
	CHECK(bpf_map_delete_elem(&hash, "first") == 0);
	CHECK(bpf_map_delete_elem(&hash, "first") == -ENOENT);
	CHECK(!bpf_map_lookup_elem(&hash, "first"));
	CHECK(bpf_map_update_elem(&hash, "third", &value, BPF_ANY) == 0);
	found = bpf_map_lookup_elem(&hash, "secnd");
	CHECK(found && *found == 6);
	return 0;
}

/* A full LRU map makes room. Which elements go is the map's business, but not the newest. */
TEST int least_recently_used(void *ctx)
{
	u32 key, value, *found, kept = 0;

	for (key = 0; key < 100; key++) {
		value = key + 1;
		CHECK(bpf_map_update_elem(&lru, &key, &value, BPF_ANY) == 0);
		found = bpf_map_lookup_elem(&lru, &key);
		CHECK(found && *found == key + 1);
	}
	for (key = 0; key < 100; key++)
		kept += !!bpf_map_lookup_elem(&lru, &key);
	CHECK(kept >= 1 && kept <= 4);
	return 0;
}

/* Needs two CPUs or more. */
TEST int per_cpu(void *ctx)
{
	u32 key = 1, this = bpf_get_smp_processor_id(), other = this ? 0 : 1, *small;
	u64 *mine, *theirs, name = 7;

	mine = bpf_map_lookup_elem(&percpu_array, &key);
	theirs = bpf_map_lookup_percpu_elem(&percpu_array, &key, other);
	CHECK(mine && theirs && mine != theirs);
	CHECK(mine == bpf_map_lookup_percpu_elem(&percpu_array, &key, this));
	*mine = 3;
	CHECK(*theirs == 0);
	*theirs = 4;
	CHECK(*mine == 3);
	CHECK(!bpf_map_lookup_percpu_elem(&percpu_array, &key, 1 << 20));
	key = 2;
	CHECK(!bpf_map_lookup_elem(&percpu_array, &key));

	CHECK(!bpf_map_lookup_elem(&percpu_hash, &name));
	CHECK(bpf_map_update_elem(&percpu_hash, &name, &key, BPF_ANY) == 0);
	small = bpf_map_lookup_elem(&percpu_hash, &name);
	CHECK(small && *small == 2);
	/* A program's update sets the executing CPU's value; the others' of a new element are 0. */
	small = bpf_map_lookup_percpu_elem(&percpu_hash, &name, other);
	CHECK(small && *small == 0);
	return 0;
}

TEST int queues_and_stacks(void *ctx)
{
	u32 value;

	CHECK(bpf_map_pop_elem(&queue, &value) == -ENOENT);
	for (value = 1; value <= 3; value++) {
		CHECK(bpf_map_push_elem(&queue, &value, 0) == 0);
		CHECK(bpf_map_push_elem(&stack, &value, 0) == 0);
	}
	CHECK(bpf_map_push_elem(&queue, &value, 0) == -E2BIG);
	CHECK(bpf_map_peek_elem(&queue, &value) == 0 && value == 1);
	CHECK(bpf_map_peek_elem(&stack, &value) == 0 && value == 3);
	/* BPF_EXIST makes room by dropping the oldest. */
	value = 4;
	CHECK(bpf_map_push_elem(&queue, &value, BPF_EXIST) == 0);
	CHECK(bpf_map_push_elem(&stack, &value, BPF_EXIST) == 0);
	CHECK(bpf_map_pop_elem(&queue, &value) == 0 && value == 2);
	CHECK(bpf_map_pop_elem(&queue, &value) == 0 && value == 3);
	CHECK(bpf_map_pop_elem(&queue, &value) == 0 && value == 4);
	CHECK(bpf_map_pop_elem(&queue, &value) == -ENOENT);
	CHECK(bpf_map_pop_elem(&stack, &value) == 0 && value == 4);
	CHECK(bpf_map_pop_elem(&stack, &value) == 0 && value == 3);
	return 0;
}

TEST int ring_buffers(void *ctx)
{
	u64 *sample, word = 77;

	CHECK(bpf_ringbuf_query(&ringbuf, BPF_RB_RING_SIZE) == 4096);
	CHECK(bpf_ringbuf_query(&ringbuf, BPF_RB_AVAIL_DATA) == 0);
	sample = bpf_ringbuf_reserve(&ringbuf, sizeof(*sample), 0);
	CHECK(sample);
	*sample = 5;
	bpf_ringbuf_submit(sample, 0);
	/* 8 bytes of header and 8 of data. */
	CHECK(bpf_ringbuf_query(&ringbuf, BPF_RB_AVAIL_DATA) == 16);
	CHECK(bpf_ringbuf_output(&ringbuf, &word, 4, 0) == 0);
	CHECK(bpf_ringbuf_query(&ringbuf, BPF_RB_AVAIL_DATA) == 32);
	CHECK(!bpf_ringbuf_reserve(&ringbuf, 4096, 0));
	sample = bpf_ringbuf_reserve(&ringbuf, 4000, 0);
	CHECK(sample);
	bpf_ringbuf_discard(sample, 0);
	CHECK(!bpf_ringbuf_reserve(&ringbuf, 4000, 0));
	return 0;
}

TEST int maps_in_maps(void *ctx)
{
	u32 key = 1, zero = 0;
	u64 value = 66, *found;
	void *map;

	map = bpf_map_lookup_elem(&outer_array, &key);
	CHECK(map);
	CHECK(bpf_map_update_elem(map, &zero, &value, BPF_ANY) == 0);
	found = bpf_map_lookup_elem(&inner1, &zero);
	CHECK(found && *found == 66);
	found = bpf_map_lookup_elem(&inner0, &zero);
	CHECK(found && *found == 0);
	key = 2;
	CHECK(!bpf_map_lookup_elem(&outer_array, &key));
	map = bpf_map_lookup_elem(&outer_hash, &key);
	CHECK(map);
	found = bpf_map_lookup_elem(map, &zero);
	CHECK(found && *found == 66);
	key = 0;
	CHECK(!bpf_map_lookup_elem(&outer_hash, &key));
	return 0;
}
