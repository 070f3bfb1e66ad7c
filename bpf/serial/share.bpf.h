/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much CPU time serial phases may take before others. (Morad et al. name the danger, and no rule: with more applications than CPUs
 * their serial threads could take the machine over.)
 *
 * A credit fills with serial_share_pct of all CPUs' time, and serial threads spend it. Without credit they still run where no other task
 * waits, but no longer before other tasks and not in place of them.
 */
#ifndef __TANDEM_SERIAL_SHARE_H
#define __TANDEM_SERIAL_SHARE_H

#include "../state/state.bpf.h"

enum {
	/* The credit holds at most the time that fills it within this time, ns. */
	SHARE_WINDOW = 200 * NSEC_PER_MSEC,
	/* How often the credit is filled, ns. */
	SHARE_STEP = NSEC_PER_MSEC,
};

/* The credit, ns of CPU time. CPUs add and subtract at the same time, so its limits hold only nearly. */
s64 share_credit;
u64 share_filled;

/* The CPU time that serial phases may spend in @time, over all CPUs. */
static __always_inline s64 share_of(u64 time)
{
	return time * nr_cpus * serial_share_pct / 100;
}

static void share_fill(void)
{
	u64 now = bpf_ktime_get_ns(), last = share_filled;
	s64 more, room;

	if (now - last < SHARE_STEP)
		return;
	if (__sync_val_compare_and_swap(&share_filled, last, now) != last)
		return;
	more = now - last > SHARE_WINDOW ? share_of(SHARE_WINDOW) : share_of(now - last);
	room = share_of(SHARE_WINDOW) - share_credit;
	if (more > room)
		more = room;
	__sync_fetch_and_add(&share_credit, more);
}

/* Charges the run time of a serial thread. Debts are small: a thread that had the machine to itself does not pay for that later. */
static void share_spend(u64 ran)
{
	share_fill();
	if (share_credit > -(s64)SLICE_NS * (s64)nr_cpus)
		__sync_fetch_and_add(&share_credit, -(s64)ran);
}

/* Whether serial threads have had their share. */
static bool share_is_spent(void)
{
	if (share_credit > 0)
		return false;
	share_fill();
	return share_credit <= 0;
}

#endif /* __TANDEM_SERIAL_SHARE_H */
