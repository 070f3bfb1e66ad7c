/* SPDX-License-Identifier: GPL-2.0-only */
/* The mechanisms: which are on, and their answers. */
#ifndef __TANDEM_STATE_ANSWERS_H
#define __TANDEM_STATE_ANSWERS_H

#include "../include/scx.bpf.h"
#include "../settings.bpf.h"

/* Bits of `active`: the mechanisms that are on and not inert, and a few other conditions. */
enum mechanism {
	ISOLATE = 1 << 0,
	LONGEST = 1 << 1,
	SERIAL = 1 << 2,
	SORTED = 1 << 3,
	SPEED = 1 << 4,
	/* All of them. */
	MECHANISMS = ISOLATE | LONGEST | SERIAL | SORTED | SPEED,
	/* Not a mechanism: speed or isolation has clocks to set. */
	CLOCKS = 1 << 5,
	/* Not mechanisms: there are control groups; some have limits; a CPU goes or has gone; no mechanism is on. */
	GROUPS = 1 << 6,
	LIMITS = 1 << 7,
	CPUS_GONE = 1 << 8,
	ALONE = 1 << 31,
};

u32 active;

/* Whether one of these was asked for. */
static __always_inline bool is_asked(u32 mechanisms)
{
	return asked & mechanisms;
}

/* Whether no mechanism is on. Each callback tests this first: a test of the sign takes one instruction less than a test of a bit. */
static __always_inline bool is_alone(void)
{
	return (s32)active < 0;
}

/* Whether a mechanism is on. Where none was asked for, the verifier follows none of the mechanisms' code. */
static __always_inline bool is_with_mechanisms(void)
{
	return !is_alone() && is_asked(MECHANISMS);
}

/* The mechanisms that are on. Bits that were not asked for are constant 0 to the verifier. */
static __always_inline u32 mechanisms_on(void)
{
	return active & asked;
}

/* Whether one of these is on. `active` alone tells it; the verifier needs `asked`. */
static __always_inline bool is_on(u32 mechanisms)
{
	return active & mechanisms && is_asked(mechanisms);
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
	/* CPUs of the kinds between the fastest and the slowest. */
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

#endif /* __TANDEM_STATE_ANSWERS_H */
