/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two kinds of work that a kernel can tell apart without counters: pages are taken and given back all the time, or never.
 *
 *	pages SECONDS faults|computes
 *
 * The process is called so, too (its comm), and says how many rounds it did. Both never sleep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 64 };

/* Touches new pages, each of which is a page fault. */
static int fault(void)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int page;

	if (at == MAP_FAILED)
		return 1;
	for (page = 0; page < PAGES; page++)
		at[page * PAGE] = 1;
	return munmap(at, PAGES * PAGE);
}

static int compute(void)
{
	static volatile unsigned int sum;
	int i;

	for (i = 0; i < 20000; i++)
		sum = sum * 1664525 + 1013904223;
	return 0;
}

int main(int argc, char **argv)
{
	struct timespec now, end;
	unsigned long rounds = 0;
	int faults;

	if (argc != 3 || (strcmp(argv[2], "faults") && strcmp(argv[2], "computes"))) {
		fprintf(stderr, "usage: pages SECONDS faults|computes\n");
		return 2;
	}
	faults = !strcmp(argv[2], "faults");
	prctl(PR_SET_NAME, argv[2]);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += atoi(argv[1]);
	do {
		if (faults ? fault() : compute())
			return 1;
		rounds++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec || (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
	printf("%s: %lu rounds\n", argv[2], rounds);
	return 0;
}
