// SPDX-License-Identifier: MIT OR Apache-2.0
//! Field numbers of the Perfetto messages that a trace uses, one module per message.
//!
//! Source: Perfetto's `protos/perfetto/` (`trace/*.proto`, `trace/ftrace/*.proto`, `trace/track_event/*.proto`,
//! `trace/ps/process_tree.proto`, `trace/system_info/cpu_info.proto`, `common/builtin_clock.proto`). Numbers of a
//! published message never change.

pub mod trace {
    pub const PACKET: u32 = 1;
}

pub mod trace_packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const CLOCK_SNAPSHOT: u32 = 6;
    pub const TIMESTAMP: u32 = 8;
    pub const TRUSTED_PACKET_SEQUENCE_ID: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const SEQUENCE_FLAGS: u32 = 13;
    pub const SYSTEM_INFO: u32 = 45;
    pub const TRACK_DESCRIPTOR: u32 = 60;
    pub const CPU_INFO: u32 = 67;
    pub const FIRST_PACKET_ON_SEQUENCE: u32 = 87;

    /// `SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED`.
    pub const SEQ_INCREMENTAL_STATE_CLEARED: u64 = 1;
}

pub mod clock_snapshot {
    pub const CLOCKS: u32 = 1;
    pub const PRIMARY_TRACE_CLOCK: u32 = 2;

    pub mod clock {
        pub const CLOCK_ID: u32 = 1;
        pub const TIMESTAMP: u32 = 2;
    }

    /// `BuiltinClock.BUILTIN_CLOCK_MONOTONIC`.
    pub const MONOTONIC: u64 = 3;
    /// `BuiltinClock.BUILTIN_CLOCK_BOOTTIME`.
    pub const BOOTTIME: u64 = 6;
}

pub mod system_info {
    pub const NUM_CPUS: u32 = 8;
}

pub mod cpu_info {
    pub const CPUS: u32 = 1;

    pub mod cpu {
        pub const PROCESSOR: u32 = 1;
        pub const FREQUENCIES: u32 = 2;
        pub const CAPACITY: u32 = 3;
    }
}

pub mod process_tree {
    pub const PROCESSES: u32 = 1;
    pub const THREADS: u32 = 2;

    pub mod process {
        pub const PID: u32 = 1;
        pub const PPID: u32 = 2;
        pub const CMDLINE: u32 = 3;
    }

    pub mod thread {
        pub const TID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const TGID: u32 = 3;
    }
}

pub mod track_descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const THREAD: u32 = 4;
    pub const PARENT_UUID: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const CHILD_ORDERING: u32 = 11;
    pub const SIBLING_ORDER_RANK: u32 = 12;

    /// `ChildTracksOrdering.EXPLICIT`: by `SIBLING_ORDER_RANK`.
    pub const EXPLICIT: u64 = 3;
}

pub mod thread_descriptor {
    pub const PID: u32 = 1;
    pub const TID: u32 = 2;
}

pub mod counter_descriptor {
    pub const UNIT_NAME: u32 = 6;
    pub const Y_AXIS_SHARE_KEY: u32 = 7;
}

pub mod track_event {
    pub const DEBUG_ANNOTATIONS: u32 = 4;
    pub const TYPE: u32 = 9;
    pub const TRACK_UUID: u32 = 11;
    pub const NAME: u32 = 23;
    pub const DOUBLE_COUNTER_VALUE: u32 = 44;

    /// `Type.TYPE_SLICE_BEGIN`.
    pub const SLICE_BEGIN: u64 = 1;
    /// `Type.TYPE_SLICE_END`.
    pub const SLICE_END: u64 = 2;
    /// `Type.TYPE_INSTANT`.
    pub const INSTANT: u64 = 3;
    /// `Type.TYPE_COUNTER`.
    pub const COUNTER: u64 = 4;
}

pub mod debug_annotation {
    pub const UINT_VALUE: u32 = 3;
    pub const INT_VALUE: u32 = 4;
    pub const STRING_VALUE: u32 = 6;
    pub const NAME: u32 = 10;
}

pub mod ftrace_event_bundle {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
}

pub mod ftrace_event {
    pub const TIMESTAMP: u32 = 1;
    pub const PID: u32 = 2;
    pub const SCHED_SWITCH: u32 = 4;
    pub const CPU_FREQUENCY: u32 = 11;
    pub const CPU_IDLE: u32 = 13;
    pub const SCHED_WAKEUP: u32 = 17;
    pub const SCHED_WAKING: u32 = 20;
    pub const SCHED_WAKEUP_NEW: u32 = 114;
    pub const SCHED_PROCESS_EXIT: u32 = 238;
    pub const SCHED_PROCESS_FORK: u32 = 239;
    pub const SCHED_MIGRATE_TASK: u32 = 491;
}

pub mod sched_process_exit {
    pub const COMM: u32 = 1;
    pub const PID: u32 = 2;
    pub const TGID: u32 = 3;
    pub const PRIO: u32 = 4;
}

pub mod sched_process_fork {
    pub const PARENT_COMM: u32 = 1;
    pub const PARENT_PID: u32 = 2;
    pub const CHILD_COMM: u32 = 3;
    pub const CHILD_PID: u32 = 4;
}

pub mod sched_switch {
    pub const PREV_COMM: u32 = 1;
    pub const PREV_PID: u32 = 2;
    pub const PREV_PRIO: u32 = 3;
    pub const PREV_STATE: u32 = 4;
    pub const NEXT_COMM: u32 = 5;
    pub const NEXT_PID: u32 = 6;
    pub const NEXT_PRIO: u32 = 7;
}

/// `sched_waking`, `sched_wakeup` and `sched_wakeup_new`, which have the same fields.
pub mod sched_waking {
    pub const COMM: u32 = 1;
    pub const PID: u32 = 2;
    pub const PRIO: u32 = 3;
    pub const TARGET_CPU: u32 = 5;
}

pub mod sched_migrate_task {
    pub const COMM: u32 = 1;
    pub const PID: u32 = 2;
    pub const PRIO: u32 = 3;
    pub const ORIG_CPU: u32 = 4;
    pub const DEST_CPU: u32 = 5;
}

/// `cpu_frequency` and `cpu_idle`, which have the same fields.
pub mod cpu_state {
    pub const STATE: u32 = 1;
    pub const CPU_ID: u32 = 2;
}
