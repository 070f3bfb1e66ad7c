/* SPDX-License-Identifier: GPL-2.0-only */
/* Atomic operations of 32 and 64 bits, and arithmetic whose cases are easy to get wrong. */
#include "check.h"

char _license[] SEC("license") = "GPL";

u64 wide = 100;
u32 narrow[2] = { 0xfffffff0, 7 };

TEST int atomics_of_64_bits(void *ctx)
{
	CHECK(__sync_fetch_and_add(&wide, 5) == 100);
	__sync_fetch_and_add(&wide, 1);
	CHECK(wide == 106);
	CHECK(__sync_fetch_and_sub(&wide, 6) == 106);
	CHECK(__sync_fetch_and_or(&wide, 3) == 100);
	CHECK(__sync_fetch_and_and(&wide, 0xf) == 103);
	CHECK(__sync_fetch_and_xor(&wide, 0xf0) == 7);
	CHECK(wide == 0xf7);
	CHECK(__sync_lock_test_and_set(&wide, 1) == 0xf7);
	CHECK(__sync_val_compare_and_swap(&wide, 2, 3) == 1);
	CHECK(wide == 1);
	CHECK(__sync_val_compare_and_swap(&wide, 1, 3) == 1);
	CHECK(wide == 3);
	/* The compiler makes an exchange of this one. */
	CHECK(__sync_fetch_and_and(&wide, 0) == 3);
	CHECK(wide == 0);
	return 0;
}

TEST int atomics_of_32_bits(void *ctx)
{
	CHECK(__sync_fetch_and_add(&narrow[0], 0x20) == 0xfffffff0);
	CHECK(narrow[0] == 0x10 && narrow[1] == 7);
	CHECK(__sync_fetch_and_or(&narrow[0], 0x80000000) == 0x10);
	CHECK(__sync_lock_test_and_set(&narrow[0], 9) == 0x80000010);
	CHECK(__sync_val_compare_and_swap(&narrow[0], 9, 0xffffffff) == 9);
	CHECK(narrow[0] == 0xffffffff && narrow[1] == 7);
	CHECK(__sync_bool_compare_and_swap(&narrow[0], 9, 1) == 0);
	CHECK(narrow[0] == 0xffffffff);
	return 0;
}

TEST int divisions(void *ctx)
{
	u64 ten = HIDDEN(10ull), nil = HIDDEN(0ull), all = HIDDEN(~0ull);
	u32 ten32 = HIDDEN(10u), nil32 = HIDDEN(0u);

	CHECK(ten / 3 == 3 && ten % 3 == 1);
	CHECK(all / ten == 1844674407370955161ull && all % ten == 5);
	/* BPF defines both, where C and most machines do not. */
	CHECK(ten / nil == 0 && ten % nil == 10);
	CHECK(ten32 / nil32 == 0 && ten32 % nil32 == 10);
	return 0;
}

TEST int shifts_and_signs(void *ctx)
{
	s64 minus = HIDDEN(-8ll);
	s32 minus32 = HIDDEN(-8);
	u32 shift = HIDDEN(1u);

	CHECK(minus >> shift == -4 && (u64)minus >> 60 == 15);
	CHECK(minus32 >> shift == -4 && (u32)minus32 >> 28 == 15);
	CHECK((s64)minus32 == -8 && (u64)(u32)minus32 == 0xfffffff8);
	CHECK(1ull << HIDDEN(63) == 0x8000000000000000ull);
	CHECK((s8)HIDDEN(0x180) == -128 && (s16)HIDDEN(0x18000) == -32768);
	CHECK(minus < 0 && minus32 < 0 && (u64)minus > 8);
	CHECK(__builtin_bswap64(HIDDEN(0x0102030405060708ull)) == 0x0807060504030201ull);
	CHECK(__builtin_bswap32(HIDDEN(0x01020304u)) == 0x04030201);
	CHECK(__builtin_bswap16(HIDDEN((u16)0x0102)) == 0x0201);
	return 0;
}
