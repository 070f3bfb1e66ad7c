/* SPDX-License-Identifier: GPL-2.0-only */
/* What the instruction set's version 4 adds: signed division, sign-extending loads and moves, byte swaps, long jumps. */
#include "check.h"

char _license[] SEC("license") = "GPL";

s8 byte = -3;
s16 half = -300;
s32 word = -70000;

TEST int signed_division(void *ctx)
{
	u64 least = 1ull << 63;

	CHECK(OP(-7ll, "s/=", 2) == -3ull && OP(-7ll, "s%%=", 2) == -1ull);
	CHECK(OP32(-7, "s/=", -2) == 3 && OP32(-7, "s%%=", -2) == -1u);
	CHECK(OP(-7ll, "s/=", 0) == 0 && OP(-7ll, "s%%=", 0) == -7ull);
	/* The one quotient that does not fit. */
	CHECK(OP(least, "s/=", -1ll) == least && OP(least, "s%%=", -1ll) == 0);
	CHECK(OP32(1u << 31, "s/=", -1) == 1u << 31 && OP32(1u << 31, "s%%=", -1) == 0);
	return 0;
}

#define LOAD(type, address)							\
({										\
	u64 __loaded;								\
	asm volatile("%0 = *(" type " *)(%1 + 0)" : "=r"(__loaded) : "r"(address) : "memory");	\
	__loaded;								\
})

TEST int sign_extending_loads(void *ctx)
{
	CHECK(LOAD("s8", &byte) == -3ull);
	CHECK(LOAD("s16", &half) == -300ull);
	CHECK(LOAD("s32", &word) == -70000ull);
	return 0;
}

TEST int sign_extending_moves(void *ctx)
{
	u64 bits = 0xfedcba9876543281ull;

	CHECK(OP(0, "= (s8)", bits) == -127ull);
	CHECK(OP(0, "= (s16)", bits) == 0x3281);
	CHECK(OP(0, "= (s32)", bits) == 0x76543281);
	CHECK((u64)OP32(0, "= (s8)", bits) == 0xffffff81);
	CHECK(OP32(0, "= (s16)", 0x8000) == 0xffff8000);
	return 0;
}

TEST int byte_swaps(void *ctx)
{
	u64 bits = 0x0102030405060708ull;

	CHECK(UNARY("bswap64 %0", bits) == 0x0807060504030201ull);
	CHECK(UNARY("bswap32 %0", bits) == 0x08070605);
	CHECK(UNARY("bswap16 %0", bits) == 0x0807);
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
