// SPDX-License-Identifier: GPL-2.0-only
//! The program as a process: exit statuses, pipes, signals, and what is left on disk.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::command::program;

fn tandem(arguments: &[&str]) -> Output {
    program().args(arguments).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// How long a test waits for what must come: nothing takes so long unless it never comes, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(300);

fn wait_until(mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "waited for {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the end of a process that nothing but a signal ends so early; of one that goes on the test makes an end.
fn ended(mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            panic!("it goes on for {PATIENCE:?}: {}", stderr(&child.wait_with_output().unwrap()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

#[test]
fn help_succeeds_and_shows_examples() {
    for command in [
        &["--help"][..],
        &["simulate", "--help"],
        &["why", "--help"],
        &["compare", "--help"],
        &["explain", "--help"],
        &["machine", "--help"],
        &["workload", "--help"],
        &["analyze", "--help"],
        &["run", "--help"],
        &["attach", "--help"],
        &["status", "--help"],
        &["hint", "--help"],
        &["restore", "--help"],
    ] {
        let output = tandem(command);
        assert_eq!(output.status.code(), Some(0));
        assert!(String::from_utf8(output.stdout).unwrap().contains("Examples:"), "{command:?}");
    }
}

#[test]
fn what_cannot_be_printed_is_a_failure_whatever_it_is() {
    let commands = [
        &["--help"][..],
        &["-h"],
        &["--version"],
        &["help", "compare"],
        &["compare", "--help"],
        &["completions", "bash"],
        &["schema", "compare"],
        &["machine", "list"],
        &["machine", "show", "hikey960"],
        &["workload", "schbench"],
        &["scheduler", "show", "tandem"],
    ];
    for command in commands {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = program().args(command).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{command:?}: {}", stderr(&output));
        assert_eq!(stderr(&output), "error: standard output: No space left on device (os error 28)\n", "{command:?}");
    }
}

/// The entries of a store, by name.
fn entries(store: &Path) -> Vec<PathBuf> {
    let within = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let mut entries: Vec<PathBuf> = within(store).iter().flat_map(|folder| within(folder)).collect();
    entries.sort();
    entries
}

#[test]
fn entries_of_the_store_under_each_others_names_are_told_and_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let compare = ["compare", "forkjoin", "-m", "hikey960", "-s", "fair", "-s", "fair+powersave", "--runs", "2"];
    let compare = [&compare[..], &["--duration", "5ms", "--no-alone"]].concat();
    let run = || program().args(&compare).env("TANDEM_STORE", &store).output().unwrap();
    let first = run();
    assert_eq!((first.status.code(), stderr(&first).as_str()), (Some(0), ""));
    let kept = entries(&store);
    assert_eq!(kept.len(), 4);
    let contents: Vec<Vec<u8>> = kept.iter().map(|path| fs::read(path).unwrap()).collect();
    for (path, other) in kept.iter().zip(contents.iter().rev()) {
        fs::write(path, other).unwrap();
    }
    let second = run();
    assert_eq!((second.status.code(), &second.stdout), (Some(0), &first.stdout));
    let told = format!(
        "warning: the store of finished runs had entries that are damaged, or of other runs than their names say: {}",
        kept[0].display()
    );
    assert!(
        stderr(&second).starts_with(&format!("{told} and 3 more; these runs were made again")),
        "{}",
        stderr(&second)
    );
    let third = run();
    assert_eq!((third.stdout, String::from_utf8(third.stderr).unwrap()), (first.stdout, String::new()));
}

#[test]
fn what_a_kernel_would_not_do_as_asked_is_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let hikey = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../machines/hikey960.toml")).unwrap();
    let gap = folder.path().join("gap.toml");
    fs::write(&gap, hikey.replacen("name = \"big\"\n", "name = \"big\"\nnode = 2\n", 1)).unwrap();
    let gap = gap.to_str().unwrap();
    let run = |arguments: &[&str]| tandem(&[&["simulate", "forkjoin", "--duration", "1ms"], arguments].concat());
    let refused = run(&["-m", "i9-12900k", "-g", "intel_pstate=performance,epp=power"]);
    assert_eq!(refused.status.code(), Some(0));
    assert!(
        stderr(&refused)
            .starts_with("warning: intel_pstate=performance,epp=power: under performance the kernel refuses")
    );
    for output in [tandem(&["machine", "show", gap]), run(&["-m", gap])] {
        let said = stderr(&output) + std::str::from_utf8(&output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{said}");
        let words = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("gap: node 1 has no CPUs: Linux places threads"), "{said}");
    }
    let sound = run(&["-m", "i9-12900k", "-g", "intel_pstate=epp=power"]);
    assert_eq!((sound.status.code(), stderr(&sound).as_str()), (Some(0), ""));
}

#[test]
fn mistakes_in_options_have_status_2_and_the_nearest_name() {
    for (arguments, expected) in [
        (&["simulate", "w.json", "-m", "hikey960", "-s", "fiar"][..], "`fair`"),
        (&["simulate", "w.json", "-m", "hikey960", "-g", "shedutil"], "`schedutil`"),
        (&["simulate", "w.json", "-m", "hikey960", "--set", "hertz=1"], "hz"),
        (&["simulate", "w.json"], "--machine"),
        (&["simulat"], "'simulate'"),
        (&["simulate", "w.json", "-m", "hikey960", "--seed", "-1"], "'--seed <N>'"),
        (&["simulate", "w.json", "-m", "hikey960", "--duration", "-10s"], "'--duration <TIME>'"),
        (&["simulate", "w.json", "-m", "hikey960", "--json=a", "--trace", "a"], "--json and --trace"),
        (&["compare", "w.json", "-m", "hikey960", "-s", "fair", "--runs", "0"], "1..=100000"),
        (&["workload", "phasis"], "'phases'"),
        (&["workload", "phases", "--labels", "1:4"], "'--label'"),
        (&["workload", "phases", "--threads", "0"], "--threads 0: expected 1 to 1024"),
        (&["workload", "global-sum", "--section", "-1"], "--section -1: expected 1 to 99"),
        (&["workload", "matmul", "--threads", "7"], "even"),
        (&["analyze", "--cpus", "1"], "--cpus: the model needs at least 2 cores, not 1"),
        (&["analyze", "--asymmetry", "0.5"], "--asymmetry: the asymmetry must be a number from 1"),
        (&["analyze", "--asymmetry", "-1"], "from 1 (all cores alike) to 1024, not -1"),
        (&["analyze", "--cpus", "4", "--applications", "5"], "--applications: the model covers 2 to 4"),
        (&["analyze", "--cpus", "4", "--machine", "smp-8"], "'--machine <M>'"),
        (&["analyze", "--machine", "hikey960"], "hikey960: the model does not cover it: of 8 CPUs 4 share"),
        (&["analyze", "--simulate", "10s"], "--machine"),
        (&["compare", "w.json", "-m", "hikey960", "-s", "fair", "--runs", "-3"], "'--runs <N>'"),
        (&["run", "--lonest", "--", "true"], "'--longest'"),
        (&["run", "--set", "serial_frist=true", "--", "true"], "serial_first"),
        (&["attach", "--metrics", "0.0.0.0:9435"], "others can reach"),
        (&["hint", "0"], "'<LENGTH>'"),
    ] {
        let output = tandem(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty());
        assert!(stderr(&output).starts_with("error: "), "{}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
}

#[test]
fn mistakes_in_files_have_status_2_and_are_printed_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.json");
    fs::write(&path, "{\n  \"tasks\": { \"a\": { \"run\": } }\n}\n").unwrap();
    let path = path.to_str().unwrap();
    let output = tandem(&["simulate", path, "-m", "hikey960"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with(&format!("error: {path}:2:")), "{}", stderr(&output));

    let output = tandem(&["machine", "show", "hikey906"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("hikey960"), "{}", stderr(&output));
}

#[test]
fn a_file_that_cannot_be_written_has_status_1() {
    let output = tandem(&["simulate", "pipeline", "-m", "hikey960", "--trace", "/nonexistent/t.perfetto"]);
    assert_eq!(output.status.code(), Some(1));
    let last = "error: /nonexistent/t.perfetto: cannot be written: No such file or directory (os error 2)\n";
    assert!(stderr(&output).ends_with(last), "{}", stderr(&output));
}

#[test]
fn a_simulation_that_cannot_end_has_status_3_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("stuck.json");
    fs::write(&workload, r#"{ "tasks": { "a": { "loop": 1, "run": 100, "suspend": "a" } } }"#).unwrap();
    let trace = folder.path().join("t.perfetto");
    let output =
        tandem(&["simulate", workload.to_str().unwrap(), "-m", "hikey960", "--trace", trace.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(names(folder.path()), ["stuck.json"]);
}

#[test]
fn a_reader_that_leaves_early_is_no_failure() {
    let mut child = program()
        .args(["machine", "show", "hikey960", "--sources"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(stderr(&output), "");
}

/// Starts a simulation of a day in `folder`, by way of a shell that does `first`, and waits until its trace is begun. What
/// runs in the background may ignore interrupts, and would hand that on; and what nobody ends must not fill the disk.
fn long_run(folder: &Path, first: &str) -> Child {
    let workload = folder.join("long.json");
    fs::write(&workload, r#"{ "tasks": { "a": { "instance": 64, "loop": -1, "run": 10, "sleep": 10 } } }"#).unwrap();
    let child = Command::new("env")
        .args(["--default-signal=INT", "sh", "-c"])
        .args([&format!("ulimit -f 4000000; {first} exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_tandem"), "simulate"])
        .arg(workload)
        .args(["-m", "hikey960", "--duration", "24h", "--trace"])
        .arg(folder.join("t.perfetto"))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| names(folder).len() == 2);
    child
}

/// Whether a process has ended, and nobody has asked yet how.
fn is_zombie(child: &Child) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    stat.rsplit_once(") ").unwrap().1.starts_with('Z')
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
}

/// The length of the trace of [`long_run`].
fn traced(folder: &Path) -> u64 {
    let size = |entry: fs::DirEntry| entry.metadata().map_or(0, |about| about.len());
    fs::read_dir(folder).unwrap().flatten().map(size).max().unwrap_or(0)
}

/// The run would simulate a day, for which it takes hours.
#[test]
fn an_interrupt_ends_the_run_at_once_with_130_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let child = long_run(folder.path(), "");
    // Only a run that has begun can say how far it came: its trace grows.
    wait_until(|| traced(folder.path()) > 4096);
    signal(&child, "-INT");
    let output = ended(child);
    assert_eq!((output.status.code(), output.status.signal()), (Some(130), None));
    let said = stderr(&output);
    assert!(said.contains("interrupted: long: ") && said.ends_with(" at most\n"), "{said}");
    assert_eq!(names(folder.path()), ["long.json"]);
}

/// The command measures for five seconds at least, mostly asleep. Whatever ends it, what it held is given back, which takes a moment.
#[test]
fn a_signal_ends_a_calibration_in_order_and_nothing_is_written() {
    for (name, status, said) in [("-INT", 130, "error: interrupted: "), ("-TERM", 143, "warning: ended by a signal: ")]
    {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("this.toml");
        // What runs in the background may ignore interrupts, and would hand that on.
        let child = Command::new("env")
            .args([
                "--default-signal=INT",
                env!("CARGO_BIN_EXE_tandem"),
                "machine",
                "detect",
                "--calibrate",
                "--output",
            ])
            .arg(&output)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The file that becomes the output is made before anything is measured; nothing but a measurement sleeps for a time.
        wait_until(|| !names(folder.path()).is_empty());
        let sleeps_at = format!("/proc/{}/wchan", child.id());
        wait_until(|| fs::read_to_string(&sleeps_at).unwrap().contains("nanosleep"));
        signal(&child, name);
        let ended = ended(child);
        assert_eq!(ended.status.code(), Some(status), "{}", stderr(&ended));
        let expected = format!("{said}clocks and idle states are as they were before; nothing was written");
        assert!(stderr(&ended).contains(&expected), "{}", stderr(&ended));
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}

#[test]
fn a_calibration_whose_output_would_be_refused_does_not_begin() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("letter.toml");
    fs::write(&output, "mine").unwrap();
    let child = program()
        .args(["machine", "detect", "--calibrate", "--output"])
        .arg(&output)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // It looks at meters asleep, for seconds.
    let sleeps_at = format!("/proc/{}/wchan", child.id());
    while let Ok(at) = fs::read_to_string(&sleeps_at)
        && !is_zombie(&child)
    {
        assert!(!at.contains("nanosleep"), "it measures");
    }
    let refused = ended(child);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("there is a file that is no machine"), "{}", stderr(&refused));
    assert_eq!(fs::read_to_string(&output).unwrap(), "mine");
}

#[test]
fn an_interrupted_reproduction_prints_what_is_finished_and_leaves_no_documents() {
    let folder = tempfile::tempdir().unwrap();
    let child = Command::new("env")
        .args([
            "--default-signal=INT",
            env!("CARGO_BIN_EXE_tandem"),
            "reproduce",
            "--seeds",
            "1000",
            "--jobs",
            "1",
            "--write",
        ])
        .arg(folder.path())
        .env("TANDEM_STORE", "off")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_until(|| !names(folder.path()).is_empty());
    signal(&child, "-INT");
    let output = ended(child);
    assert_eq!((output.status.code(), output.status.signal()), (Some(130), None));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.trim_start().contains("Interrupted: missing are asymmetry: "), "{text}");
    assert!(stderr(&output).starts_with("error: interrupted: missing are asymmetry: "), "{}", stderr(&output));
    assert_eq!(names(folder.path()), [""; 0]);
}

/// A comparison of so many runs of each of two schedulers, whose store is `store`.
fn comparison(runs: u32, store: &Path) -> Command {
    let mut command = program();
    command.args(["compare", "pipeline", "-m", "hikey960", "-s", "fair", "-s", "fair+performance"]);
    command.args(["--runs", &runs.to_string(), "--no-alone", "--json"]).env("TANDEM_STORE", store);
    command
}

#[test]
fn an_interrupted_search_says_how_far_it_came() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("runs");
    let child = Command::new("env")
        .args([
            "--default-signal=INT",
            env!("CARGO_BIN_EXE_tandem"),
            "tune",
            "forkjoin",
            "-m",
            "hikey960",
            "-s",
            "tandem",
        ])
        .args(["--trials", "100000"])
        .env("TANDEM_STORE", &store)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A finished run is kept in a folder of the store.
    wait_until(|| store.exists() && names(&store).len() > 1);
    signal(&child, "-INT");
    let output = ended(child);
    assert_eq!(output.status.code(), Some(130));
    let said = stderr(&output);
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("interrupted: ") && last.contains(" runs were done"), "{said}");
    assert!(output.stdout.is_empty(), "half of a search is no result");
}

#[test]
fn what_a_killed_comparison_had_finished_the_next_one_need_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, store] = ["whole", "runs"].map(|name| folder.path().join(name));
    let without = comparison(30, "off".as_ref()).output().unwrap();
    assert_eq!(without.status.code(), Some(0), "{}", stderr(&without));
    assert_eq!(comparison(30, &whole).output().unwrap().stdout, without.stdout);
    let whole = kept(&whole);
    assert_eq!(whole.len(), 60);
    // The same runs, and thousands that nobody waits for: it is killed, however late that is.
    let mut child = comparison(100_000, &store).stdout(Stdio::null()).spawn().unwrap();
    let of_these = || whole.keys().filter(|name| store.join(name).exists()).collect::<Vec<_>>();
    wait_until(|| of_these().len() >= 3);
    signal(&child, "-KILL");
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    // One of those that were finished is damaged, too.
    let before = of_these();
    let damaged = store.join(before[0]);
    let bytes = fs::read(&damaged).unwrap();
    fs::write(&damaged, &bytes[..100]).unwrap();
    // A run that is done again is another file.
    let files = || before[1..].iter().map(|name| fs::metadata(store.join(name)).unwrap().ino()).collect::<Vec<_>>();
    let files_before = files();
    let resumed = comparison(30, &store).output().unwrap();
    assert_eq!(resumed.stdout, without.stdout);
    assert_eq!(files(), files_before);
    let after = kept(&store);
    assert!(whole.iter().all(|(name, bytes)| after.get(name) == Some(bytes)));
}

/// The runs that a store has, by their names in it.
fn kept(store: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let below = |folder: &Path| fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    let files = below(store).into_iter().filter(|path| path.is_dir()).flat_map(|folder| below(&folder));
    let whole = files.filter(|path| !path.file_name().unwrap().to_string_lossy().starts_with('.'));
    whole.map(|path| (path.strip_prefix(store).unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

#[test]
fn a_store_that_was_asked_for_and_cannot_be_had_is_a_mistake() {
    let output = comparison(30, "/dev/null/runs".as_ref()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: TANDEM_STORE=/dev/null/runs: cannot be made: "), "{}", stderr(&output));
    let output = comparison(30, "off".as_ref()).env("TANDEM_STORE_SIZE", "much").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: TANDEM_STORE_SIZE=much is no size"), "{}", stderr(&output));
}

#[test]
fn a_hangup_that_is_ignored_stays_ignored_and_termination_is_clean() {
    let folder = tempfile::tempdir().unwrap();
    let child = long_run(folder.path(), "trap '' HUP;");
    signal(&child, "-HUP");
    // It goes on: its trace grows by far more than was under way.
    let at_signal = traced(folder.path());
    wait_until(|| traced(folder.path()) > at_signal + (1 << 20));
    signal(&child, "-TERM");
    assert_eq!(ended(child).status.code(), Some(143));
    assert_eq!(names(folder.path()), ["long.json"]);
}

#[test]
fn what_a_killed_run_left_the_next_one_removes_but_not_what_a_running_one_writes() {
    let folder = tempfile::tempdir().unwrap();
    let report = format!("--json={}", folder.path().join("report.json").display());
    let run = || assert_eq!(tandem(&["simulate", "pipeline", "-m", "hikey960", &report]).status.code(), Some(0));
    let mut child = long_run(folder.path(), "");
    run();
    let is_temporary = |name: &String| name.ends_with(".tmp");
    let left: Vec<String> = names(folder.path()).into_iter().filter(is_temporary).collect();
    assert!(left.len() == 1 && left[0].starts_with(&format!(".tandem-{}-", child.id())), "{left:?}");
    signal(&child, "-KILL");
    child.wait().unwrap();
    assert_eq!(names(folder.path()).into_iter().filter(is_temporary).collect::<Vec<_>>(), left);
    run();
    assert!(!names(folder.path()).iter().any(is_temporary));
}

#[test]
fn standard_output_is_written_through_by_its_name_also_where_it_is_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.txt");
    let run = |json: &str| {
        fs::write(&path, "").unwrap();
        let file = fs::File::options().append(false).write(true).open(&path).unwrap();
        let arguments = ["simulate", "pipeline", "-m", "hikey960", json];
        let child = program().args(arguments).stdout(file).output().unwrap();
        (child.status.code(), stderr(&child), fs::read_to_string(&path).unwrap())
    };
    let (status, _, text) = run("--json=/dev/stdout");
    assert_eq!(status, Some(0));
    let (json, summary) = text.split_once("\n}\n").unwrap();
    assert!(json.starts_with("{\n  \"schema\": 1,") && summary.starts_with("pipeline on hikey960"), "{text}");
    let (status, error, text) = run(&format!("--json={}", path.display()));
    assert_eq!((status, text.as_str()), (Some(2), ""));
    assert!(error.contains("is where standard output goes, too"), "{error}");
}

#[test]
fn powersave_and_performance_are_said_to_be_the_drivers_where_it_has_its_own() {
    let warned = |machine: &str, governor: &str| {
        let output = tandem(&["simulate", "pipeline", "-m", machine, "-g", governor]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output)
            .contains(&format!("governor `{governor}` is on {machine} that of the machine's driver, `intel_pstate="))
    };
    assert!(warned("i9-12900k", "powersave") && warned("i9-12900k", "performance"));
    assert!(!warned("i9-12900k", "schedutil") && !warned("i9-12900k", "passive:powersave"));
    assert!(!warned("hikey960", "powersave"));
}

#[test]
fn a_governor_that_the_driver_lacks_is_refused_with_those_that_it_has() {
    for machine in ["hikey960", "i9-12900k"] {
        let output = tandem(&["simulate", "pipeline", "-m", machine, "-s", "fair+amd-pstate"]);
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains(&format!("{machine} has ")) && stderr(&output).contains("; it offers `"));
    }
}

#[test]
fn a_clock_of_the_machine_is_taken_with_or_without_its_unit() {
    for clock in ["1400MHz", "1400000", "533MHz", "2362MHz"] {
        let output = tandem(&["simulate", "pipeline", "-m", "hikey960", "-g", &format!("userspace={clock}")]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    }
}

#[test]
fn a_workload_that_standard_input_is_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("w.json");
    let text = r#"{ "tasks": { "a": { "loop": 1, "run": 10 } } }"#;
    fs::write(&path, text).unwrap();
    let json = format!("--json={}", path.display());
    let mut command = program();
    command.args(["simulate", "-", "-m", "hikey960", "--force", &json]).stdin(fs::File::open(&path).unwrap());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("is read as the workload"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn machines_are_listed() {
    let output = tandem(&["machine", "list"]);
    assert_eq!(output.status.code(), Some(0));
    let lines: Vec<String> = BufReader::new(output.stdout.as_slice()).lines().map(Result::unwrap).collect();
    assert!(lines.iter().any(|line| line.starts_with("hikey960")), "{lines:?}");
}

#[test]
fn noise_alone_has_no_fairness_and_no_difference_too_small_to_print() {
    let folder = tempfile::tempdir().unwrap();
    let workload = folder.path().join("noise.json");
    let text = r#"{ "tasks": { "a": { "loop": 100, "run": 10, "sleep": 1000, "tandem": { "system": true } } } }"#;
    fs::write(&workload, text).unwrap();
    let pairs = ["-s", "fair", "-s", "fair+powersave", "--runs", "2"];
    let output = tandem(&[&["compare", workload.to_str().unwrap(), "-m", "smp-8", "--quiet"][..], &pairs].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("fairness was not measured: the workload has no application"), "{text}");
    assert!(text.contains("(×1.000 ± 0.000) no difference in energy is shown"), "{text}");
    assert!(!text.contains("1.000 ± 0.000 times"), "{text}");
}

/// What `arguments` print when `input` is their standard input.
fn piped(arguments: &[&str], input: &[u8]) -> Output {
    let mut child =
        program().args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    child.wait_with_output().unwrap()
}

#[test]
fn a_workload_comes_through_a_pipe() {
    let file = tandem(&["workload", "iterations", "--work", "1ms"]).stdout;
    let simulated =
        piped(&["simulate", "-", "-m", "precision-490:all-fast", "-s", "fair+performance", "--json"], &file);
    assert_eq!(simulated.status.code(), Some(0), "{}", stderr(&simulated));
    let report: serde_json::Value = serde_json::from_slice(&simulated.stdout).unwrap();
    assert_eq!(report["workload"], "standard input");
    // 50 iterations of 1 ms.
    assert!((report["apps"][0]["work_s"].as_f64().unwrap() - 0.05).abs() < 1e-9, "{report}");
    let compared = piped(&["compare", "-", "-m", "precision-490", "-s", "fair", "--runs", "2"], &file);
    assert_eq!(compared.status.code(), Some(0), "{}", stderr(&compared));
    let shown = piped(&["workload", "show", "-", "--source"], &file);
    assert_eq!(shown.stdout, file);
}

#[test]
fn a_mistake_in_a_pipe_has_its_place() {
    let output = piped(&["simulate", "-", "-m", "hikey960"], b"{\n \"tasks\" : { \"a\" : { \"rum\" : 1 } } }\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: standard input:2:"), "{}", stderr(&output));
    let output = piped(&["simulate", "-", "-m", "hikey960"], b"\xff");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).starts_with("error: standard input: cannot be read"), "{}", stderr(&output));
}

/// The command is started by a shell that has more open than it should; descriptor 3 is the folder that `ls` reads.
#[test]
fn no_descriptor_but_the_standard_streams_reaches_a_command() {
    let script = r#"exec 9<&0 0</dev/null 5</dev/null 7>/dev/null 123</etc/passwd
        exec "$0" launch --gate=9 -- ls /proc/self/fd"#;
    let mut started = Command::new("bash");
    started.args(["-c", script, env!("CARGO_BIN_EXE_tandem")]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = started.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"g").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "0\n1\n2\n3\n");
}

#[test]
fn a_variable_without_a_name_is_a_mistake() {
    let output = tandem(&["run", "--env", "=x", "--", "true"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("NAME=VALUE"), "{}", stderr(&output));
}
