/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Two kinds of work that a kernel can tell apart without counters: pages are taken and given back all the time, or never.
 *
 *	pages SECONDS faults|computes
 *
 * The process is called so, too (its comm), and says how many rounds it did, and the highest rate at which it took pages for
 * a quarter of a millisecond. Both never sleep.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum { PAGE = 4096, PAGES = 64, PAGES_A_LOOK = 4, WINDOW_NS = 250000 };

/* Pages taken since a moment, and the highest rate there was, bytes in a second. */
static struct {
	long long since;
	long long pages;
	double most;
} taken;

static long long monotonic(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Notes so many more pages, and the rate once a window is over. */
static void note(int pages)
{
	long long now = monotonic();
	double rate;

	taken.pages += pages;
	if (now - taken.since < WINDOW_NS)
		return;
	rate = taken.since ? taken.pages * (double)PAGE * 1e9 / (now - taken.since) : 0;
	if (rate > taken.most)
		taken.most = rate;
	taken.since = now;
	taken.pages = 0;
}

/* Touches new pages, each of which is a page fault. */
static int fault(void)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int page;

	if (at == MAP_FAILED)
		return 1;
	for (page = 0; page < PAGES; page++) {
		at[page * PAGE] = 1;
		if ((page + 1) % PAGES_A_LOOK == 0)
			note(PAGES_A_LOOK);
	}
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
	unsigned long rounds = 0;
	long long end;
	int faults;

	if (argc != 3 || (strcmp(argv[2], "faults") && strcmp(argv[2], "computes"))) {
		fprintf(stderr, "usage: pages SECONDS faults|computes\n");
		return 2;
	}
	faults = !strcmp(argv[2], "faults");
	prctl(PR_SET_NAME, argv[2]);
	end = monotonic() + atoi(argv[1]) * 1000000000LL;
	do {
		if (faults ? fault() : compute())
			return 1;
		rounds++;
	} while (monotonic() < end);
	printf("%s: %lu rounds, at most %.0f MB/s\n", argv[2], rounds, taken.most / 1e6);
	return 0;
}
