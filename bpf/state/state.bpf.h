/* SPDX-License-Identifier: GPL-2.0-only */
/* State of the machine, of tasks, of thread groups and of CPUs; the queues; and the counters. */
#ifndef __TANDEM_STATE_H
#define __TANDEM_STATE_H

#include "facts.bpf.h"
#include "rq.bpf.h"
#include "task.bpf.h"
#include "group.bpf.h"
#include "cpu.bpf.h"
#include "vtime.bpf.h"
#include "queue.bpf.h"
#include "stats.bpf.h"

#endif /* __TANDEM_STATE_H */
