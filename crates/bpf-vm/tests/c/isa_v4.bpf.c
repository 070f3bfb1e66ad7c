/* SPDX-License-Identifier: GPL-2.0-only */
/* What the instruction set's version 4 adds: signed division, sign-extending loads and moves, byte swaps, long jumps. */
#include "check.h"

char _license[] SEC("license") = "GPL";

s8 byte = -3;
s16 half = -300;
s32 word = -70000;

TEST int signed_division(void *ctx)
{
	s64 a = HIDDEN(-7ll), b = HIDDEN(2ll), nil = HIDDEN(0ll);
	s32 c = HIDDEN(-7), d = HIDDEN(-2);

	CHECK(a / b == -3 && a % b == -1);
	CHECK(c / d == 3 && c % d == -1);
	CHECK(a / nil == 0 && a % nil == -7);
	/* The one quotient that does not fit. */
	CHECK(HIDDEN((s64)(1ull << 63)) / HIDDEN(-1ll) == (s64)(1ull << 63));
	CHECK(HIDDEN((s64)(1ull << 63)) % HIDDEN(-1ll) == 0);
	CHECK(HIDDEN((s32)(1u << 31)) / HIDDEN(-1) == (s32)(1u << 31));
	return 0;
}

TEST int sign_extending_loads(void *ctx)
{
	s64 a = *(volatile s8 *)&byte, b = *(volatile s16 *)&half, c = *(volatile s32 *)&word;

	CHECK(a == -3 && b == -300 && c == -70000);
	CHECK(a + b + c == -70303);
	return 0;
}

TEST int sign_extending_moves(void *ctx)
{
	u64 bits = HIDDEN(0xfedcba9876543281ull);

	CHECK((s64)(s8)bits == -127);
	CHECK((s64)(s16)bits == 0x3281);
	CHECK((s64)(s32)bits == 0x76543281);
	CHECK((s32)(s8)bits == -127);
	return 0;
}

TEST int byte_swaps(void *ctx)
{
	u64 bits = HIDDEN(0x0102030405060708ull), swapped = bits;

	asm volatile("%0 = bswap64 %0" : "+r"(swapped));
	CHECK(swapped == 0x0807060504030201ull);
	swapped = bits;
	asm volatile("%0 = bswap32 %0" : "+r"(swapped));
	CHECK(swapped == 0x08070605);
	swapped = bits;
	asm volatile("%0 = bswap16 %0" : "+r"(swapped));
	CHECK(swapped == 0x0807);
	return 0;
}

TEST int long_jump(void *ctx)
{
	int jumped = HIDDEN(0);

	asm volatile goto("gotol %l[there]" : : : : there);
	return __LINE__;
there:
	jumped++;
	CHECK(jumped == 1);
	return 0;
}
