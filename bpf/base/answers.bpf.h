/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mechanisms: which are on, and what they answer.
 */
#ifndef __TANDEM_ANSWERS_H
#define __TANDEM_ANSWERS_H

#include "../include/scx.bpf.h"
#include "../settings.bpf.h"

/* Bits of `active`: the mechanisms that are on and not inert. 0: the base alone decides. */
enum mechanism {
	ISOLATE = 1 << 0,
	LONGEST = 1 << 1,
	SERIAL = 1 << 2,
	SORTED = 1 << 3,
	SPEED = 1 << 4,
	/* Not a mechanism: speed or isolation has clocks to set. */
	CLOCKS = 1 << 5,
	/* Nor these: the base of several queues lies under the mechanisms; there are control groups; and no mechanism is on. */
	QUEUES = 1 << 6,
	QUEUES_GROUPS = 1 << 7,
	ALONE = 1 << 31,
};

u32 active;

/* Whether one of these was asked for. Settings are constants to the verifier, which does not follow what they turn off. */
static __always_inline bool is_asked(u32 mechanisms)
{
	return all || (mechanisms & (ISOLATE | CLOCKS) && isolate) || (mechanisms & LONGEST && longest) ||
	       (mechanisms & SERIAL && serial_first) || (mechanisms & SORTED && sorted) ||
	       (mechanisms & (SPEED | CLOCKS) && speed);
}

/* Whether mechanisms stand on the base of several queues; sorted does not. All of it is constant to the verifier. */
static __always_inline bool stands_on_queues(void)
{
	return base == TANDEM_BASE_QUEUES && !is_asked(SORTED);
}

/* Whether no mechanism was asked for above it: constant, too. */
static __always_inline bool is_bare(void)
{
	return base == TANDEM_BASE_QUEUES && !is_asked(ISOLATE | LONGEST | SERIAL | SORTED | SPEED);
}

/* Whether the base of several queues schedules alone. Asked in each callback first: a sign takes one instruction less than a bit. */
static __always_inline bool is_alone(void)
{
	return (s32)active < 0;
}

/* Whether the base of several queues schedules. */
static __always_inline bool is_on_queues(void)
{
	return active & QUEUES && stands_on_queues();
}

/* Whether mechanisms stand on it, where it does not schedule alone. The verifier is not to follow what nobody asked for. */
static __always_inline bool is_under(void)
{
	return is_on_queues() && !is_bare();
}

/* Whether one of these is on. `active` says it all, and says it first: with everything off nothing else is looked at. */
static __always_inline bool is_on(u32 mechanisms)
{
	return active & mechanisms && is_asked(mechanisms);
}

/* Whether any mechanism is on. */
static __always_inline bool is_any_on(void)
{
	return active && is_asked(ISOLATE | LONGEST | SERIAL | SORTED | SPEED);
}

/* Where a task may run: isolation's answer. */
enum place {
	/* Where applications may: everywhere, or not on the OS CPU. */
	PLACE_APPLICATION,
	/* Only on the OS CPU. */
	PLACE_SYSTEM,
};

/* Which CPU a task should have: longest's and serial's answer. */
enum wish {
	WISH_ANY,
	WISH_FAST,
	/* The next kinds. */
	WISH_MIDDLE,
	WISH_SLOW,
};

/* When a task runs: serial's answer. */
enum rank {
	RANK_NORMAL,
	/* Behind the others. */
	RANK_JUNIOR,
	/* Before the others. */
	RANK_SERIAL,
};

#endif /* __TANDEM_ANSWERS_H */
