/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The mechanisms: the callbacks where a mechanism is on. The files correspond to those of base/.
 *
 * A task that no mechanism concerns is handled as in the base. Virtual time, weights and utilisation of all tasks are the base's, so that
 * a task which a mechanism places is charged as any other.
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
