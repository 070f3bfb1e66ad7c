/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Test programs for the VM. Each function in section "syscall" is a test: it returns 0, or the number of the line whose
 * CHECK failed. The tests of a file run in the order of the file, in one instance; what they get is said above each that
 * gets anything.
 */
#ifndef __CHECK_H__
#define __CHECK_H__

#include "bpf_types.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <asm-generic/errno.h>

#define TEST SEC("syscall")

#define CHECK(condition)			\
	do {					\
		if (!(condition))		\
			return __LINE__;	\
	} while (0)

/* A value that the compiler cannot know. */
#define HIDDEN(value)					\
({							\
	typeof((value) + 0) __hidden_value = (value);	\
	asm volatile("" : "+r"(__hidden_value));	\
	__hidden_value;					\
})

/* The result of one instruction, which the compiler cannot replace: OP(7ull, "/=", 2ull) is 3. */
#define OP(left, operator, right)						\
({										\
	u64 __left = (left), __right = (right);					\
	asm volatile("%0 " operator " %1" : "+r"(__left) : "r"(__right));	\
	__left;									\
})

/* The result of one instruction of 32 bits. */
#define OP32(left, operator, right)						\
({										\
	u32 __left = (left), __right = (right);					\
	asm volatile("%0 " operator " %1" : "+w"(__left) : "w"(__right));	\
	__left;									\
})

/* The result of one instruction with one operand: UNARY("be16 %0", x). */
#define UNARY(operation, value)						\
({									\
	u64 __value = (value);						\
	asm volatile("%0 = " operation : "+r"(__value));		\
	__value;							\
})

#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))

#endif /* __CHECK_H__ */
