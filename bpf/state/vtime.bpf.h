/* SPDX-License-Identifier: GPL-2.0-only */
/* Virtual times: the run time that tasks have had, divided by their weights. */
#ifndef __TANDEM_STATE_VTIME_H
#define __TANDEM_STATE_VTIME_H

#include "../include/scx.bpf.h"

enum {
	/* The mechanisms' slice, ns: a thread goes on for this long if no other task comes before it. */
	SLICE_NS = 20 * NSEC_PER_MSEC,
};

static __always_inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

#endif /* __TANDEM_STATE_VTIME_H */
