// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who goes where, by tables; then with real threads, of processes that these tests start themselves.

use std::io::{BufRead as _, Write as _};
use std::path::Path;
use std::sync::{Arc, Barrier};

use super::places::{Job, Place, Places, clocks};
use super::*;
use crate::changes::{Change, Journal, Setting, left_behind, restore_left_behind};
use crate::cpus::CpuList;
use crate::host::{Host, Policy};
use crate::machine::{Cpu, Machine};
use crate::testing::{Running, Tree, cpus_of, has_two_cpus, pin, show, told, wait_until};

fn settings(text: &str) -> Vec<(String, String)> {
    let pair = |setting: &str| setting.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
    text.split_whitespace().filter_map(pair).collect()
}

fn request(text: &str) -> AffinityRequest {
    AffinityRequest::from_settings(&settings(text)).unwrap()
}

/// CPUs of these capacities, each a core of its own; 0: offline.
fn machine(capacities: &[u64]) -> Machine {
    let cpu = |(core, capacity): (usize, &u64)| Cpu {
        online: *capacity > 0,
        core: core as u64,
        capacity: *capacity,
        ..Cpu::default()
    };
    Machine { cpus: capacities.iter().enumerate().map(cpu).collect(), ..Machine::default() }
}

fn places(capacities: &[u64], settings: &str) -> Places {
    Places::of(&machine(capacities), &request(settings)).unwrap()
}

fn cpus(list: &str) -> CpuList {
    CpuList::parse(list).unwrap()
}

#[test]
fn settings_that_need_a_scheduler_are_refused_by_name() {
    let needs = |name: &str| {
        format!(
            "{name} needs a scheduler of its own, which sched_ext loads: affinities and clocks can do `isolate` and \
             `longest` only"
        )
    };
    let cases = [
        ("longest=true serial_first=true", needs("serial_first")),
        ("sorted=1", needs("sorted")),
        ("speed=true", needs("speed")),
        ("isolate=shared seniority_ms=1000", needs("seniority_ms")),
        ("isolate=some", "isolate=some: expected off, dedicated or shared".to_owned()),
        ("longest=yes", "longest=yes: expected true or false".to_owned()),
        ("isolate=shared os_cpu=-2", "os_cpu=-2: expected a number of at most 20000, and not below 0".to_owned()),
        ("isolate=shared os_mhz=fast", "os_mhz=fast: expected a whole number".to_owned()),
        ("longest=true os_cpu=1", AffinityError::NotIsolated.to_string()),
    ];
    for (text, expected) in cases {
        assert_eq!(AffinityRequest::from_settings(&settings(text)).unwrap_err().to_string(), expected, "{text}");
    }
}

#[test]
fn all_means_what_affinities_can_do_of_it() {
    let shared = request("all=true");
    assert_eq!((shared.isolate, shared.longest), (Some(crate::plan::Isolation::Shared), true));
    assert_eq!(request("isolate=dedicated os_cpu=-1 os_mhz=0 speed=false").os_mhz, None);
}

#[test]
fn a_system_thread_goes_to_the_os_cpu_if_it_may() {
    let cases = [
        ("isolate=dedicated", "0-3", Place::On(cpus("0"))),
        ("isolate=shared os_cpu=2", "0-3", Place::On(cpus("2"))),
        ("isolate=dedicated", "1", Place::Elsewhere),
        ("isolate=dedicated os_cpu=1", "0,2-3", Place::Elsewhere),
        ("longest=true", "0-3", Place::On(cpus("0-3"))),
    ];
    for (settings, had, place) in cases {
        assert_eq!(places(&[1024; 4], settings).system(&cpus(had)), place, "{settings}: {had}");
    }
}

/// CPU 3 is offline; a thread may use it when it comes back.
#[test]
fn applications_stay_off_a_dedicated_os_cpu_and_keep_their_own_wishes() {
    let cases = [
        ("isolate=dedicated", "0-3", None, Place::On(cpus("1-3"))),
        ("isolate=shared", "0-3", None, Place::On(cpus("0-3"))),
        ("isolate=dedicated", "0-1", None, Place::On(cpus("1"))),
        // Its only CPU is the OS CPU; or would be one that is offline.
        ("isolate=dedicated", "0", None, Place::Elsewhere),
        ("isolate=dedicated", "0,3", None, Place::Elsewhere),
        ("isolate=dedicated longest=true", "0-3", Some("2"), Place::On(cpus("2"))),
        ("isolate=dedicated longest=true", "1", Some("2"), Place::On(cpus("1"))),
    ];
    for (settings, had, job, place) in cases {
        let job = job.map(cpus);
        let places = places(&[1024, 512, 1024, 0], settings);
        assert_eq!(places.application(&cpus(had), job.as_ref()), place, "{settings}: {had} {job:?}");
    }
}

#[test]
fn machines_that_cannot_isolate_say_so() {
    let wrong = |capacities: &[u64], text| Places::of(&machine(capacities), &request(text)).unwrap_err().to_string();
    assert_eq!(wrong(&[1024, 0], "isolate=dedicated"), "isolate=dedicated leaves applications no CPU: one is online");
    assert_eq!(wrong(&[1024, 1024, 0], "isolate=shared os_cpu=2"), "os_cpu=2: that CPU is not online; these are: 0-1");
    assert_eq!(places(&[1024, 0], "isolate=shared").os_cpu, None);
    assert_eq!(places(&[0, 1024, 1024], "isolate=dedicated").os_cpu, Some(1));
}

fn jobs(lengths: &[u64]) -> Vec<Job> {
    let job = |(at, length): (usize, &u64)| Job { tid: 100 + at as u32, process: 100, start_time: 7, length: *length };
    lengths.iter().enumerate().map(job).collect()
}

fn lists(places: &Places, jobs: &[Job]) -> String {
    places.jobs(jobs).values().map(|cpus| format!("{cpus} ")).collect::<String>().trim().to_owned()
}

/// The paper's own example: lengths 7,7,7,7,6,6,5,5 on 4 fast and 4 slow CPUs.
#[test]
fn the_longest_get_the_fastest_cpus_one_each() {
    let half_half = places(&[512, 512, 512, 512, 1024, 1024, 1024, 1024], "longest=true");
    assert_eq!(lists(&half_half, &jobs(&[7, 7, 7, 7, 6, 6, 5, 5])), "4-7 4-7 4-7 4-7 0-3 0-3 0-3 0-3");
    assert_eq!(lists(&half_half, &jobs(&[1, 9, 2, 3, 4])), "0-3 4-7 4-7 4-7 4-7");
    // Of six equal ones those who came first.
    assert_eq!(lists(&half_half, &jobs(&[5; 6])), "4-7 4-7 4-7 4-7 0-3 0-3");
    assert_eq!(lists(&half_half, &jobs(&[1])), "4-7");
}

#[test]
fn a_middle_kind_gets_the_middle_and_a_dedicated_os_cpu_nobody() {
    let capacities = [1024, 400, 1024, 700, 700, 400];
    assert_eq!(lists(&places(&capacities, "longest=true"), &jobs(&[6, 5, 4, 3, 2, 1])), "0,2 0,2 3-4 3-4 1,5 1,5");
    let dedicated = places(&capacities, "longest=true isolate=dedicated");
    assert_eq!(lists(&dedicated, &jobs(&[6, 5, 4, 3])), "2 3-4 3-4 1,5");
    assert_eq!(lists(&places(&[1024; 4], "longest=true"), &jobs(&[2, 1])), "");
}

#[test]
fn lengths_are_compared_within_a_process_only() {
    let mut jobs = jobs(&[100, 90, 2, 1]);
    jobs[2].process = 7;
    jobs[3].process = 7;
    assert_eq!(lists(&places(&[1024, 512], "longest=true"), &jobs), "0 1 0 1");
}

fn policy(name: &str, cpus: &[usize], min_khz: u64) -> Policy {
    Policy {
        name: name.to_owned(),
        cpus: cpus.to_vec(),
        driver: String::new(),
        governor: "performance".to_owned(),
        governors_available: Vec::new(),
        min_khz,
        max_khz: 3_000_000,
        lowest_khz: 500_000,
        highest_khz: 3_000_000,
        mode_file: None,
    }
}

#[test]
fn clocks_that_are_asked_for_become_limits_of_policies() {
    let mut machine = machine(&[1024; 4]);
    // CPUs 0 and 1 are threads of a core.
    machine.cpus[1].core = 0;
    let limits = |text: &str, policies: &[Policy]| {
        let changes = clocks(&machine, policies, &request(text), 0).into_iter();
        changes.map(|Change { setting, to }| format!("{setting} {to}")).collect::<Vec<_>>()
    };
    let policies = [policy("policy0", &[0, 1], 500_000), policy("policy2", &[2, 3], 2_000_000)];
    assert_eq!(limits("isolate=dedicated os_mhz=1500", &policies), ["the highest clock of policy0 1500000"]);
    // A lowest clock above the limit would keep it up.
    assert_eq!(
        limits("isolate=shared rest_mhz=1800", &policies),
        ["the lowest clock of policy2 1800000", "the highest clock of policy2 1800000"]
    );
    // Clocks that there are not become the nearest that there are.
    assert_eq!(limits("isolate=shared os_mhz=1 rest_mhz=9000", &policies)[0], "the highest clock of policy0 500000");
    assert_eq!(limits("isolate=dedicated", &policies), Vec::<String>::new());
    // Who shares a clock with a CPU that is to be faster, or is not to be limited, is as fast.
    let one = [policy("policy0", &[0, 1, 2, 3], 500_000)];
    assert_eq!(limits("isolate=dedicated os_mhz=1500", &one), Vec::<String>::new());
    assert_eq!(limits("isolate=shared os_mhz=1500 rest_mhz=900", &one), ["the highest clock of policy0 1500000"]);
}

/// Files of a machine of two CPUs, the first the faster one, without any process.
fn two_cpus() -> Tree {
    let tree = Tree::new();
    tree.hide(std::process::id());
    tree.write("sys/devices/system/cpu/possible", "0-1\n");
    tree.write("sys/devices/system/cpu/online", "0-1\n");
    for cpu in [0, 1] {
        tree.write(&format!("sys/devices/system/cpu/cpu{cpu}/cpu_capacity"), ["1024\n", "512\n"][cpu]);
        for (file, text) in [
            ("affected_cpus", cpu.to_string().as_str()),
            ("related_cpus", &cpu.to_string()),
            ("scaling_driver", "fake"),
            ("scaling_governor", "performance"),
            ("scaling_min_freq", "500000"),
            ("scaling_max_freq", "2000000"),
            ("cpuinfo_min_freq", "500000"),
            ("cpuinfo_max_freq", "2000000"),
        ] {
            tree.write(&format!("sys/devices/system/cpu/cpufreq/policy{cpu}/{file}"), text);
        }
    }
    tree.write("sys/devices/virtual/workqueue/cpumask", "3\n");
    tree.write("proc/irq/default_smp_affinity", "3\n");
    tree.write("proc/irq/9/smp_affinity_list", "0-1\n");
    tree
}

/// What of the machine was changed, and who is where.
fn state(tree: &Tree, processes: &[&Running]) -> Vec<String> {
    let files = [
        "sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq",
        "sys/devices/system/cpu/cpufreq/policy1/scaling_max_freq",
        "sys/devices/virtual/workqueue/cpumask",
        "proc/irq/9/smp_affinity_list",
    ];
    let files = files.iter().map(|file| tree.read(file).trim().trim_start_matches("0000000").to_owned());
    files.chain(processes.iter().map(|process| process.cpus())).collect()
}

const ROLE_OWNER: &str = "affinity::tests::role_of_an_owner";

/// Isolates until it is told to end, by the end of its input.
#[test]
#[ignore = "other tests run this as a process of its own"]
fn role_of_an_owner() {
    let Some((root, application)) = told() else { return };
    show(&root, std::process::id());
    let journal = Journal::begin(root.as_path(), &root.join("run/tandem")).unwrap();
    let request = request("isolate=dedicated os_mhz=1000");
    let mut affinity = Affinity::start(&Host::probe(&root).unwrap(), &request, journal).unwrap();
    assert!(affinity.enter_application(application.parse().unwrap()).unwrap());
    println!("owner: {:?}", affinity.states());
    let mut child = None;
    for line in std::io::stdin().lock().lines() {
        if line.unwrap() == "start" {
            let started = child.insert(Running::script("echo; cat"));
            show(&root, started.pid());
            affinity.tick().unwrap();
            println!("owner: {}", started.cpus());
        } else {
            affinity.tick().unwrap();
            println!("owner: {:?}", affinity.counters());
        }
    }
    println!("owner: {}", affinity.stop().given_back);
    println!("owner: {}", child.map(|child| child.cpus()).unwrap_or_default());
}

/// A daemon that may run anywhere, one that belongs on CPU 1, and a program that spins.
struct Scene {
    tree: Tree,
    daemon: Running,
    pinned: Running,
    program: Running,
    owner: Running,
}

impl Scene {
    fn begin() -> Self {
        let tree = two_cpus();
        let (daemon, pinned) =
            (Running::script("echo; read word; sh -c 'echo; read word; true'; true"), Running::script("echo; cat"));
        let program = Running::script("while :; do :; done & echo $!; read word; kill $!");
        pin(pinned.pid(), 1);
        for running in [&daemon, &pinned] {
            tree.show(running.pid());
        }
        tree.show_family(program.pid());
        let mut owner = Running::role(ROLE_OWNER, tree.root(), &program.pid().to_string());
        let states = owner.hear_of("owner:");
        assert!(states.contains(r#"("isolate_state", "active"), ("clocks_state", "active")"#), "{states}");
        Self { tree, daemon, pinned, program, owner }
    }

    fn state(&self) -> Vec<String> {
        state(&self.tree, &[&self.daemon, &self.pinned, &self.program, &self.owner])
    }
}

#[test]
fn noise_goes_to_the_os_cpu_and_the_program_off_it_until_the_end() {
    if !has_two_cpus() {
        return;
    }
    let all = cpus_of(0);
    let mut scene = Scene::begin();
    assert_eq!(scene.state(), ["1000000", "2000000", "1", "0", "0", "1", "1", "0"]);
    // The daemon starts another process, which the owner finds in its place.
    scene.daemon.say("go");
    scene.daemon.hear();
    scene.tree.show_family(scene.daemon.pid());
    scene.owner.say("tick");
    let counters = scene.owner.hear_of("owner:");
    for counter in ["isolate_elsewhere", "isolate_interrupts"] {
        assert!(counters.contains(&format!("({counter:?}, 1)")), "{counters}");
    }
    // What the owner itself starts is the application's, though it inherits the OS CPU.
    scene.owner.say("start");
    assert_eq!(scene.owner.hear_of("owner:"), "1");
    scene.owner.end();
    scene.owner.hear_of("owner:");
    assert_eq!(scene.owner.hear_of("owner:"), all);
    scene.tree.hide(scene.owner.pid());
    let after = state(&scene.tree, &[&scene.daemon, &scene.pinned, &scene.program]);
    assert_eq!(after, ["2000000", "2000000", "3", "0-1", &all, "1", &all]);
    assert_eq!(family(&scene), vec![all; 3]);
}

/// The CPUs of the daemon's child, of the program and of what spins for it.
fn family(scene: &Scene) -> Vec<String> {
    let others = [scene.daemon.pid(), scene.pinned.pid(), scene.owner.pid()];
    let mut processes = crate::tasks::Tasks::below(scene.tree.root()).processes();
    processes.retain(|pid| !others.contains(pid) && Path::new(&format!("/proc/{pid}")).exists());
    processes.into_iter().map(cpus_of).collect()
}

#[test]
fn after_kill_9_somebody_else_gives_everything_back() {
    if !has_two_cpus() {
        return;
    }
    let all = cpus_of(0);
    let mut scene = Scene::begin();
    scene.daemon.say("go");
    scene.daemon.hear();
    scene.tree.show_family(scene.daemon.pid());
    scene.owner.kill();
    scene.tree.hide(scene.owner.pid());
    let before = state(&scene.tree, &[&scene.daemon, &scene.pinned, &scene.program]);
    assert_eq!(before, ["1000000", "2000000", "1", "0", "0", "1", "1"]);
    // The daemon's child is in no journal: it inherited CPU 0.
    assert_eq!(family(&scene).iter().filter(|cpus| *cpus == "0").count(), 1);
    let left = left_behind(scene.tree.root(), &scene.tree.run()).unwrap().dead;
    assert!(left[0].changes.iter().any(|left| matches!(left.setting, Setting::IrqAffinity { irq: 9 })));
    let restored = restore_left_behind(scene.tree.root(), &scene.tree.run()).unwrap().dead;
    assert_eq!((restored[0].1.kept.len(), restored[0].1.stuck.len()), (0, 0));
    let after = state(&scene.tree, &[&scene.daemon, &scene.pinned, &scene.program]);
    assert_eq!(after, ["2000000", "2000000", "3", "0-1", &all, "1", &all]);
    assert_eq!(family(&scene), vec![all; 3]);
    assert_eq!(left_behind(scene.tree.root(), &scene.tree.run()).unwrap().dead, []);
}

const ROLE_PROGRAM: &str = "affinity::tests::role_of_a_program";

/// Has three threads more, says their numbers, and ends with its input, or one thread for each line of it.
#[test]
#[ignore = "other tests run this as a process of its own"]
fn role_of_a_program() {
    if told().is_none() {
        return;
    }
    let ends: Vec<Arc<Barrier>> = (0..3).map(|_| Arc::new(Barrier::new(2))).collect();
    let threads: Vec<_> = ends
        .iter()
        .map(|end| {
            let (end, (sender, receiver)) = (end.clone(), std::sync::mpsc::channel());
            let thread = std::thread::spawn(move || {
                sender.send(nix::unistd::gettid()).unwrap();
                end.wait();
            });
            (receiver.recv().unwrap(), thread)
        })
        .collect();
    let numbers: Vec<String> = threads.iter().map(|(tid, _)| tid.to_string()).collect();
    println!("threads: {}", numbers.join(" "));
    let mut lines = std::io::stdin().lock().lines();
    for (end, (_, thread)) in ends.iter().zip(threads) {
        let ended = lines.next();
        end.wait();
        thread.join().unwrap();
        if ended.is_some() {
            println!("threads: one less");
            std::io::stdout().flush().unwrap();
        }
    }
}

#[test]
fn the_longest_thread_is_on_the_fast_cpu_and_the_next_one_follows_it() {
    if !has_two_cpus() {
        return;
    }
    let (tree, all) = (two_cpus(), cpus_of(0));
    let mut program = Running::role(ROLE_PROGRAM, tree.root(), "");
    let threads: Vec<u32> = program.hear_of("threads:").split(' ').map(|tid| tid.parse().unwrap()).collect();
    // The journal is this process's; without isolation nobody else is moved.
    tree.show(std::process::id());
    tree.show(program.pid());
    let journal = Journal::begin(tree.root(), &tree.run()).unwrap();
    let host = Host::probe(tree.root()).unwrap();
    let mut affinity = Affinity::start(&host, &request("longest=true"), journal).unwrap();
    assert!(affinity.enter_application(program.pid()).unwrap());
    assert!(!affinity.enter_application(999_999_999).unwrap());
    let cpus = || threads.iter().copied().map(cpus_of).collect::<Vec<_>>();
    assert_eq!(cpus(), vec![all.clone(); 3]);
    for (tid, length) in threads.iter().zip([3, 2, 1]) {
        affinity.hint(*tid, length).unwrap().unwrap();
    }
    assert_eq!(cpus(), ["0", "1", "1"]);
    let unknown = affinity.hint(std::process::id(), 5).unwrap().unwrap_err();
    assert_eq!(unknown, NotHinted::NoApplication { tid: std::process::id() });
    program.say("the first one ends");
    assert_eq!(program.hear_of("threads:"), "one less");
    // A thread that was joined stays in sight until the kernel has done with it.
    wait_until(|| !Path::new(&format!("/proc/{}/task/{}", program.pid(), threads[0])).exists());
    affinity.tick().unwrap();
    assert_eq!([threads[1], threads[2]].map(cpus_of), ["0", "1"]);
    affinity.hint(threads[1], 0).unwrap().unwrap();
    assert_eq!([threads[1], threads[2]].map(cpus_of), [all.clone(), "0".to_owned()]);
    assert_eq!(affinity.stop().given_back, 2);
    assert_eq!([threads[1], threads[2]].map(cpus_of), [all.clone(), all]);
}
