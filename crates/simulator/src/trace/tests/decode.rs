// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads protocol buffers back independently of the writer: with its own varints, its own table of names and numbers.

use std::fmt::Write;

/// A field as it stands in a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Wire type 0.
    Varint(u64),
    /// Wire type 1.
    Fixed64(u64),
    /// Wire type 2.
    Bytes(Vec<u8>),
}

/// The fields of a message, in the order of the bytes.
pub fn fields(mut bytes: &[u8]) -> Vec<(u32, Value)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let value = match key & 7 {
            0 => Value::Varint(varint(&mut bytes)),
            1 => Value::Fixed64(u64::from_le_bytes(take(&mut bytes, 8).try_into().unwrap())),
            2 => {
                let length = varint(&mut bytes) as usize;
                Value::Bytes(take(&mut bytes, length).to_vec())
            }
            wire_type => panic!("wire type {wire_type}"),
        };
        fields.push(((key >> 3) as u32, value));
    }
    fields
}

/// The nested messages that stand in field `number`.
pub fn nested(bytes: &[u8], number: u32) -> Vec<Vec<u8>> {
    let of_field = |(field, value)| match value {
        Value::Bytes(bytes) if field == number => Some(bytes),
        _ => None,
    };
    fields(bytes).into_iter().filter_map(of_field).collect()
}

/// The number that stands in field `number`.
pub fn number(bytes: &[u8], number: u32) -> Option<u64> {
    let of_field = |(field, value)| match value {
        Value::Varint(value) if field == number => Some(value),
        _ => None,
    };
    fields(bytes).into_iter().find_map(of_field)
}

fn take<'a>(bytes: &mut &'a [u8], length: usize) -> &'a [u8] {
    let (head, rest) = bytes.split_at(length);
    *bytes = rest;
    head
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(bytes, 1)[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return value;
        }
    }
    panic!("a varint of more than ten bytes");
}

/// The type of a field's content.
pub enum Kind {
    Int,
    Double,
    Text,
    Message(&'static [Field]),
}

/// Number, name and content of a field.
pub struct Field(u32, &'static str, Kind);

use Kind::{Double, Int, Message, Text};

/// `perfetto.protos.Trace`: the fields that the tests use.
pub const TRACE: &[Field] = &[Field(1, "packet", Message(PACKET))];

const PACKET: &[Field] = &[
    Field(1, "ftrace_events", Message(&[Field(1, "cpu", Int), Field(2, "event", Message(FTRACE_EVENT))])),
    Field(2, "process_tree", Message(PROCESS_TREE)),
    Field(6, "clock_snapshot", Message(CLOCK_SNAPSHOT)),
    Field(8, "timestamp", Int),
    Field(10, "trusted_packet_sequence_id", Int),
    Field(
        11,
        "track_event",
        Message(&[
            Field(4, "debug_annotations", Message(ANNOTATION)),
            Field(9, "type", Int),
            Field(11, "track_uuid", Int),
            Field(23, "name", Text),
            Field(44, "double_counter_value", Double),
        ]),
    ),
    Field(13, "sequence_flags", Int),
    Field(45, "system_info", Message(&[Field(8, "num_cpus", Int)])),
    Field(60, "track_descriptor", Message(TRACK_DESCRIPTOR)),
    Field(67, "cpu_info", Message(&[Field(1, "cpus", Message(CPU))])),
    Field(87, "first_packet_on_sequence", Int),
];

const ANNOTATION: &[Field] =
    &[Field(3, "uint_value", Int), Field(4, "int_value", Int), Field(6, "string_value", Text), Field(10, "name", Text)];

const FTRACE_EVENT: &[Field] = &[
    Field(1, "timestamp", Int),
    Field(2, "pid", Int),
    Field(4, "sched_switch", Message(SCHED_SWITCH)),
    Field(11, "cpu_frequency", Message(CPU_STATE)),
    Field(13, "cpu_idle", Message(CPU_STATE)),
    Field(17, "sched_wakeup", Message(SCHED_WAKING)),
    Field(20, "sched_waking", Message(SCHED_WAKING)),
    Field(114, "sched_wakeup_new", Message(SCHED_WAKING)),
    Field(
        238,
        "sched_process_exit",
        Message(&[Field(1, "comm", Text), Field(2, "pid", Int), Field(3, "tgid", Int), Field(4, "prio", Int)]),
    ),
    Field(239, "sched_process_fork", Message(SCHED_PROCESS_FORK)),
    Field(
        491,
        "sched_migrate_task",
        Message(&[
            Field(1, "comm", Text),
            Field(2, "pid", Int),
            Field(3, "prio", Int),
            Field(4, "orig_cpu", Int),
            Field(5, "dest_cpu", Int),
        ]),
    ),
];

const SCHED_SWITCH: &[Field] = &[
    Field(1, "prev_comm", Text),
    Field(2, "prev_pid", Int),
    Field(3, "prev_prio", Int),
    Field(4, "prev_state", Int),
    Field(5, "next_comm", Text),
    Field(6, "next_pid", Int),
    Field(7, "next_prio", Int),
];

const SCHED_PROCESS_FORK: &[Field] = &[
    Field(1, "parent_comm", Text),
    Field(2, "parent_pid", Int),
    Field(3, "child_comm", Text),
    Field(4, "child_pid", Int),
];

const SCHED_WAKING: &[Field] =
    &[Field(1, "comm", Text), Field(2, "pid", Int), Field(3, "prio", Int), Field(5, "target_cpu", Int)];

const CPU_STATE: &[Field] = &[Field(1, "state", Int), Field(2, "cpu_id", Int)];

const PROCESS_TREE: &[Field] = &[
    Field(1, "processes", Message(&[Field(1, "pid", Int), Field(2, "ppid", Int), Field(3, "cmdline", Text)])),
    Field(2, "threads", Message(&[Field(1, "tid", Int), Field(2, "name", Text), Field(3, "tgid", Int)])),
];

const CLOCK_SNAPSHOT: &[Field] = &[
    Field(1, "clocks", Message(&[Field(1, "clock_id", Int), Field(2, "timestamp", Int)])),
    Field(2, "primary_trace_clock", Int),
];

const TRACK_DESCRIPTOR: &[Field] = &[
    Field(1, "uuid", Int),
    Field(2, "name", Text),
    Field(4, "thread", Message(&[Field(1, "pid", Int), Field(2, "tid", Int)])),
    Field(5, "parent_uuid", Int),
    Field(8, "counter", Message(&[Field(6, "unit_name", Text), Field(7, "y_axis_share_key", Text)])),
    Field(11, "child_ordering", Int),
    Field(12, "sibling_order_rank", Int),
];

const CPU: &[Field] = &[Field(1, "processor", Text), Field(2, "frequencies", Int), Field(3, "capacity", Int)];

/// A trace as text, one line per packet and per ftrace event.
pub fn text(trace: &[u8]) -> String {
    let mut out = String::new();
    render(&mut out, trace, TRACE, 0);
    out
}

fn render(out: &mut String, bytes: &[u8], schema: &[Field], depth: usize) {
    for (number, value) in fields(bytes) {
        let Some(Field(_, name, kind)) = schema.iter().find(|field| field.0 == number) else {
            panic!("field {number} is not in the schema");
        };
        match (kind, value) {
            (Int, Value::Varint(value)) => write!(out, " {name}={}", value as i64).unwrap(),
            (Double, Value::Fixed64(bits)) => write!(out, " {name}={}", f64::from_bits(bits)).unwrap(),
            (Text, Value::Bytes(bytes)) => write!(out, " {name}={:?}", String::from_utf8(bytes).unwrap()).unwrap(),
            (Message(nested), Value::Bytes(bytes)) => {
                let own_line = ["packet", "event"].contains(name);
                out.push_str(if own_line { "\n" } else { " " });
                if own_line {
                    out.push_str(&"  ".repeat(depth));
                }
                write!(out, "{name} {{").unwrap();
                render(out, &bytes, nested, depth + 1);
                out.push_str(" }");
            }
            (_, value) => panic!("{name} holds {value:?}"),
        }
    }
}
