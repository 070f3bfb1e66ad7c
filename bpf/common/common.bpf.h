/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What all mechanisms share: the machine, tasks, thread groups, CPUs, virtual time, queues, and what is counted.
 */
#ifndef __TANDEM_COMMON_COMMON_H
#define __TANDEM_COMMON_COMMON_H

#include "facts.bpf.h"
#include "rq.bpf.h"
#include "task.bpf.h"
#include "group.bpf.h"
#include "cpu.bpf.h"
#include "vtime.bpf.h"
#include "queue.bpf.h"
#include "stats.bpf.h"

#endif /* __TANDEM_COMMON_COMMON_H */
