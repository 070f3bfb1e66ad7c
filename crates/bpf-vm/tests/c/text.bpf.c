/* SPDX-License-Identifier: GPL-2.0-only */
/* Texts: formats, comparisons, reads of memory that may not be there. */
#include "check.h"

char _license[] SEC("license") = "GPL";

static bool same(const char *a, const char *b, u32 size)
{
	u32 i;

	for (i = 0; i < size; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

TEST int formats(void *ctx)
{
	char buffer[32];
	u64 values[3];

	values[0] = -5;
	values[1] = 255;
	values[2] = (u64)"end";
	CHECK(bpf_snprintf(buffer, sizeof(buffer), "%d %x %s", values, sizeof(values)) == 10);
	CHECK(same(buffer, "-5 ff end", 10));
	/* What does not fit is cut off; the result is the size that it needs. */
	CHECK(bpf_snprintf(buffer, 4, "%d %x %s", values, sizeof(values)) == 10);
	CHECK(same(buffer, "-5 ", 4));
	values[0] = 42;
	CHECK(bpf_snprintf(buffer, sizeof(buffer), "%05lld|%-4llu|", values, 16) == 12);
	CHECK(same(buffer, "00042|255 |", 12));
	CHECK(bpf_snprintf(buffer, sizeof(buffer), "100%%", NULL, 0) == 5);
	CHECK(same(buffer, "100%", 5));
	return 0;
}

/* Prints "task 7: 0x2a of 3" to the host's log, then "1 2 3 4". */
TEST int prints(void *ctx)
{
	bpf_printk("task %d: 0x%llx of %u", HIDDEN(7), HIDDEN(42ull), HIDDEN(3u));
	bpf_printk("%d %d %d %d", HIDDEN(1), HIDDEN(2), HIDDEN(3), HIDDEN(4));
	return 0;
}

TEST int comparisons(void *ctx)
{
	CHECK(bpf_strncmp("abc", 3, "abc") == 0);
	CHECK(bpf_strncmp("abc", 3, "abd") < 0);
	CHECK(bpf_strncmp("abd", 3, "abc") > 0);
	CHECK(bpf_strncmp("abc", 2, "abd") == 0);
	return 0;
}

TEST int reads(void *ctx)
{
	static char source[] = "some text";
	char buffer[16] = {};
	u64 word = 9;

	CHECK(bpf_probe_read_kernel_str(buffer, sizeof(buffer), source) == 10);
	CHECK(same(buffer, source, 10));
	CHECK(bpf_probe_read_kernel_str(buffer, 5, source) == 5);
	CHECK(same(buffer, "some", 5));
	CHECK(bpf_probe_read_kernel(&word, sizeof(word), NULL) == -EFAULT);
	/* The kernel clears what it could not read. */
	CHECK(word == 0);
	CHECK(bpf_probe_read_kernel(&word, 4, source) == 0);
	CHECK((u32)word == 0x656d6f73);
	return 0;
}
