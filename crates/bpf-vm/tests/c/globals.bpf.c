/* SPDX-License-Identifier: GPL-2.0-only */
/* Global variables of every kind of section: their first values, settings, strings, addresses. */
#include "check.h"

char _license[] SEC("license") = "GPL";

enum mode {
	MODE_OFF = -1,
	MODE_SLOW = 3,
	MODE_FAST = 70000,
};

struct point {
	s16 x;
	u8 tag;
	s64 y;
};

/* A host may change these before loading. Their sum by kind is what `settings_sum` returns. */
const volatile u64 number = 1;
const volatile s8 small = -2;
const volatile bool flag;
const volatile enum mode mode = MODE_SLOW;
const volatile char text[8] = "abc";
const volatile struct point place = { .x = -5, .tag = 6, .y = -7 };
const volatile u32 list[4] = { 10, 20, 30, 40 };

u64 zero;
static u32 zeroes[5];
s32 answer = 42;
static u16 hidden_answer = 43;
struct point point = { .x = 1, .tag = 2, .y = 3 };
char word[] = "hello";
u64 resizable[1] SEC(".data.resizable");
const volatile u32 resizable_len = 1;

private(one) u64 private_one = 11;
private(two) u64 private_two = 22;

static const u64 squares[] = { 0, 1, 4, 9, 16 };

TEST int first_values(void *ctx)
{
	CHECK(zero == 0);
	CHECK(zeroes[HIDDEN(4)] == 0);
	CHECK(answer == 42);
	CHECK(hidden_answer == 43);
	CHECK(point.x == 1 && point.tag == 2 && point.y == 3);
	CHECK(word[0] == 'h' && word[4] == 'o' && word[5] == 0);
	CHECK(private_one == 11 && private_two == 22);
	CHECK(squares[HIDDEN(3)] == 9);
	return 0;
}

TEST int values_last(void *ctx)
{
	zero = 5;
	zeroes[HIDDEN(2)] = 6;
	hidden_answer += 1;
	private_one = private_two + 1;
	point.x = -1;
	CHECK(zero == 5 && zeroes[HIDDEN(2)] == 6 && zeroes[HIDDEN(1)] == 0);
	CHECK(HIDDEN(hidden_answer) == 44);
	CHECK(private_one == 23 && private_two == 22);
	CHECK(point.x == -1 && point.tag == 2 && point.y == 3);
	return 0;
}

TEST int values_lasted(void *ctx)
{
	CHECK(zero == 5);
	CHECK(hidden_answer == 44);
	CHECK(private_one == 23);
	return 0;
}

/* With the first values: 1 - 2 + 0 + 3 + 3 (letters) - 5 + 6 - 7 + 100 = 99. Not a test: it is no failure. */
SEC("?syscall") int settings_sum(void *ctx)
{
	u64 sum = number + small + flag + mode;
	int i;

	for (i = 0; i < 8 && text[i]; i++)
		sum++;
	sum += place.x + place.tag + place.y;
	for (i = 0; i < 4; i++)
		sum += list[i];
	return sum;
}

/* The section grows with what a host made of its last array. */
TEST int resized(void *ctx)
{
	u32 last = HIDDEN(resizable_len) - 1;

	resizable[last] = 9;
	CHECK(resizable[last] == 9);
	return 0;
}
