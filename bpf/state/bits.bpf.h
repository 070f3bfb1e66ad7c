/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bits of a word.
 */
#ifndef __TANDEM_STATE_BITS_H
#define __TANDEM_STATE_BITS_H

#include "../include/scx.bpf.h"

/* The positions of the 64 windows of six bits in BIT_SEQUENCE, a de Bruijn sequence: each window stands in it once. */
static const u8 bit_places[64] = {
	0,  1,	2,  53, 3,  7,	54, 27, 4,  38, 41, 8,	34, 55, 48, 28, 62, 5,	39, 46, 44, 42, 22, 9,	24, 35, 59, 56, 49, 18, 29, 11,
	63, 52, 6,  26, 37, 40, 33, 47, 61, 45, 43, 21, 23, 58, 17, 10, 51, 25, 36, 32, 60, 20, 57, 16, 50, 31, 19, 15, 30, 14, 13, 12,
};

#define BIT_SEQUENCE 0x022fdd63cc95386dULL

/* The lowest bit of a word that is not 0. There is no branch, since the verifier would follow each. */
static __always_inline u32 lowest_bit(u64 word)
{
	return bit_places[((word & -word) * BIT_SEQUENCE) >> 58];
}

#endif /* __TANDEM_STATE_BITS_H */
