// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets at the head of a trace: clocks, CPUs and the power tracks.

use super::fields::{
    clock_snapshot, counter_descriptor, cpu_info, system_info, trace_packet, track_descriptor as track,
};
use super::protobuf::Message;
use crate::machine::Machine;
use crate::units::{CpuId, PackageId};

/// The track below which all power tracks stand. Identifiers of tracks are free to choose; 0 means "none".
const POWER: u64 = 1;

/// The track of a package's power.
pub(super) fn package_track(package: PackageId) -> u64 {
    (1 << 32) + u64::from(package.0)
}

/// The track of a CPU's power.
pub(super) fn cpu_track(cpu: CpuId) -> u64 {
    (2 << 32) + u64::from(cpu.0)
}

/// All packets that precede the first event, in order.
pub(super) fn packets(machine: &Machine) -> Vec<Message> {
    let mut packets = vec![clocks(), system(machine), cpus(machine), power_group()];
    let tracks = (0..machine.packages.len()).map(|index| {
        let package = PackageId::at(index);
        (package_track(package), format!("Package {package} power"), "package")
    });
    let tracks = tracks.chain(machine.online().map(|cpu| (cpu_track(cpu), format!("CPU {cpu} power"), "cpu")));
    for (rank, (uuid, name, axis)) in tracks.enumerate() {
        packets.push(power_track(uuid, &name, axis, rank as u64));
    }
    packets
}

/// The clocks: simulated time 0 is boot. Without a wall clock the trace claims no date.
pub(super) fn clocks() -> Message {
    let mut packet = Message::default();
    packet
        .uint(trace_packet::FIRST_PACKET_ON_SEQUENCE, 1)
        .uint(trace_packet::SEQUENCE_FLAGS, trace_packet::SEQ_INCREMENTAL_STATE_CLEARED)
        .uint(trace_packet::TIMESTAMP, 0)
        .message(trace_packet::CLOCK_SNAPSHOT, |snapshot| {
            for clock in [clock_snapshot::BOOTTIME, clock_snapshot::MONOTONIC] {
                snapshot.message(clock_snapshot::CLOCKS, |reading| {
                    reading.uint(clock_snapshot::clock::CLOCK_ID, clock).uint(clock_snapshot::clock::TIMESTAMP, 0);
                });
            }
            snapshot.uint(clock_snapshot::PRIMARY_TRACE_CLOCK, clock_snapshot::BOOTTIME);
        });
    packet
}

fn system(machine: &Machine) -> Message {
    let mut packet = Message::default();
    packet.message(trace_packet::SYSTEM_INFO, |system| {
        system.uint(system_info::NUM_CPUS, machine.cpus.len() as u64);
    });
    packet
}

/// The properties of each CPU, for Perfetto's tables `cpu` and `cpu_freq`. Entry `n` is CPU `n`, so offline CPUs have
/// entries.
fn cpus(machine: &Machine) -> Message {
    let mut packet = Message::default();
    packet.message(trace_packet::CPU_INFO, |info| {
        for (index, cpu) in machine.cpus.iter().enumerate() {
            info.message(cpu_info::CPUS, |entry| {
                entry.text(cpu_info::cpu::PROCESSOR, &machine.core_type(CpuId::at(index)).name);
                for opp in &machine.performance_domains[cpu.performance_domain.index()].opps {
                    entry.uint(cpu_info::cpu::FREQUENCIES, opp.khz.into());
                }
                entry.uint(cpu_info::cpu::CAPACITY, cpu.capacity.into());
            });
        }
    });
    packet
}

fn power_group() -> Message {
    let mut packet = Message::default();
    packet.message(trace_packet::TRACK_DESCRIPTOR, |descriptor| {
        descriptor.uint(track::UUID, POWER).text(track::NAME, "Power").uint(track::CHILD_ORDERING, track::EXPLICIT);
    });
    packet
}

/// A counter track in watts; tracks with the same `axis` are drawn to the same scale.
fn power_track(uuid: u64, name: &str, axis: &str, rank: u64) -> Message {
    let mut packet = Message::default();
    packet.message(trace_packet::TRACK_DESCRIPTOR, |descriptor| {
        descriptor
            .uint(track::UUID, uuid)
            .text(track::NAME, name)
            .uint(track::PARENT_UUID, POWER)
            .message(track::COUNTER, |counter| {
                counter.text(counter_descriptor::UNIT_NAME, "W").text(counter_descriptor::Y_AXIS_SHARE_KEY, axis);
            })
            .uint(track::SIBLING_ORDER_RANK, rank);
    });
    packet
}
