// SPDX-License-Identifier: MIT OR Apache-2.0
//! A CPU looks for work (`balance_scx`, `pick_task_scx`).
