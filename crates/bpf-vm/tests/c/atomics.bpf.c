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
	CHECK(OP(10, "/=", 3) == 3 && OP(10, "%%=", 3) == 1);
	CHECK(OP(~0ull, "/=", 10) == 1844674407370955161ull && OP(~0ull, "%%=", 10) == 5);
	CHECK(OP32(~0u, "/=", 10) == 429496729 && OP32(~0u, "%%=", 10) == 5);
	/* BPF defines both, where C and most machines do not. */
	CHECK(OP(10, "/=", 0) == 0 && OP(10, "%%=", 0) == 10);
	CHECK(OP32(10, "/=", 0) == 0 && OP32(10, "%%=", 0) == 10);
	return 0;
}

TEST int shifts_and_signs(void *ctx)
{
	CHECK(OP(-8ll, "s>>=", 1) == -4ull && OP(-8ll, ">>=", 60) == 15);
	CHECK(OP32(-8, "s>>=", 1) == -4u && OP32(-8, ">>=", 28) == 15);
	CHECK(OP(1, "<<=", 63) == 0x8000000000000000ull && OP32(3, "<<=", 31) == 0x80000000);
	/* Only the lowest bits of a distance count. */
	CHECK(OP(1, "<<=", 65) == 2 && OP32(1, "<<=", 33) == 2);
	CHECK(OP(7, "*=", -3ll) == -21ull && OP32(7, "*=", -3) == -21u);
	/* What 32 bits give is extended with zeroes. */
	CHECK((u64)OP32(0, "-=", 1) == 0xffffffffull);
	return 0;
}

TEST int byte_orders(void *ctx)
{
	u64 bits = 0x0102030405060708ull;

	CHECK(UNARY("be64 %0", bits) == 0x0807060504030201ull);
	CHECK(UNARY("be32 %0", bits) == 0x08070605);
	CHECK(UNARY("be16 %0", bits) == 0x0807);
	CHECK(UNARY("le64 %0", bits) == bits);
	CHECK(UNARY("le32 %0", bits) == 0x05060708);
	CHECK(UNARY("le16 %0", bits) == 0x0708);
	return 0;
}
