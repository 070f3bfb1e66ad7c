/* SPDX-License-Identifier: GPL-2.0-only */
/* The base: the callbacks where no mechanism is on (docs/base.md). Each callback has a file, or two that belong together share one. */
#ifndef __TANDEM_BASE_BASE_H
#define __TANDEM_BASE_BASE_H

#include "select_cpu.bpf.h"
#include "enqueue.bpf.h"
#include "dispatch.bpf.h"
#include "running.bpf.h"
#include "tick.bpf.h"
#include "tasks.bpf.h"
#include "held.bpf.h"
#include "core.bpf.h"
#include "hotplug.bpf.h"

#endif /* __TANDEM_BASE_BASE_H */
