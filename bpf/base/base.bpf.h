/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The base: what the callbacks do where no mechanism is on (docs/base.md). A file for each callback, or for two that belong together.
 */
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
