/* SPDX-License-Identifier: GPL-2.0-only */
/* Subprograms, static and global, callbacks, the stack. */
#include "check.h"

char _license[] SEC("license") = "GPL";

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 5);
	__type(key, u32);
	__type(value, u64);
} numbers SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8);
	__type(key, u64);
	__type(value, u32);
} pairs SEC(".maps");

struct timed {
	u64 fired;
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2);
	__type(key, u32);
	__type(value, struct timed);
} timers SEC(".maps");

static __noinline u64 five(u64 a, u64 b, u64 c, u64 d, u64 e)
{
	return a + 10 * b + 100 * c + 1000 * d + 10000 * e;
}

__noinline int global_add(int a, int b)
{
	barrier_var(a);
	return a + b;
}

/* Registers r6 to r9 and the frame outlive calls. */
static __noinline u64 deep(u64 levels)
{
	u64 frame[4] = { levels, levels + 1, levels + 2, levels + 3 };

	barrier_var(levels);
	if (levels == 0)
		return 1;
	frame[HIDDEN(1) & 3] += five(levels, frame[0], 0, 0, 0);
	return frame[HIDDEN(0) & 3] + frame[HIDDEN(1) & 3] + frame[HIDDEN(3) & 3];
}

TEST int calls(void *ctx)
{
	CHECK(five(HIDDEN(1ull), 2, 3, 4, 5) == 54321);
	CHECK(global_add(HIDDEN(-3), 1) == -2);
	/* frame[1] = 3 + (2 + 20) = 25; 2 + 25 + 5 */
	CHECK(deep(HIDDEN(2ull)) == 32);
	CHECK(deep(HIDDEN(0ull)) == 1);
	return 0;
}

/* A buffer of the caller, filled by the callee. */
static __noinline void fill(u8 *buffer, u32 size)
{
	u32 i;

	for (i = 0; i < size; i++)
		buffer[i] = i * i;
}

TEST int stack(void *ctx)
{
	u8 buffer[300];

	fill(buffer, 300);
	CHECK(buffer[HIDDEN(15)] == 225);
	CHECK(buffer[HIDDEN(299)] == (u8)(299 * 299));
	CHECK(*(u32 *)&buffer[HIDDEN(1)] == 0x10090401);
	return 0;
}

struct sum {
	u64 total;
	u32 calls;
};

static long add_index(u64 index, void *data)
{
	struct sum *sum = data;

	sum->total += index;
	sum->calls++;
	return sum->calls == 100;
}

TEST int loops(void *ctx)
{
	struct sum sum = {};

	CHECK(bpf_loop(10, add_index, &sum, 0) == 10);
	CHECK(sum.total == 45 && sum.calls == 10);
	/* The callback returns 1 when it was called 100 times. */
	CHECK(bpf_loop(1000, add_index, &sum, 0) == 90);
	CHECK(sum.calls == 100);
	CHECK(bpf_loop(0, add_index, &sum, 0) == 0);
	CHECK(bpf_loop(BPF_MAX_LOOPS + 1, add_index, &sum, 0) == -E2BIG);
	CHECK(bpf_loop(1, add_index, &sum, 1) == -EINVAL);
	return 0;
}

static long add_element(struct bpf_map *map, u32 *key, u64 *value, struct sum *sum)
{
	sum->total += *value * (*key + 1);
	sum->calls++;
	return 0;
}

static long stop_at_second(struct bpf_map *map, u64 *key, u32 *value, struct sum *sum)
{
	sum->calls++;
	sum->total += *key + *value;
	return sum->calls == 2;
}

TEST int each_element(void *ctx)
{
	struct sum sum = {};
	u64 value, pair;
	u32 key, one = 1;

	for (key = 0; key < 5; key++) {
		value = key * 10;
		CHECK(bpf_map_update_elem(&numbers, &key, &value, BPF_ANY) == 0);
	}
	CHECK(bpf_for_each_map_elem(&numbers, add_element, &sum, 0) == 5);
	/* 0*1 + 10*2 + 20*3 + 30*4 + 40*5 */
	CHECK(sum.total == 400 && sum.calls == 5);

	for (pair = 7; pair < 10; pair++)
		CHECK(bpf_map_update_elem(&pairs, &pair, &one, BPF_ANY) == 0);
	sum.calls = 0;
	CHECK(bpf_for_each_map_elem(&pairs, stop_at_second, &sum, 0) == 2);
	CHECK(sum.calls == 2);
	CHECK(bpf_for_each_map_elem(&pairs, stop_at_second, &sum, 1) == -EINVAL);
	return 0;
}

u64 fired_total;

static int on_timer(void *map, u32 *key, struct timed *timed)
{
	timed->fired++;
	fired_total += 1 + *key;
	if (timed->fired < 3)
		bpf_timer_start(&timed->timer, 1000, 0);
	return 0;
}

/* Arms the timer of key 1 to 1000 ns from now, and then again until it has fired three times. */
TEST int timer_armed(void *ctx)
{
	struct timed *timed;
	u32 key = 1;

	timed = bpf_map_lookup_elem(&timers, &key);
	CHECK(timed);
	CHECK(bpf_timer_start(&timed->timer, 1000, 0) == -EINVAL);
	CHECK(bpf_timer_init(&timed->timer, &timers, 5) == -EINVAL);
	CHECK(bpf_timer_init(&timed->timer, &timers, 1) == 0);
	CHECK(bpf_timer_init(&timed->timer, &timers, 1) == -EBUSY);
	CHECK(bpf_timer_start(&timed->timer, 1000, 0) == -EINVAL);
	CHECK(bpf_timer_set_callback(&timed->timer, on_timer) == 0);
	CHECK(bpf_timer_start(&timed->timer, 1000, 8) == -EINVAL);
	CHECK(bpf_timer_start(&timed->timer, 1000, 0) == 0);
	CHECK(timed->fired == 0);
	return 0;
}

/* Once the host has fired what was armed, until nothing was: for the host to call, so no test. */
SEC("?syscall") int timer_fired_thrice(void *ctx)
{
	struct timed *timed;
	u32 key = 1;

	timed = bpf_map_lookup_elem(&timers, &key);
	CHECK(timed);
	CHECK(timed->fired == 3);
	CHECK(fired_total == 6);
	CHECK(bpf_timer_cancel(&timed->timer) == 0);
	return 0;
}
