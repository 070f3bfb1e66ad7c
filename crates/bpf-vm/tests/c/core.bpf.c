/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CO-RE. The test's kernel has, with a layout of its own:
 *
 *   struct thing {                          enum state { STATE_IDLE = 10, STATE_BUSY = 300 };
 *     u64 unknown;            at  0         enum wide { WIDE_FLAG = 1 << 40 };
 *     u64 id;                 at  8         typedef u64 known_t;
 *     u32 count;              at 16
 *     union { struct {
 *       s32 inner;            at 24
 *     }; };
 *     char name[16];          at 32
 *     struct thing *next;     at 48
 *     struct part part[2];    at 56         struct part { u32 pad; u16 length; };   8 bytes
 *     u32 low : 3, high : 5;  at 72
 *   };                        80 bytes
 *
 * and a `struct thing` with id 7, count 5, inner -6, name "seven", next itself, part[1].length 9, low 5, high 17.
 */
#include "check.h"

char _license[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct part {
	u16 length;
};

struct thing {
	struct thing *next;
	u32 high : 5, low : 3;
	char name[16];
	s32 inner;
	u32 count;
	struct part part[4];
	u64 id;
	u64 missing;
};

/* What the kernel might have called it once: the name counts only up to the underscores. */
struct thing___old {
	u32 number;
	u64 id;
};

struct no_such_thing {
	u64 id;
};

enum state {
	STATE_BUSY = 1,
	STATE_IDLE = 2,
	STATE_GONE = 3,
};

enum wide {
	WIDE_FLAG = 1ull << 33,
};

typedef u64 known_t;
typedef u64 unknown_t;

#pragma clang attribute pop

struct context {
	struct thing *thing;
};

TEST int fields(struct context *context)
{
	struct thing *thing = context->thing;

	CHECK(thing->id == 7);
	CHECK(thing->count == 5);
	CHECK(thing->inner == -6);
	CHECK(thing->name[0] == 's' && thing->name[4] == 'n' && thing->name[5] == 0);
	CHECK(thing->next->next->id == 7);
	CHECK(thing->part[1].length == 9);
	CHECK(((struct thing___old *)thing)->id == 7);
	return 0;
}

TEST int stores(struct context *context)
{
	struct thing *thing = context->thing;

	thing->count = 6;
	CHECK(thing->count == 6 && thing->id == 7 && thing->inner == -6);
	thing->count = 5;
	thing->part[0].length = 0xffff;
	CHECK(thing->part[1].length == 9 && thing->part[0].length == 0xffff);
	thing->part[0].length = 0;
	return 0;
}

TEST int bitfields(struct context *context)
{
	struct thing *thing = context->thing;

	CHECK(BPF_CORE_READ_BITFIELD(thing, low) == 5);
	CHECK(BPF_CORE_READ_BITFIELD(thing, high) == 17);
	CHECK(BPF_CORE_READ_BITFIELD_PROBED(thing, high) == 17);
	return 0;
}

TEST int what_exists(struct context *context)
{
	struct thing *thing = context->thing;

	CHECK(bpf_core_field_exists(thing->inner));
	CHECK(!bpf_core_field_exists(thing->missing));
	CHECK(!bpf_core_field_exists(((struct thing___old *)0)->number));
	/* A branch that the kernel's verifier prunes: what it reads is nowhere. */
	if (bpf_core_field_exists(thing->missing))
		CHECK(thing->missing == 1);
	CHECK(bpf_core_type_exists(struct thing) && bpf_core_type_exists(known_t));
	CHECK(!bpf_core_type_exists(struct no_such_thing) && !bpf_core_type_exists(unknown_t));
	CHECK(bpf_core_enum_value_exists(enum state, STATE_BUSY));
	CHECK(!bpf_core_enum_value_exists(enum state, STATE_GONE));
	return 0;
}

TEST int sizes_and_values(struct context *context)
{
	struct thing *thing = context->thing;

	CHECK(bpf_core_type_size(struct thing) == 80);
	CHECK(bpf_core_type_size(struct no_such_thing) == 0);
	CHECK(bpf_core_field_size(thing->name) == 16);
	CHECK(bpf_core_field_offset(thing->part[1].length) == 68);
	CHECK(bpf_core_enum_value(enum state, STATE_BUSY) == 300);
	CHECK(bpf_core_enum_value(enum state, STATE_IDLE) == 10);
	CHECK(bpf_core_enum_value(enum wide, WIDE_FLAG) == 1ull << 40);
	CHECK(bpf_core_type_id_local(struct thing) != 0);
	CHECK(bpf_core_type_id_kernel(struct thing) != 0);
	CHECK(bpf_core_type_id_kernel(struct no_such_thing) == 0);
	return 0;
}

TEST int reads_through_pointers(struct context *context)
{
	struct thing *thing = context->thing;
	char name[8] = {};

	CHECK(BPF_CORE_READ(thing, next, next, count) == 5);
	CHECK(BPF_CORE_READ_STR_INTO(&name, thing, next, name) == 6);
	CHECK(name[0] == 's' && name[4] == 'n' && name[5] == 0);
	return 0;
}

/* A host calls this to see the fault: the field is nowhere, and the access is not guarded. */
SEC("?syscall") int reads_a_missing_field(struct context *context)
{
	return context->thing->missing;		/* missing field */
}
