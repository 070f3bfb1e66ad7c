/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the pretended drivers tell each other: guest_clocks and guest_idle say what CPUs do, guest_energy counts what that draws.
 */
#ifndef GUEST_POWER_H
#define GUEST_POWER_H

#include <linux/types.h>

enum {
	/* Not in an idle state. */
	GUEST_BUSY = -1,
	/* Idle states of guest_idle, shallow to deep, without the one that polls: a polling CPU is busy. */
	GUEST_IDLE_STATES = 3,
};

/* guest_energy: the clock of a CPU is now this, in kHz; the calling CPU is now in this idle state, or busy. */
void guest_energy_clock(unsigned int cpu, unsigned int khz);
void guest_energy_state(int state);

/* guest_clocks: how many cycles a CPU's pretended clock has made. */
u64 guest_clocks_cycles(unsigned int cpu);

#endif
