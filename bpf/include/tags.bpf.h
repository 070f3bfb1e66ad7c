/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Declaration tags (BTF), by which a scheduler tells loaders of its variables.
 */
#ifndef __TANDEM_TAGS_H
#define __TANDEM_TAGS_H

/* The range and the unit of a setting, and a sentence of help. Loaders refuse values that do not fit. */
#define __range(text) __attribute__((btf_decl_tag("range " text)))
#define __unit(text) __attribute__((btf_decl_tag("unit " text)))
#define __help(text) __attribute__((btf_decl_tag("help " text)))
/* Callbacks, other programs and flags of struct sched_ext_ops that a loader leaves out unless a variable that needs them is on. */
#define __needs(text) __attribute__((btf_decl_tag("needs " text)))

#endif /* __TANDEM_TAGS_H */
