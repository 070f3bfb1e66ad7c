// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed of whole runs: events per second by number of CPUs, with and without contention for memory, and under sched_ext
//! objects.
//!
//! An event is a processed entry of the event queue, whatever the scheduler. Those under sched_ext need compiled objects
//! (`scripts/objects`).

#[path = "../tests/common/objects.rs"]
mod objects;

use std::thread;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tandem_simulator::generated;
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, Scheduler, simulate};
use tandem_simulator::units::{MSEC, Nanos};
use tandem_simulator::workload::Workload;

/// Simulated time by number of CPUs, so that each run takes tens of milliseconds.
const SIZES: [(u32, Nanos); 3] = [(8, 1_000 * MSEC), (256, 40 * MSEC), (1024, 10 * MSEC)];

/// Simulated time by number of CPUs for runs under sched_ext, so that each takes tens of milliseconds.
const SIZES_OF_EXT: [(u32, Nanos); 2] = [(8, 500 * MSEC), (64, 60 * MSEC)];

fn run(machine: &Machine, workload: &Workload, limit: Nanos) -> u64 {
    let options = Options { time_limit: Some(limit), ..Options::default() };
    simulate(machine, workload, &options, &mut NoObserver).expect("generated workloads end").events
}

/// Runs under a loaded scheduler in `threads` threads at once; returns the sum of their events.
fn run_ext(scheduler: &Scheduler, machine: &Machine, limit: Nanos, threads: usize) -> u64 {
    let workload = generated::busy(2 * machine.online().count() as u32);
    let options = Options { time_limit: Some(limit), scheduler: scheduler.clone(), ..Options::default() };
    let one = || {
        let report = simulate(machine, &workload, &options, &mut NoObserver).expect("generated workloads end");
        assert!(report.sched_ext.is_some_and(|report| report.exit.is_none()), "{scheduler} is ejected");
        report.events
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(one)).collect();
        one() + others.into_iter().map(|other| other.join().expect("it ends")).sum::<u64>()
    })
}

fn bench(criterion: &mut Criterion, name: &str, workload_of: impl Fn(u32) -> Workload) {
    let mut group = criterion.benchmark_group(name);
    group.sample_size(20);
    for (cpus, limit) in SIZES {
        let machine = generated::machine(cpus).expect("generated machines are valid");
        let workload = workload_of(2 * cpus);
        group.throughput(Throughput::Elements(run(&machine, &workload, limit)));
        group.bench_with_input(BenchmarkId::from_parameter(cpus), &limit, |bencher, limit| {
            bencher.iter(|| run(&machine, &workload, *limit));
        });
    }
    group.finish();
}

fn compute_bound(criterion: &mut Criterion) {
    bench(criterion, "events under fair, compute-bound", generated::busy);
}

fn memory_bound(criterion: &mut Criterion) {
    bench(criterion, "events under fair, memory-bound", generated::memory_bound);
}

fn sched_ext(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("events under sched_ext, compute-bound");
    group.sample_size(20);
    for name in ["scx_simple", "scx_qmap", "scx_central", "scx_flatcg"] {
        let path = objects::object_path(name);
        let scheduler: Scheduler = path.to_string_lossy().parse().expect("the object is right");
        for (cpus, limit) in SIZES_OF_EXT {
            let machine = generated::machine(cpus).expect("generated machines are valid");
            for threads in [1, 2] {
                group.throughput(Throughput::Elements(run_ext(&scheduler, &machine, limit, threads)));
                let id = BenchmarkId::new(name, format!("{cpus} CPUs, {threads} at a time"));
                group.bench_function(id, |bencher| bencher.iter(|| run_ext(&scheduler, &machine, limit, threads)));
            }
        }
    }
    group.finish();
}

criterion_group!(benches, compute_bound, memory_bound, sched_ext);
criterion_main!(benches);
