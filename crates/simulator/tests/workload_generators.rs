// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generated workloads load without complaint, hold as much work as one computes by hand, and run.

use std::path::Path;

use proptest::prelude::*;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::{AppReport, Report};
use tandem_simulator::observer::NoObserver;
use tandem_simulator::simulation::{Governor, Options, simulate};
use tandem_simulator::units::{SEC, USEC};
use tandem_simulator::workload::generate::{Generator, generators, text};
use tandem_simulator::workload::{Op, TaskSpec, Workload};

/// The generator `name` with `options` as on a command line.
fn generator(name: &str, options: &str) -> Box<dyn Generator> {
    let mut generator = generators().into_iter().find(|generator| generator.command() == name).unwrap();
    for option in options.split_whitespace() {
        let (option, value) = option.split_once('=').unwrap_or((option, "true"));
        generator.set(option, value).unwrap();
    }
    generator
}

/// The file of the generator, which has no mistake and gives no warning.
pub fn workload(name: &str, options: &str) -> Workload {
    parse(&text(generator(name, options).as_ref()).unwrap())
}

fn parse(text: &str) -> Workload {
    let workload = Workload::parse(Path::new("generated.json"), text).unwrap_or_else(|error| panic!("{error}"));
    assert!(workload.warnings.is_empty(), "{:#?}", workload.warnings);
    workload
}

/// The error of the options.
fn mistake(name: &str, options: &str) -> String {
    text(generator(name, options).as_ref()).unwrap_err().to_string()
}

/// One run on eight equal CPUs at their highest clock, of at most 10 s.
pub fn run(workload: &Workload) -> Report {
    let machine = Machine::load("smp-8").unwrap();
    let options = Options { governor: Governor::Performance, time_limit: Some(10 * SEC), ..Options::default() };
    simulate(&machine, workload, &options, &mut NoObserver).unwrap()
}

pub fn application(report: &Report, name: &str) -> AppReport {
    report.apps.iter().find(|app| app.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
}

/// Seconds of work that application `name` did in a run that ended by itself.
fn work(name: &str, options: &str, app: &str) -> f64 {
    let report = run(&workload(name, options));
    assert!(!report.time_limited);
    (application(&report, app).work_s * 1e9).round() / 1e9
}

/// The `run` steps of `task`, in microseconds.
pub fn runs(task: &TaskSpec) -> Vec<u64> {
    let run = |op: &Op| if let Op::Run { work, .. } = op { Some(work.mean / USEC) } else { None };
    task.program.iter().filter_map(run).collect()
}

pub fn task<'a>(workload: &'a Workload, name: &str) -> &'a TaskSpec {
    workload.tasks.iter().find(|task| task.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn every_default_loads_without_complaint_and_runs() {
    for generator in generators() {
        let workload = parse(&text(generator.as_ref()).unwrap());
        let report = run(&workload);
        assert!(report.apps.iter().all(|app| app.work_s > 0.0), "{}", generator.command());
        assert!(report.warnings.iter().all(|warning| warning.contains("time limit")), "{:?}", report.warnings);
    }
}

#[test]
fn the_first_comment_is_the_command_that_makes_the_file_again() {
    for options in ["", "label=1:4,inf:1 threads=4 workers=kept", "work=2500us seed=7"] {
        let first = text(generator("phases", options).as_ref()).unwrap();
        let command = first.lines().take_while(|line| line.starts_with("//")).map(|line| &line[3..]);
        let command = command.collect::<Vec<_>>().join(" ");
        let words: Vec<&str> = command.split(" a-").next().unwrap().split(' ').collect();
        assert_eq!(words[..3], ["tandem", "workload", "phases"]);
        let again: Vec<String> = words[3..].chunks(2).map(|pair| format!("{}={}", &pair[0][2..], pair[1])).collect();
        assert_eq!(text(generator("phases", &again.join(" ")).as_ref()).unwrap(), first);
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_one_others() {
    for (name, options) in [("phases", ""), ("matmul", "order=shuffled rows=340-260"), ("iterations", "order=shuffled")]
    {
        let bytes = |seed: u32| text(generator(name, &format!("{options} seed={seed}")).as_ref()).unwrap();
        assert_eq!(bytes(1), bytes(1));
        let body = |seed| bytes(seed).split_once("\n{").unwrap().1.to_owned();
        assert_ne!(body(1), body(2), "{name}");
    }
}

#[test]
fn in_phases_the_serial_part_follows_the_parallel_one_by_equation_1() {
    let workload = workload("phases", "label=1:4,4:1,inf:1,1:inf threads=3 rounds=5");
    assert_eq!(workload.applications, ["a-1:4", "b-4:1", "c-inf:1", "d-1:inf"]);
    let (serial, parallel) = (runs(task(&workload, "a-main")), |app: char| {
        (0..5).map(|round| runs(task(&workload, &format!("{app}-work-{round}")))[0]).collect::<Vec<u64>>()
    });
    assert_eq!(serial, parallel('a').iter().map(|p| 4 * p).collect::<Vec<_>>());
    for (s, p) in runs(task(&workload, "b-main")).iter().zip(parallel('b')) {
        assert!((*s as f64 - p as f64 / 4.0).abs() <= 0.5, "{s} for {p}");
    }
    assert_eq!(runs(task(&workload, "c-main")), Vec::<u64>::new());
    assert_eq!(parallel('c').len(), 5);
    assert_eq!(runs(task(&workload, "d-main")).len(), 5);
    assert!(workload.tasks.iter().all(|task| !task.name.starts_with("d-work")));
}

#[test]
fn in_phases_forked_and_kept_threads_do_the_same() {
    let (forked, kept) = (workload("phases", "rounds=4"), workload("phases", "rounds=4 workers=kept"));
    assert_eq!(runs(task(&forked, "a-main")), runs(task(&kept, "a-main")));
    let parallel: Vec<u64> = (0..4).map(|round| runs(task(&forked, &format!("a-work-{round}")))[0]).collect();
    assert_eq!(parallel, runs(task(&kept, "a-work")));
    assert_eq!(task(&kept, "a-work").instances, 8);
}

/// An iteration of 1:1 alone on eight CPUs takes 2p and is 9p of work: 4.5 s of work per second, less the cost of two
/// threads that begin on one CPU. The run's end cuts the last iteration off; if that happens in its serial part, most
/// of its work is done.
#[test]
fn in_phases_an_application_alone_is_as_fast_as_its_label_says() {
    for (label, ideal) in [("1:1", 4.5), ("inf:1", 8.0), ("1:inf", 1.0), ("1:8", 16.0 / 9.0)] {
        for workers in ["forked", "kept"] {
            let report = run(&workload("phases", &format!("label={label} workers={workers} duration=5s")));
            let performance = application(&report, &format!("a-{label}")).performance;
            assert!((0.9..1.005).contains(&(performance / ideal)), "{label} {workers}: {performance}");
        }
    }
}

#[test]
fn a_global_sum_is_divided_among_sections_or_barriers() {
    // 8 s on 4 threads: 20000 intervals of 100 us each.
    let sections = workload("global-sum", "threads=4 total=8s section=50 frequency=f100");
    let sum = task(&sections, "sum");
    assert_eq!((sum.instances, runs(sum)), (4, vec![50, 50]));
    assert!(matches!(sum.program[0], Op::LoopStart { count: Some(20_000), .. }));
    assert_eq!(work("global-sum", "threads=4 total=1s section=50", "global-sum"), 1.0);
    // 8 s on 4 threads in 1000 parts: 2 ms each.
    let barriers = workload("global-sum", "threads=4 total=8s barriers=1000");
    assert_eq!(runs(task(&barriers, "sum")), [2_000]);
    assert_eq!(barriers.objects.barriers, [("sum".to_owned(), 4)]);
    assert_eq!(work("global-sum", "threads=4 total=8s barriers=1000", "global-sum"), 8.0);
}

#[test]
fn a_matrix_product_has_all_rows_and_hints_where_asked() {
    // 4 x 340 + 4 x 260 rows of 5.76 ms.
    assert_eq!(work("matmul", "rows=340-260", "matmul"), 13.824);
    let workload = workload("matmul", "rows=340-260 hints order=short-first");
    let hints: Vec<Option<u64>> = workload.tasks.iter().map(|task| task.relative_length).collect();
    assert_eq!(hints, [[Some(260); 4], [Some(340); 4]].concat());
    assert!(self::workload("matmul", "").tasks.iter().all(|task| task.relative_length.is_none()));
}

#[test]
fn the_registration_loop_has_fifty_iterations_a_round() {
    assert_eq!(work("iterations", "", "itk"), 5.0);
    assert_eq!(work("iterations", "rounds=3 work=1ms", "itk"), 0.15);
    let hints: Vec<u64> =
        workload("iterations", "hints").tasks.iter().filter_map(|task| task.relative_length).collect();
    assert_eq!(hints, [7, 7, 7, 7, 6, 6, 5, 5]);
    let shuffled = workload("iterations", "hints order=shuffled seed=3");
    let mut hints: Vec<u64> = shuffled.tasks.iter().filter_map(|task| task.relative_length).collect();
    assert_ne!(hints, [7, 7, 7, 7, 6, 6, 5, 5]);
    hints.sort_unstable();
    assert_eq!(hints, [5, 5, 6, 6, 7, 7, 7, 7]);
}

#[test]
fn a_parallel_loop_does_all_its_iterations_under_each_schedule() {
    for schedule in ["static", "dynamic chunk=3", "guided"] {
        let options = format!("schedule={schedule} threads=8 iterations=1000 work=250 rounds=2");
        assert_eq!(work("parallel-for", &options, "parallel-for"), 0.5, "{schedule}");
    }
    assert!(mistake("parallel-for", "chunk=2").contains("--schedule dynamic or guided"));
}

#[test]
fn a_scientific_program_takes_its_values_from_the_program_or_the_options() {
    // 100 x (8 x 1 ms + 0.5 ms).
    let exact = "imbalance=0 iterations=100 memory-bound=0";
    assert_eq!(work("scientific", &format!("program=apsi {exact}"), "apsi"), 0.85);
    assert_eq!(work("scientific", &format!("program=apsi {exact} serial=0us iteration=2ms"), "apsi"), 1.6);
    let behaviour = |options| workload("scientific", options).behaviours[1].clone();
    assert_eq!((behaviour("").memory_bound, behaviour("").footprint), (0.8, 0));
    assert_eq!(behaviour("program=art").footprint, 3_700 << 10);
    assert_eq!(behaviour("program=art memory-bound=0.25 footprint=1MiB").memory_bound, 0.25);
    assert_eq!(behaviour("program=art memory-bound=0.25 footprint=1MiB").footprint, 1 << 20);
}

#[test]
fn scientific_programs_run_side_by_side_with_loops_dealt_as_asked() {
    let exact = "imbalance=0 iterations=100 memory-bound=0 schedule=dynamic daemons=0 monitors=0";
    // 100 x (8 x 1 ms + 0.5 ms), and without serial parts 100 x 8 x 10 ms.
    let pair = run(&workload("scientific", &format!("program=apsi,wupwise {exact}")));
    for (name, work_s) in [("a-apsi", 0.85), ("b-wupwise", 8.0)] {
        let app = application(&pair, name);
        assert!((app.work_s - work_s).abs() < 1e-6, "{app:?}");
    }
    let twice = workload("scientific", &format!("program=apsi,apsi {exact}"));
    assert_eq!(twice.applications, ["a-apsi", "b-apsi"]);
    let alone = run(&workload("scientific", &format!("program=apsi {exact}")));
    assert!((application(&alone, "apsi").work_s - 0.85).abs() < 1e-6, "{:?}", alone.apps);
}

/// Seconds at which application `name` ended.
fn end(report: &Report, name: &str) -> f64 {
    application(report, name).time_s.unwrap_or_else(|| panic!("{name} never ended"))
}

#[test]
fn crossed_programs_begin_when_the_ones_before_them_have_ended() {
    let file = workload("crossed", "programs=wupwise,equake length=500ms");
    assert_eq!(file.applications, ["a1-wupwise", "b1-equake", "b2-equake", "a2-wupwise"]);
    let report = run(&file);
    // 50 x 8 x 10 ms, and 100 x (8 x 4 ms + 1 ms), but for what loops vary by.
    for (name, work_s) in [("a1-wupwise", 4.0), ("a2-wupwise", 4.0), ("b1-equake", 3.3), ("b2-equake", 3.3)] {
        assert!((application(&report, name).work_s / work_s - 1.0).abs() < 0.01, "{name}: {:?}", report.apps);
    }
    // Both benchmarks do the same. Beside another program each takes longer than its half second, one after the other.
    let (first, second) = (end(&report, "b1-equake"), end(&report, "a2-wupwise"));
    assert!((first / second - 1.0).abs() < 0.1, "{first} and {second}");
    for (begin, end) in [(0.0, end(&report, "a1-wupwise")), (end(&report, "a1-wupwise"), first)] {
        assert!(end - begin > 0.7, "{:?}", report.apps);
    }
}

#[test]
fn a_crossed_program_runs_alone_or_beside_one_other() {
    let report = run(&workload("crossed", "programs=wupwise length=500ms"));
    assert_eq!(report.apps.len(), 1);
    assert!((0.5..0.6).contains(&end(&report, "a1-wupwise")), "{:?}", report.apps);
    assert!(mistake("crossed", "programs=art,apsi,swim").contains("one program, or two"));
}

#[test]
fn noise_is_as_frequent_as_asked_and_belongs_to_no_application() {
    let quiet = workload("scientific", "daemons=0 monitors=0");
    assert_eq!(quiet.tasks.len(), 1);
    let noisy = workload("scientific", "kthreads=2 threads=4");
    let system: Vec<&TaskSpec> = noisy.tasks.iter().filter(|task| task.system).collect();
    let names: Vec<&str> = system.iter().map(|task| task.name.as_str()).collect();
    assert_eq!(names, ["daemon", "monitor", "kthread-0", "kthread-1"]);
    assert_eq!(task(&noisy, "kthread-1").affinity, Some(vec![1]));
    assert!(task(&noisy, "kthread-1").kernel_thread && !task(&noisy, "daemon").kernel_thread);
    let disturbing = workload("scientific", "kthreads=1 noise-disturbs=320KiB");
    let disturbs: Vec<u64> = disturbing.tasks.iter().map(|task| task.disturbs).collect();
    assert_eq!(disturbs, [0, 320 << 10, 320 << 10, 0]);
    // Three daemons of 1 ms per 101 ms, a monitor of 2 ms per 100 ms, two kernel threads of 50 us per 10 ms.
    let report = run(&noisy);
    let noise: f64 = report.tasks.iter().filter(|task| task.system).map(|task| task.work_s).sum();
    let expected = report.time_s * (3.0 / 101.0 + 2.0 / 100.0 + 2.0 * 50e-6 / 10e-3);
    assert!((noise / expected - 1.0).abs() < 0.1, "{noise} for {expected}");
}

#[test]
fn mixes_fit_the_cache_as_their_names_say() {
    let mix = workload("mixes", "aluadd=1 stream=1 stream-fit1=1 stream-fit2=2 cache=2MiB bandwidth=4000 work=500ms");
    assert_eq!(mix.applications, ["aluadd-0", "stream-0", "stream-fit1-0", "stream-fit2-0", "stream-fit2-1"]);
    let footprints: Vec<u64> = mix.behaviours.iter().map(|behaviour| behaviour.footprint).collect();
    // The footprint of the default behaviour, which aluadd has, then those of the streams.
    assert_eq!(footprints, [0, 0, 2 << 20, 1 << 20]);
    assert_eq!(mix.behaviours[1].bytes_per_work, 4.0);
    let report = run(&mix);
    assert!(report.apps.iter().all(|app| (app.work_s - 0.5).abs() < 1e-6), "{:?}", report.apps);
    assert!(mistake("mixes", "aluadd=0 stream=0").contains("at least one"));
    assert_eq!(mistake("mixes", "work=1.5ms"), "--work: 1500us is no multiple of 1ms");
    assert!(run(&workload("mixes", "duration=1s")).time_limited);
}

#[test]
fn programs_run_side_by_side_or_one_set_after_the_other() {
    let set = workload("programs", "");
    assert_eq!(set.applications.len(), 8);
    assert_eq!(work("programs", "programs=hmmer,lbm:2 work=100ms", "lbm-1"), 0.1);
    let report = run(&workload("programs", "programs=hmmer:4,namd:4 work=100ms sequential"));
    let end = |name: &str| application(&report, name).time_s.unwrap();
    // On eight CPUs all would end together if they ran side by side.
    assert!((0.1..0.13).contains(&end("hmmer-3")), "{}", end("hmmer-3"));
    assert!((0.2..0.25).contains(&end("namd-0")), "{}", end("namd-0"));
}

#[test]
fn threads_are_bound_to_the_cpus_of_a_list_in_turn() {
    let bound = |workload: &Workload| -> Vec<Option<Vec<u32>>> {
        workload.tasks.iter().map(|task| task.affinity.clone()).collect()
    };
    let only = |cpus: &[u32]| cpus.iter().map(|cpu| Some(vec![*cpu])).collect::<Vec<_>>();
    assert_eq!(bound(&workload("mixes", "aluadd=1 stream=2 cpus=0,2")), only(&[0, 2, 0]));
    let four = workload("programs", "programs=hmmer,lbm,hmmer,lbm work=100ms cpus=4-5");
    assert_eq!(bound(&four), only(&[4, 5, 4, 5]));
    // Two of each, one after the other on a CPU of their own.
    let report = run(&four);
    assert!((0.2..0.21).contains(&application(&report, "hmmer-1").time_s.unwrap()), "{:?}", report.apps);
    assert_eq!(bound(&workload("programs", "programs=hmmer")), [None]);
}

#[test]
fn a_compile_job_starts_three_processes_per_file_and_never_more_jobs_than_asked() {
    // 20 x (0.2 + 2 x 0.5 + 5 x 0.3 + 20 + 4) ms + 30 ms.
    let options = "files=20 jobs=3 spread=0 reads=5 compile=20ms assemble=4ms link=30ms";
    let workload = workload("compile", options);
    let processes: Vec<&str> = workload.tasks.iter().filter(|it| it.process).map(|it| it.name.as_str()).collect();
    assert_eq!(processes, ["cc", "cc1", "as", "ld"]);
    let report = run(&workload);
    let make = application(&report, "make");
    assert!((make.work_s - 0.564).abs() < 1e-9, "{}", make.work_s);
    assert_eq!(make.threads, 62);
    // Three jobs at a time cannot be faster than three CPUs; make and the drivers hardly work meanwhile.
    assert!(report.time_s > 0.534 / 3.0 + 0.03, "{}", report.time_s);
    let alone = run(&self::workload("compile", &options.replace("jobs=3", "jobs=1")));
    assert!(alone.time_s > 0.564, "{}", alone.time_s);
}

#[test]
fn what_is_no_option_or_no_value_gets_the_valid_ones() {
    let set = |name, option, value| generator(name, "").set(option, value).unwrap_err().to_string();
    assert_eq!(set("phases", "threads", "0"), "--threads 0: expected 1 to 1024");
    assert!(set("phases", "label", "1-4").contains("P:S with parts of 1 to 1000"));
    assert!(set("phases", "lable", "1:4").contains("did you mean `label`?"));
    assert_eq!(set("matmul", "rows", "600"), "--rows 600: expected X-Y with 1 to 1000000 rows each, such as 340-260");
    assert_eq!(set("parallel-for", "schedule", "auto"), "--schedule auto: expected static, dynamic or guided");
    assert!(set("programs", "programs", "gcc").contains("gamess, gromacs, hmmer, namd, lbm"));
    assert_eq!(set("scientific", "serial", "1"), "--serial 1: expected a time from 0us to 100s, or program");
    assert!(mistake("phases", "duration=1500ms").contains("--duration: 1500ms is no multiple of 1s"));
    assert!(mistake("matmul", "threads=7").contains("even"));
    assert!(mistake("global-sum", "total=1s barriers=1000000").contains("--total 16s or more"));
}

#[test]
fn the_guide_lists_every_generator_with_its_options_and_defaults() {
    let guide = include_str!("../../../docs/workloads.md");
    for generator in generators() {
        let about = generator.about();
        let sentence = about.split_once(". ").map_or(about.as_str(), |(first, _)| first);
        let options = generator.options();
        let options: Vec<String> = options.iter().map(|it| format!("`{}` {}", it.name, it.value)).collect();
        let row =
            format!("| `{}` | {sentence} | {} | {} |", generator.command(), options.join(", "), generator.source());
        assert!(guide.contains(&row), "docs/workloads.md needs this row:\n{row}");
    }
}

proptest! {
    /// With any numbers, a workload loads, or its options are refused with a reason.
    #[test]
    fn options_make_a_workload_or_are_refused(
        index in 0..9usize,
        picks in prop::collection::vec((any::<prop::sample::Index>(), 0..8usize), 0..6),
    ) {
        let mut generator = generators().swap_remove(index);
        let options = generator.options();
        let values = ["1", "0", "7", "1.5", "1us", "3ms", "2s", "64KiB"];
        for (option, value) in picks {
            // Most values do not fit the option, which then keeps its default.
            let _ = generator.set(option.get(&options).name, values[value]);
        }
        match text(generator.as_ref()) {
            Ok(text) => { parse(&text); }
            Err(error) => prop_assert!(error.to_string().starts_with("--"), "{error}"),
        }
    }
}
