/* SPDX-License-Identifier: GPL-2.0-only */
/* Open-coded iterators over numbers and bits. */
#include "check.h"

char _license[] SEC("license") = "GPL";

extern int bpf_iter_bits_new(struct bpf_iter_bits *it, const u64 *unsafe_ptr__ign, u32 nr_words) __ksym __weak;
extern int *bpf_iter_bits_next(struct bpf_iter_bits *it) __ksym __weak;
extern void bpf_iter_bits_destroy(struct bpf_iter_bits *it) __ksym __weak;
extern void bpf_no_such_function(u64 argument) __ksym __weak;

u64 words[2] = { 1ull << 63 | 1, 1ull << 5 };

TEST int numbers(void *ctx)
{
	u64 sum = 0;
	int i;

	bpf_for(i, HIDDEN(3), HIDDEN(6))
		sum += i;
	CHECK(sum == 12 && i == 5);

	sum = 0;
	bpf_for(i, HIDDEN(-2), HIDDEN(2)) {
		if (i == 1)
			break;
		sum += i;
	}
	CHECK(sum == -3ull);

	sum = 0;
	bpf_repeat(HIDDEN(1000))
		sum++;
	CHECK(sum == 1000);

	sum = 0;
	bpf_for(i, HIDDEN(6), HIDDEN(3))
		sum++;
	CHECK(sum == 0);
	return 0;
}

TEST int errors_of_numbers(void *ctx)
{
	struct bpf_iter_num it;

	CHECK(bpf_iter_num_new(&it, 1, 0) == -EINVAL);
	CHECK(!bpf_iter_num_next(&it));
	bpf_iter_num_destroy(&it);
	CHECK(bpf_iter_num_new(&it, 0, BPF_MAX_LOOPS + 1) == -E2BIG);
	CHECK(!bpf_iter_num_next(&it));
	bpf_iter_num_destroy(&it);
	return 0;
}

static int sum_of_bits(const u64 *bits, u32 nr_words, u32 *count)
{
	struct bpf_iter_bits it;
	int *bit, sum = 0;

	*count = 0;
	if (!bpf_iter_bits_new(&it, bits, nr_words)) {
		while ((bit = bpf_iter_bits_next(&it))) {
			sum += *bit;
			(*count)++;
		}
	}
	bpf_iter_bits_destroy(&it);
	return sum;
}

TEST int bits(void *ctx)
{
	u32 count;

	CHECK(sum_of_bits(words, 1, &count) == 63 && count == 2);
	CHECK(sum_of_bits(words, 2, &count) == 63 + 69 && count == 3);
	CHECK(sum_of_bits(words, 0, &count) == 0 && count == 0);
	return 0;
}

TEST int a_weak_function_that_nobody_has(void *ctx)
{
	CHECK(!bpf_ksym_exists(bpf_no_such_function));
	if (bpf_ksym_exists(bpf_no_such_function))
		bpf_no_such_function(1);
	return 0;
}
