// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs that files become, worked out by hand from rt-app's parser.

use std::path::Path;

use tandem_simulator::workload::{LoopSchedule, Op, Policy, Spread, TaskSpec, TimerRef, Workload};

fn load(text: &str) -> Workload {
    Workload::parse(Path::new("test.json"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// The listing of the tasks in `tasks`, without the workload's line.
fn listing(tasks: &str) -> String {
    let workload = load(&format!(r#"{{"global": {{"duration": 1}}, "tasks": {{{tasks}}}}}"#));
    let listing = workload.listing().to_string();
    listing.split_once('\n').unwrap().1.to_owned()
}

/// The steps of a task that runs `events` once.
fn steps(events: &str) -> Vec<String> {
    let text = listing(&format!(r#""t": {{"loop": 1, {events}}}, "other": {{"run": 1, "suspend"}}"#));
    text.lines().skip(1).take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn every_event_has_its_step() {
    let table: &[(&str, &[&str])] = &[
        (r#""run": 1500"#, &["run 1500us"]),
        (r#""runtime2": 2000"#, &["runtime 2ms"]),
        (r#""sleep_1": 1000000"#, &["sleep 1s"]),
        (r#""timer": {"ref": "tick", "period": 30}"#, &["timer tick 30us"]),
        (r#""timer": {"ref": "uniqueA", "period": 30}"#, &["timer own#0 30us"]),
        (r#""timer": {"ref": "tick", "period": 30, "mode": "absolute"}"#, &["timer tick 30us absolute"]),
        (r#""lock2": "m", "unlock": "m""#, &["lock m", "unlock m"]),
        (r#""lock": "m", "wait": {"ref": "c", "mutex": "m"}"#, &["lock m", "wait c with m"]),
        (r#""lock": "m", "sync": {"ref": "c", "mutex": "m"}"#, &["lock m", "signal c", "wait c with m"]),
        (r#""signal": "c", "broadcast": "c""#, &["signal c", "broadcast c"]),
        (r#""barrier7": "b""#, &["barrier b of 1"]),
        (r#""suspend": "whatever""#, &["suspend"]),
        (r#""suspend", "run": 1"#, &["suspend", "run 1us"]),
        (r#""resume": "other""#, &["resume other"]),
        (r#""sem_post": "s", "sem_wait": "s""#, &["sem_post s", "sem_wait s"]),
        (r#""yield": """#, &["yield"]),
        (r#""fork": "other""#, &["fork other"]),
        (r#""mem": 1000"#, &["memory 1000 B in 4194304 B"]),
        (r#""iorun": 1000"#, &["memory 1000 B in 4194304 B"]),
        (r#""memrun": {"type": "read", "size": 4096, "count": 9000}"#, &["memory 9000 B in 4096 B"]),
        (r#""memrun": {"type": "write", "size": 4096, "count": 10}"#, &["memory 10 B in 4096 B"]),
        // 100 strides of 128 bytes: a chain of 64 positions, each in a cache line of its own.
        (r#""memrun": {"type": "chase", "size": 12800, "stride": 128, "count": 7}"#, &["chase 7 in 4096 B"]),
        (
            r#""memrun": {"type": "chase", "size": 4096, "pattern": "sequential", "count": 7}"#,
            &["memory 448 B in 4096 B"],
        ),
    ];
    for (events, expected) in table {
        assert_eq!(steps(events), *expected, "{events}");
    }
}

#[test]
fn repeated_keys_all_count_in_order() {
    assert_eq!(steps(r#""run": 1, "sleep": 2, "run": 3"#), ["run 1us", "sleep 2us", "run 3us"]);
}

#[test]
fn loops_of_tasks_and_phases_nest() {
    let text = listing(
        r#""a": {"loop": 3, "phases": {"p": {"loop": 2, "run": 1}, "q": {"run": 2}}},
           "b": {"run": 1}, "c": {"loop": 2, "run": 1}, "d": {"loop": -1, "run": 1},
           "e": {"phases": {"p": {"run": 1}}}, "f": {"loop": 0, "phases": {"p": {"run": 1}}}"#,
    );
    let expected = "\
task a x1, application test
  loop 3
    loop 2
      run 1us
    run 2us
task b x1, application test
  loop
    run 1us
task c x1, application test
  loop 2
    run 1us
task d x1, application test
  loop
    run 1us
task e x1, application test
  loop
    run 1us
task f x1, application test
";
    assert_eq!(text, expected);
}

#[test]
fn loop_jumps_meet() {
    let workload = load(r#"{"tasks": {"a": {"loop": 3, "phases": {"p": {"loop": 2, "run": 1}, "q": {"run": 2}}}}}"#);
    let program = &workload.tasks[0].program;
    assert_eq!(program[0], Op::LoopStart { counter: 0, count: Some(3), end: 5 });
    assert_eq!(program[1], Op::LoopStart { counter: 1, count: Some(2), end: 3 });
    assert_eq!(program[3], Op::LoopEnd { start: 1 });
    assert_eq!(program[5], Op::LoopEnd { start: 0 });
    assert_eq!(workload.tasks[0].counters, 2);
}

#[test]
fn affinity_goes_back_to_the_tasks() {
    let text = listing(
        r#""t": {"cpus": [4, 5, 4], "loop": 2, "phases": {
             "p": {"cpus": [0], "run": 1}, "q": {"run": 2}, "r": {"run": 3}}},
           "u": {"loop": 1, "phases": {"p": {"cpus": [1], "run": 1}, "q": {"run": 2}}}"#,
    );
    let expected = "\
task t x1, application test, cpus [4, 5]
  loop 2
    set cpus [0]
    run 1us
    set cpus [4, 5]
    run 2us
    run 3us
task u x1, application test
  set cpus [1]
  run 1us
  set cpus all
  run 2us
";
    assert_eq!(text, expected);
}

#[test]
fn scheduling_stays_until_it_is_set() {
    let text = listing(
        r#""t": {"priority": 5, "loop": 1, "phases": {
             "p": {"run": 1},
             "q": {"policy": "SCHED_FIFO", "run": 2},
             "r": {"util_min": 100, "run": 3},
             "s": {"priority": 20, "run": 4},
             "u": {"policy": "SCHED_OTHER", "run": 5}}}"#,
    );
    let expected = "\
task t x1, application test, SCHED_OTHER nice 5
  run 1us
  set SCHED_FIFO 10
  run 2us
  set SCHED_FIFO 10 util_min 100
  run 3us
  set SCHED_FIFO 20 util_min 100
  run 4us
  set SCHED_OTHER nice 0 util_min 100
  run 5us
";
    assert_eq!(text, expected);
}

#[test]
fn a_first_pass_that_differs_stands_alone() {
    // The first time, phase `p` has no upper clamp yet; later it keeps the clamp of `q`.
    let text = listing(
        r#""t": {"loop": 5, "phases": {
             "p": {"util_min": 10, "run": 1}, "q": {"util_max": 500, "run": 2}}}"#,
    );
    let expected = "\
task t x1, application test
  set SCHED_OTHER nice 0 util_min 10
  run 1us
  set SCHED_OTHER nice 0 util_min 10 util_max 500
  run 2us
  loop 4
    run 1us
    run 2us
";
    assert_eq!(text, expected);
}

#[test]
fn policies_take_their_parameters_from_either_name() {
    let table = [
        (r#""policy": "SCHED_DEADLINE", "dl-runtime": 5, "dl-period": 20"#, "SCHED_DEADLINE 5us/20us/20us"),
        (r#""policy": "SCHED_DEADLINE", "runtime": 5, "deadline": 9, "period": 20"#, "SCHED_DEADLINE 5us/9us/20us"),
        (r#""policy": "SCHED_DEADLINE", "dl-runtime": 5"#, "SCHED_DEADLINE 5us/5us/5us"),
        (r#""policy": "SCHED_RR", "priority": 3"#, "SCHED_RR 3"),
        (r#""policy": "SCHED_BATCH""#, "SCHED_BATCH nice 0"),
        (r#""policy": "SCHED_IDLE""#, "SCHED_IDLE"),
        (r#""priority": -19, "dl-runtime": 100000"#, "SCHED_OTHER nice -19 slice 100ms"),
        (r#""util_min": 0, "util_max": 1024"#, "SCHED_OTHER nice 0 util_min 0 util_max 1024"),
        (r#""taskgroup": "/tg1/tg11""#, "group /tg1/tg11"),
        (r#""delay": 250"#, "after 250us"),
        (r#""cpus": [2, 0]"#, "cpus [0, 2]"),
    ];
    for (keys, expected) in table {
        let text = listing(&format!(r#""t": {{{keys}, "phases": {{"p": {{"run": 1}}}}}}"#));
        assert_eq!(text.lines().next().unwrap(), format!("task t x1, application test, {expected}"), "{keys}");
    }
}

#[test]
fn task_groups_stay_until_they_are_set() {
    let text = listing(
        r#""t": {"loop": 1, "phases": {
             "p": {"taskgroup": "/a", "run": 1}, "q": {"run": 2}, "r": {"taskgroup": "/", "run": 3}}}"#,
    );
    assert_eq!(text, "task t x1, application test\n  set group /a\n  run 1us\n  run 2us\n  set group /\n  run 3us\n");
}

#[test]
fn suspend_shares_a_condition_of_the_tasks_name() {
    // rt-app makes `suspend` wait for a condition with the task's name, so `signal` of that name wakes it too.
    let text = listing(r#""t": {"loop": 1, "suspend"}, "u": {"loop": 1, "signal": "t", "resume": "t"}"#);
    let expected = "\
task t x1, application test
  lock t
  wait t with t
  unlock t
task u x1, application test
  signal t
  lock t
  broadcast t
  unlock t
";
    assert_eq!(text, expected);
}

#[test]
fn suspend_waits_for_the_name_that_is_resumed() {
    // Debian's rt-app waits for `x`, and two tasks may do so. No task resumes `y`, so that `suspend` waits for the
    // task's own name.
    let text = listing(
        r#""t": {"loop": 1, "suspend": "x", "run": 1, "suspend": "y"}, "u": {"loop": 1, "resume": "x", "resume": "t"}"#,
    );
    let expected = "\
task t x1, application test
  lock x
  wait x with x
  unlock x
  run 1us
  suspend
task u x1, application test
  lock x
  broadcast x
  unlock x
  resume t
";
    assert_eq!(text, expected);
}

#[test]
fn barriers_count_uses_times_instances() {
    let workload = load(
        r#"{"tasks": {"a": {"instance": 3, "loop": 1, "barrier": "b"}, "c": {"loop": 1, "barrier1": "b"},
            "d": {"loop": 1, "barrier": "e"}}}"#,
    );
    assert_eq!(workload.objects.barriers, [("b".to_owned(), 4), ("e".to_owned(), 1)]);
}

#[test]
fn unique_timers_are_each_instances_own() {
    let workload = load(
        r#"{"tasks": {"a": {"instance": 2, "loop": 1, "run": 1,
              "timer": {"ref": "uniqueA", "period": 5}, "timer": {"ref": "uniqueB", "period": 5},
              "timer": {"ref": "uniqueA", "period": 5, "mode": "absolute"}},
            "b": {"loop": 1, "timer": {"ref": "shared", "period": 5}},
            "c": {"loop": 1, "timer": {"ref": "shared", "period": 5, "mode": "absolute"}}}}"#,
    );
    assert_eq!((workload.tasks[0].unique_timers, workload.tasks[1].unique_timers), (2, 0));
    let uses: Vec<_> = workload
        .tasks
        .iter()
        .flat_map(|task| &task.program)
        .filter_map(|op| match op {
            Op::Timer { timer, absolute, .. } => Some((*timer, *absolute)),
            _ => None,
        })
        .collect();
    // The mode belongs to the timer, whichever of its uses gives it.
    let own = TimerRef::Unique;
    let all = TimerRef::Shared(0);
    assert_eq!(uses, [(own(0), true), (own(1), false), (own(0), true), (all, true), (all, true)]);
}

#[test]
fn globals_reach_the_workload() {
    let workload = load(
        r#"{"global": {"duration": 3, "pi_enabled": true, "default_policy": "SCHED_RR", "mem_buffer_size": 64},
            "tasks": {"t": {"mem": 5}}}"#,
    );
    assert_eq!(workload.duration, Some(3_000_000_000));
    assert!(workload.priority_inheritance);
    assert_eq!(workload.tasks[0].scheduling.policy, Policy::RoundRobin { priority: 10 });
    assert_eq!(workload.tasks[0].program[1], Op::Memory { bytes: 5, buffer: 64 });
}

#[test]
fn tandem_says_how_work_behaves() {
    let workload = load(
        r#"{"tasks": {"t": {"loop": 1,
              "tandem": {"application": "app", "relative_length": 7, "memory_bound": 0.5, "bytes_per_work": 2000,
                         "footprint": "2MiB", "run_spread": "exponential", "sleep_spread": {"uniform": 0.25}},
              "phases": {
                "p": {"run": 1, "sleep": 2, "tandem": {"memory_bound": 0.1, "spin": 3, "activity": 1.5}},
                "q": {"runtime": 4, "tandem": {"run_spread": {"log_normal": 0.5}}}}},
            "n": {"tandem": {"system": true, "disturbs": "320KiB"}, "loop": 1, "run": 9}}}"#,
    );
    let task = &workload.tasks[0];
    assert_eq!((&workload.applications[..], task.application), (&["app".to_owned()][..], 0));
    assert_eq!(task.relative_length, Some(7));
    assert!(workload.tasks[1].system);
    assert_eq!((task.disturbs, workload.tasks[1].disturbs), (0, 320 << 10));
    let Op::Run { work, behaviour } = &task.program[0] else { panic!() };
    assert_eq!((work.mean, work.spread), (1_000, Spread::Exponential));
    let behaviour = &workload.behaviours[behaviour.0 as usize];
    assert_eq!((behaviour.memory_bound, behaviour.bytes_per_work), (0.1, 2.0));
    assert_eq!((behaviour.footprint, behaviour.activity, behaviour.spin), (2 << 20, 1.5, 3_000));
    let Op::Sleep(span) = &task.program[1] else { panic!() };
    assert_eq!(span.spread, Spread::Uniform(0.25));
    let Op::Runtime { time, .. } = &task.program[2] else { panic!() };
    assert_eq!(time.spread, Spread::LogNormal(0.5));
}

#[test]
fn parallel_loops_are_shared_by_name() {
    let workload = load(
        r#"{"tasks": {
            "t": {"instance": 3, "loop": 1, "run": 5,
                  "tandem": {"parallel_for": {"name": "l", "iterations": 9, "work": 0.5, "schedule": "guided"}},
                  "sleep": 1},
            "u": {"loop": 1, "phases": {"p": {"tandem": {
                  "parallel_for": {"name": "l", "iterations": 9, "work": 0.5, "schedule": "guided", "chunk": 1}}}}}}}"#,
    );
    let [shared] = &workload.loops[..] else { panic!("one loop") };
    assert_eq!((shared.iterations, shared.work.mean, shared.participants), (9, 500, 4));
    assert_eq!(shared.schedule, LoopSchedule::Guided { chunk: 1 });
    // The loop stands where `tandem` stands among the events.
    assert!(matches!(workload.tasks[0].program[..], [Op::Run { .. }, Op::ParallelLoop(_), Op::Sleep(_)]));
    assert!(matches!(workload.tasks[1].program[..], [Op::ParallelLoop(_)]));
}

#[test]
fn join_stands_at_the_end_of_its_phase() {
    let text = listing(
        r#""t": {"loop": 1, "phases": {"p": {"loop": 2, "fork": "c", "tandem": {"join": true}, "run": 1}}},
           "c": {"instance": 0, "loop": 1, "run": 5}"#,
    );
    let expected = "\
task t x1, application test
  loop 2
    fork c
    run 1us
    join
task c x0, application test
  run 5us
";
    assert_eq!(text, expected);
}

#[test]
fn repeated_task_names_get_numbers() {
    let workload = load(r#"{"tasks": {"t": {"loop": 1, "run": 1}, "t": {"loop": 1, "run": 2}}}"#);
    assert_eq!(workload.tasks[1].name, "t1");
    assert_eq!(workload.warnings, ["test.json:1: task `t` is given twice: this one is called `t1`"]);
}

#[test]
fn the_demo_reads_as_intended() {
    let workload = Workload::load(Path::new("forkjoin")).unwrap();
    insta::assert_snapshot!(workload.listing());
}

#[test]
fn deadlines_frames_and_rounds_are_read() {
    let workload = load(
        r#"{ "tasks": {
            "frames": { "tandem": { "deadline": 16000, "frame": true }, "loop": 2, "phases": {
                "vsync": { "timer": { "ref": "unique", "period": 16666 } },
                "draw": { "run": 1000, "sem_post": "q", "sem_wait": "a", "tandem": { "same_round": true } } } },
            "own": { "loop": 2, "sem_wait": "q", "sem_post": "a", "tandem": { "same_round": true } } } }"#,
    );
    let [frames, own] = &workload.tasks[..] else { panic!("two tasks") };
    assert_eq!((frames.deadline, frames.frame), (Some(16_000_000), true));
    assert_eq!((own.deadline, own.frame), (None, false));
    let waits = |task: &TaskSpec| task.program.iter().filter(|op| matches!(op, Op::SameRound(_))).count();
    assert_eq!((waits(frames), waits(own)), (2, 2));
    let listing = workload.listing().to_string();
    assert!(listing.contains(", deadline 16ms, frames\n"), "{listing}");
}
