/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Virtual times: how much tasks have had, by their weights.
 */
#ifndef __TANDEM_STATE_VTIME_H
#define __TANDEM_STATE_VTIME_H

#include "../include/scx.bpf.h"

enum {
	/* What mechanisms count as a slice, ns: for so long a thread goes on that nothing is before. */
	SLICE_NS = 20 * NSEC_PER_MSEC,
};

static __always_inline bool vtime_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

#endif /* __TANDEM_STATE_VTIME_H */
