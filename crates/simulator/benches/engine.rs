// SPDX-License-Identifier: MIT OR Apache-2.0
//! Speed of whole runs: events per second by number of CPUs, with and without contention for memory.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tandem_simulator::generated;
use tandem_simulator::machine::Machine;
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Options, simulate};
use tandem_simulator::units::{MSEC, Nanos};
use tandem_simulator::workload::{Behaviour, Workload};

/// Simulated time by number of CPUs, so that each run takes tens of milliseconds.
const SIZES: [(u32, Nanos); 3] = [(8, 1_000 * MSEC), (256, 40 * MSEC), (1024, 10 * MSEC)];

fn run(machine: &Machine, workload: &Workload, limit: Nanos) -> u64 {
    let options = Options { time_limit: Some(limit), ..Options::default() };
    simulate(machine, workload, &options, &mut NoObserver).expect("generated workloads end").events
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

/// Every switch changes the contention of its memory domain, so everybody's pace: the dear case.
fn memory_bound(criterion: &mut Criterion) {
    let streams = |tasks| {
        let mut workload = generated::busy(tasks);
        workload.behaviours[0] = Behaviour { memory_bound: 0.6, bytes_per_work: 4.0, ..Behaviour::default() };
        workload
    };
    bench(criterion, "events under fair, memory-bound", streams);
}

criterion_group!(benches, compute_bound, memory_bound);
criterion_main!(benches);
