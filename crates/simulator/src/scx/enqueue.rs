// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tasks become runnable and are enqueued (`enqueue_task_scx`, `do_enqueue_task`).

/// A task as sched_ext sees it (`struct sched_ext_entity`).
#[derive(Debug, Default)]
pub struct ScxEntity {}

/// A CPU as sched_ext sees it (`struct scx_rq`).
#[derive(Debug, Default)]
pub struct ScxRq {}
