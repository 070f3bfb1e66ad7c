/* SPDX-License-Identifier: GPL-2.0-only */
/* Cpumasks, with at least 4 CPUs and at most 64. */
#include "check.h"

char _license[] SEC("license") = "GPL";

extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern struct bpf_cpumask *bpf_cpumask_acquire(struct bpf_cpumask *) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *) __ksym;
extern u32 bpf_cpumask_first_zero(const struct cpumask *) __ksym;
extern u32 bpf_cpumask_first_and(const struct cpumask *, const struct cpumask *) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *) __ksym;
extern void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *) __ksym;
extern bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *) __ksym;
extern bool bpf_cpumask_test_and_clear_cpu(u32 cpu, struct bpf_cpumask *) __ksym;
extern void bpf_cpumask_setall(struct bpf_cpumask *) __ksym;
extern void bpf_cpumask_clear(struct bpf_cpumask *) __ksym;
extern bool bpf_cpumask_and(struct bpf_cpumask *, const struct cpumask *, const struct cpumask *) __ksym;
extern void bpf_cpumask_or(struct bpf_cpumask *, const struct cpumask *, const struct cpumask *) __ksym;
extern void bpf_cpumask_xor(struct bpf_cpumask *, const struct cpumask *, const struct cpumask *) __ksym;
extern bool bpf_cpumask_equal(const struct cpumask *, const struct cpumask *) __ksym;
extern bool bpf_cpumask_intersects(const struct cpumask *, const struct cpumask *) __ksym;
extern bool bpf_cpumask_subset(const struct cpumask *, const struct cpumask *) __ksym;
extern bool bpf_cpumask_empty(const struct cpumask *) __ksym;
extern bool bpf_cpumask_full(const struct cpumask *) __ksym;
extern void bpf_cpumask_copy(struct bpf_cpumask *, const struct cpumask *) __ksym;
extern u32 bpf_cpumask_any_distribute(const struct cpumask *) __ksym;
extern u32 bpf_cpumask_any_and_distribute(const struct cpumask *, const struct cpumask *) __ksym;
extern u32 bpf_cpumask_weight(const struct cpumask *) __ksym;

#define MASK(mask) ((const struct cpumask *)(mask))

private(MASK) struct bpf_cpumask __kptr *kept;

TEST int one_cpu(void *ctx)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();

	CHECK(mask);
	CHECK(bpf_cpumask_empty(MASK(mask)) && bpf_cpumask_first_zero(MASK(mask)) == 0);
	/* What does not exist is never set. */
	bpf_cpumask_set_cpu(1 << 20, mask);
	CHECK(bpf_cpumask_empty(MASK(mask)) && !bpf_cpumask_test_cpu(1 << 20, MASK(mask)));
	bpf_cpumask_set_cpu(0, mask);
	bpf_cpumask_set_cpu(2, mask);
	CHECK(mask->cpumask.bits[0] == 5);
	CHECK(bpf_cpumask_test_cpu(2, MASK(mask)) && !bpf_cpumask_test_cpu(1, MASK(mask)));
	CHECK(bpf_cpumask_first(MASK(mask)) == 0 && bpf_cpumask_first_zero(MASK(mask)) == 1);
	CHECK(bpf_cpumask_test_and_clear_cpu(0, mask) && !bpf_cpumask_test_and_clear_cpu(0, mask));
	CHECK(!bpf_cpumask_test_and_set_cpu(3, mask) && bpf_cpumask_test_and_set_cpu(3, mask));
	bpf_cpumask_clear_cpu(2, mask);
	CHECK(bpf_cpumask_weight(MASK(mask)) == 1 && bpf_cpumask_first(MASK(mask)) == 3);
	bpf_cpumask_release(mask);
	return 0;
}

TEST int two_masks(void *ctx)
{
	struct bpf_cpumask *a = bpf_cpumask_create(), *b = bpf_cpumask_create(), *c = bpf_cpumask_create();

	CHECK(a && b && c);
	bpf_cpumask_setall(a);
	CHECK(bpf_cpumask_full(MASK(a)));
	bpf_cpumask_set_cpu(1, b);
	CHECK(bpf_cpumask_subset(MASK(b), MASK(a)) && !bpf_cpumask_subset(MASK(a), MASK(b)));
	CHECK(bpf_cpumask_and(c, MASK(a), MASK(b)) && bpf_cpumask_equal(MASK(c), MASK(b)));
	bpf_cpumask_xor(c, MASK(a), MASK(b));
	CHECK(!bpf_cpumask_test_cpu(1, MASK(c)) && !bpf_cpumask_intersects(MASK(b), MASK(c)));
	CHECK(!bpf_cpumask_and(a, MASK(b), MASK(c)) && bpf_cpumask_empty(MASK(a)));
	bpf_cpumask_or(a, MASK(b), MASK(c));
	CHECK(bpf_cpumask_full(MASK(a)));
	CHECK(bpf_cpumask_first_and(MASK(a), MASK(b)) == 1);
	CHECK(bpf_cpumask_first_and(MASK(c), MASK(b)) > 3);
	bpf_cpumask_copy(c, MASK(b));
	CHECK(bpf_cpumask_equal(MASK(c), MASK(b)));
	bpf_cpumask_clear(c);
	CHECK(bpf_cpumask_empty(MASK(c)));
	bpf_cpumask_release(a);
	bpf_cpumask_release(b);
	bpf_cpumask_release(c);
	return 0;
}

/* The cursor of the executing CPU begins at 0, which is thus passed over at first. */
TEST int any_cpu_in_turn(void *ctx)
{
	struct bpf_cpumask *a = bpf_cpumask_create(), *b = bpf_cpumask_create();

	CHECK(a && b);
	CHECK(bpf_cpumask_any_distribute(MASK(a)) > 3);
	bpf_cpumask_set_cpu(0, a);
	bpf_cpumask_set_cpu(1, a);
	bpf_cpumask_set_cpu(3, a);
	CHECK(bpf_cpumask_any_distribute(MASK(a)) == 1);
	CHECK(bpf_cpumask_any_distribute(MASK(a)) == 3);
	CHECK(bpf_cpumask_any_distribute(MASK(a)) == 0);
	bpf_cpumask_set_cpu(0, b);
	bpf_cpumask_set_cpu(3, b);
	CHECK(bpf_cpumask_any_and_distribute(MASK(a), MASK(b)) == 3);
	CHECK(bpf_cpumask_any_and_distribute(MASK(a), MASK(b)) == 0);
	CHECK(bpf_cpumask_any_distribute(MASK(a)) == 1);
	bpf_cpumask_release(a);
	bpf_cpumask_release(b);
	return 0;
}

TEST int a_global_holds_a_mask(void *ctx)
{
	struct bpf_cpumask *mask = bpf_cpumask_create(), *old;

	CHECK(mask);
	CHECK(bpf_cpumask_acquire(mask) == mask);
	bpf_cpumask_release(mask);
	bpf_cpumask_set_cpu(2, mask);
	old = bpf_kptr_xchg(&kept, mask);
	CHECK(!old);
	CHECK(kept && bpf_cpumask_first(MASK(kept)) == 2);
	return 0;
}

/* A host calls this to see the fault. */
SEC("?syscall") int use_after_release(void *ctx)
{
	struct bpf_cpumask *mask = bpf_cpumask_create();

	CHECK(mask);
	bpf_cpumask_release(mask);
	return bpf_cpumask_weight(MASK(mask));	/* use after free */
}
