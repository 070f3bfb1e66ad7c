/* SPDX-License-Identifier: GPL-2.0-only */
/* Pages that programs share with user space: bpf_arena. The map says where user space has them: from 16 TiB on. */
#include "check.h"

char _license[] SEC("license") = "GPL";

#ifndef __BPF_FEATURE_ADDR_SPACE_CAST
#error "this compiler knows no address spaces"
#endif
#define __arena __attribute__((address_space(1)))

#define PAGE 4096
#define PAGES 100
#define START (1ull << 44)
#define NO_NODE (-1)

struct {
	__uint(type, BPF_MAP_TYPE_ARENA);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, PAGES);
	__ulong(map_extra, START);
} arena SEC(".maps");

extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *address, u32 pages, int node, u64 flags) __ksym __weak;
extern void bpf_arena_free_pages(void *map, void __arena *address, u32 pages) __ksym __weak;
extern int bpf_arena_reserve_pages(void *map, void __arena *address, u32 pages) __ksym __weak;

struct node {
	struct node __arena *next;
	u64 value;
};

u64 __arena counter = 41;
struct node __arena table[300];
/* Not in the arena: a pointer into it, as user space has it. */
struct node __arena *head;

static struct node __arena *pages(u32 count)
{
	return bpf_arena_alloc_pages(&arena, NULL, count, NO_NODE, 0);
}

static u64 user(void __arena *pointer)
{
	return HIDDEN((u64)pointer);
}

/* Data is in the last pages: 8 + 300 * 16 bytes take two. */
TEST int data_is_in_the_arena(void *ctx)
{
	CHECK(user(&counter) >= START + (PAGES - 2) * PAGE && user(&counter) < START + PAGES * PAGE);
	CHECK(counter == 41);
	counter++;
	CHECK(counter == 42);
	table[299].value = 7;
	CHECK(table[299].value == 7 && table[0].value == 0);
	return 0;
}

/* Pages are zero, the lowest free first, and their addresses are those of user space. */
TEST int pages_are_allocated(void *ctx)
{
	/* Volatile, as a store that is lost is nothing that a compiler expects. */
	u64 volatile __arena *first = (u64 volatile __arena *)pages(1);
	u64 volatile __arena *two = (u64 volatile __arena *)pages(2);

	CHECK(user((void __arena *)first) == START && user((void __arena *)two) == START + PAGE);
	two[0] = 1;
	two[1023] = 2;
	CHECK(two[0] == 1 && two[511] == 0 && two[512] == 0 && two[1023] == 2);
	bpf_arena_free_pages(&arena, (void __arena *)two, 1);
	/* What was freed reads 0; the page behind it is still there. */
	CHECK(two[0] == 0 && two[1023] == 2);
	two[0] = 5;
	CHECK(two[0] == 0);
	CHECK(user(pages(1)) == START + PAGE);
	CHECK(two[0] == 0);
	two[0] = 6;
	CHECK(two[0] == 6 && two[1023] == 2);
	return 0;
}

/* The pages from the third on are free, but the last two. */
TEST int requests_that_cannot_be_met_give_null(void *ctx)
{
	CHECK(!pages(0) && !pages(PAGES) && !pages(PAGES - 4));
	CHECK(!bpf_arena_alloc_pages(&arena, NULL, 1, NO_NODE, 1));
	CHECK(!bpf_arena_alloc_pages(&arena, NULL, 1, 5000, 0));
	CHECK(!bpf_arena_alloc_pages(&arena, (void __arena *)(START + 50 * PAGE + 8), 1, NO_NODE, 0));
	CHECK(!bpf_arena_alloc_pages(&arena, (void __arena *)(START + 96 * PAGE), 3, NO_NODE, 0));
	CHECK(user(bpf_arena_alloc_pages(&arena, (void __arena *)(START + 96 * PAGE), 2, NO_NODE, 0)) == START + 96 * PAGE);
	CHECK(!bpf_arena_alloc_pages(&arena, (void __arena *)(START + 97 * PAGE), 1, NO_NODE, 0));
	return 0;
}

/* A list whose nodes point to each other with the addresses of user space. */
TEST int pointers_are_those_of_user_space(void *ctx)
{
	struct node __arena *node = pages(1);
	u64 sum = 0;

	head = NULL;
	for (int i = 0; i < 10; i++, node++) {
		/* Were it known, clang 19 would make a memset of it, without a cast. */
		node->value = HIDDEN(i);
		node->next = head;
		head = node;
	}
	CHECK(HIDDEN(*(u64 *)&head) >> 32 == START >> 32);
	for (node = head; node; node = node->next)
		sum += node->value;
	CHECK(sum == 45);
	return 0;
}

/* Accesses that cross pages, whose bytes need not lie side by side. */
TEST int an_access_may_cross_pages(void *ctx)
{
	char volatile __arena *low = (char volatile __arena *)bpf_arena_alloc_pages(&arena, (void __arena *)(START + 41 * PAGE), 1, NO_NODE, 0);
	char volatile __arena *high = (char volatile __arena *)bpf_arena_alloc_pages(&arena, (void __arena *)(START + 42 * PAGE), 1, NO_NODE, 0);
	char volatile __arena *lone = (char volatile __arena *)bpf_arena_alloc_pages(&arena, (void __arena *)(START + 44 * PAGE), 1, NO_NODE, 0);
	u64 volatile __arena *across;

	CHECK(low && high && lone);
	bpf_arena_free_pages(&arena, (void __arena *)low, 1);
	low = (char volatile __arena *)bpf_arena_alloc_pages(&arena, (void __arena *)(START + 40 * PAGE), 1, NO_NODE, 0);
	low = (char volatile __arena *)bpf_arena_alloc_pages(&arena, (void __arena *)(START + 41 * PAGE), 1, NO_NODE, 0);
	across = (u64 volatile __arena *)(high - 3);
	*across = 0x1122334455667788;
	CHECK(*across == 0x1122334455667788);
	CHECK(low[PAGE - 3] == (char)0x88 && low[PAGE - 1] == 0x66 && high[0] == 0x55 && high[4] == 0x11);
	/* Nothing of a store is done whose second page is not there. */
	across = (u64 volatile __arena *)(lone + PAGE - 4);
	*across = 0x1122334455667788;
	CHECK(*across == 0 && *(u32 volatile __arena *)across == 0);
	return 0;
}

TEST int atomics_work_in_the_arena(void *ctx)
{
	u64 __arena *word = (u64 __arena *)pages(1);
	u64 __arena *gone = word + 512;

	CHECK(__sync_fetch_and_add(word, 5) == 0);
	CHECK(__sync_val_compare_and_swap(word, 5, 9) == 5);
	CHECK(__sync_val_compare_and_swap(word, 5, 7) == 9);
	CHECK(*word == 9);
	bpf_arena_free_pages(&arena, word, 1);
	__sync_fetch_and_add(word, 5);
	CHECK(HIDDEN(*(u64 volatile __arena *)word) == 0 && *gone == 0);
	return 0;
}

/* Null is null in both address spaces, and reads 0 if the first page is not there. */
TEST int null_stays_null(void *ctx)
{
	u64 __arena *null = (u64 __arena *)HIDDEN(0ull);

	CHECK(user(null) == 0);
	bpf_arena_free_pages(&arena, (void __arena *)START, 1);
	CHECK(null[1] == 0 && null[-1] == 0);
	return 0;
}

/* The first page is free. */
TEST int reserved_pages_are_not_allocated(void *ctx)
{
	u64 __arena *next;

	CHECK(bpf_arena_reserve_pages(&arena, (void __arena *)START, 1) == 0);
	CHECK(bpf_arena_reserve_pages(&arena, (void __arena *)START, 1) == -EBUSY);
	CHECK(bpf_arena_reserve_pages(&arena, (void __arena *)(START + (PAGES - 1) * PAGE), 2) == -EINVAL);
	next = (u64 __arena *)pages(1);
	CHECK(next && user(next) != START);
	bpf_arena_free_pages(&arena, (void __arena *)START, 1);
	CHECK(user(pages(1)) == START);
	return 0;
}
