/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mechanisms: what the callbacks do where one is on. Files are those of base/.
 *
 * A task of which no mechanism says anything goes the base's way. Virtual time, weights and utilisation of all tasks are the base's,
 * so that what a mechanism places is charged as any other.
 */
#ifndef __TANDEM_MECHANISMS_MECHANISMS_H
#define __TANDEM_MECHANISMS_MECHANISMS_H

#include "select_cpu.bpf.h"
#include "enqueue.bpf.h"
#include "dispatch.bpf.h"
#include "running.bpf.h"
#include "tasks.bpf.h"
#include "check.bpf.h"

#endif /* __TANDEM_MECHANISMS_MECHANISMS_H */
