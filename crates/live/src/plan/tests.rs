// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hosts and plans.

use std::path::PathBuf;

use tandem_bpf_vm::open::{Meaning, Reason};

use super::*;
use crate::host::{Config, KernelSupport};
use crate::machine::{Capacities, Cpu, Doubt, Machine, OppTable, Source};

/// All rights.
const ROOT: u64 = u64::MAX;

/// A policy of one CPU.
fn policy(cpu: usize, driver: &str, governor: &str, available: &str) -> Policy {
    Policy {
        name: format!("policy{cpu}"),
        cpus: vec![cpu],
        driver: driver.to_owned(),
        governor: governor.to_owned(),
        governors_available: available.split(' ').map(str::to_owned).collect(),
        min_khz: 1_000_000,
        max_khz: 2_000_000,
        lowest_khz: 1_000_000,
        highest_khz: 2_000_000,
        mode_file: None,
    }
}

/// Two unequal CPUs with counters, schedutil and an energy model, and a kernel that lacks nothing.
fn able() -> Host {
    let cpu = |performance| Cpu { online: true, capacity: performance, performance, ..Cpu::default() };
    let kernel = KernelSupport {
        release: "6.12.9".to_owned(),
        sched_ext_state: Some("disabled".to_owned()),
        btf: true,
        capabilities: ROOT,
        initial_user_namespace: true,
        ..KernelSupport::default()
    };
    let governors = "performance schedutil";
    Host {
        kernel,
        machine: Machine {
            cpus: vec![cpu(1024), cpu(512)],
            opp_tables: vec![OppTable { power: vec![100, 300], ..OppTable::default() }],
            nr_nodes: 1,
            cpuperf: true,
        },
        capacities: Capacities { source: Source::Equal, claims: Vec::new(), kinds: Vec::new(), doubts: Vec::new() },
        policies: (0..2).map(|cpu| policy(cpu, "cpufreq-dt", "schedutil", governors)).collect(),
        counters: true,
        limited_groups: Vec::new(),
    }
}

/// The same, but for some facts.
fn host(change: impl FnOnce(&mut Host)) -> Host {
    let mut host = able();
    change(&mut host);
    host
}

fn with_governor(governor: &str) -> Host {
    host(|host| host.policies.iter_mut().for_each(|policy| policy.governor = governor.to_owned()))
}

/// An active intel_pstate.
fn active() -> Host {
    host(|host| {
        host.policies = vec![Policy {
            mode_file: Some("/sys/devices/system/cpu/intel_pstate/status"),
            ..policy(0, "intel_pstate", "powersave", "performance powersave")
        }];
    })
}

fn without_sched_ext() -> Host {
    host(|host| {
        host.kernel.sched_ext_state = None;
        host.kernel.config = Config::parse(PathBuf::from("/proc/config.gz"), "CONFIG_BPF=y");
    })
}

/// `isolate=shared longest=true`.
fn request(settings: &str, backend: Choice, governor: Option<Governor>) -> SessionRequest {
    let settings = settings.split_whitespace().filter_map(|setting| setting.split_once('='));
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    SessionRequest { backend, settings, governor, announcers: None, states: states(), keeps_limits: KeepsLimits::Never }
}

/// What a scheduler could say of its states.
fn states() -> Meanings {
    let says = [
        ("active", &[][..]),
        ("one_cpu", &["There is one CPU."]),
        ("one_kind", &["All {cpus} CPUs are equally fast."]),
        ("no_counters", &["Counters cannot be read."]),
        ("no_bandwidth", &["Nobody says what the memory can move."]),
        (
            "no_cpufreq",
            &["The governor {governor} does not follow.", "None of the {clocks} clocks changes.", "There is no clock."],
        ),
    ];
    let reasons = |sentences: &[&str]| {
        sentences.iter().map(|why| Reason { why: (*why).to_owned(), remedy: None }).collect::<Vec<_>>()
    };
    let meaning = |sentences| Meaning { reasons: reasons(sentences), ..Meaning::default() };
    says.into_iter().map(|(state, sentences)| (state.to_owned(), meaning(sentences))).collect()
}

/// The plan for what is wanted by default: its changes and notes, or the error.
fn plan(host: &Host, request: &SessionRequest) -> Result<(Backend, Vec<String>, Vec<String>), String> {
    let plan = Plan::for_host(host, request).map_err(|error| error.to_string())?;
    let changes = plan.changes.iter().map(|change| format!("{}: {}", change.setting, change.to)).collect();
    Ok((plan.backend, changes, plan.notes.iter().map(ToString::to_string).collect()))
}

/// Checks the notes of a plan for sched_ext without changes.
fn notes(host: &Host, settings: &str, expected: &[&str]) {
    let found = plan(host, &request(settings, Choice::Auto, None)).unwrap();
    assert_eq!(
        (found.0, found.1, found.2.as_slice()),
        (Backend::SchedExt, Vec::new(), &owned(expected)[..]),
        "{settings}"
    );
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn where_nothing_is_missing_there_is_nothing_to_say() {
    for settings in ["", "all=true", "isolate=dedicated longest=true serial_first=true sorted=true speed=true"] {
        notes(&able(), settings, &[]);
    }
}

#[test]
fn without_power_and_bandwidth_the_factor_is_inert_and_how_to_say_it_is_said() {
    let powerless = || host(|host| host.machine.opp_tables[0].power = vec![0, 0]);
    let said = "edp stays inert: nobody says what the memory can move; `--machine FILE` says it (of `tandem machine detect \
                --measure`), or `--set memory_mbps=N`";
    notes(&powerless(), "speed=true", &[said]);
    notes(&powerless(), "all=true memory_mbps=0", &[said]);
    notes(&able(), "speed=true edp_base_pct=140", &[said]);
    for settings in ["speed=true memory_mbps=5600", "speed=true edp=false", "sorted=true", ""] {
        notes(&powerless(), settings, &[]);
    }
    notes(&able(), "speed=true edp_base_pct=140 memory_mbps=5600", &[]);
}

/// Limited to half a CPU, and what `cpu.max` says otherwise.
#[test]
fn limits_of_groups_that_nobody_keeps_are_named() {
    let limited = |groups: &[&str], passes| {
        host(|host| {
            host.limited_groups = owned(groups);
            host.kernel.passes_limits = passes;
        })
    };
    let told = SessionRequest { keeps_limits: KeepsLimits::WhereTold, ..SessionRequest::default() };
    let by_kernel = "cpu.max of 2 groups is not honoured, as Linux 6.12 tells no scheduler of it: /a, /b/c";
    assert_eq!(plan(&limited(&["/a", "/b/c"], false), &told).unwrap().2, [by_kernel]);
    notes(&limited(&["/\u{1b}[2J"], true), "", &["cpu.max of 1 group is not honoured under this scheduler: /?[2J"]);
    let many: Vec<String> = (0..10).map(|number| format!("/{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let said = plan(&limited(&many, false), &SessionRequest::default()).unwrap().2;
    assert!(said[0].ends_with(": /0, /1, /2, /3, /4, /5, /6, /7 and 2 more"), "{said:?}");
}

#[test]
fn limits_of_groups_that_are_kept_are_not_spoken_of() {
    let limited = |passes| {
        host(|host| {
            host.limited_groups = owned(&["/a"]);
            host.kernel.passes_limits = passes;
        })
    };
    let notes = |keeps_limits, passes| {
        let request = SessionRequest { keeps_limits, ..SessionRequest::default() };
        plan(&limited(passes), &request).unwrap().2.len()
    };
    assert_eq!([true, false].map(|passes| notes(KeepsLimits::WhereTold, passes)), [0, 1]);
    assert_eq!([true, false].map(|passes| notes(KeepsLimits::Always, passes)), [0, 0]);
    // There the kernel's own scheduler decides.
    let by_affinity = plan(&limited(false), &request("longest=true", Choice::Affinity, None)).unwrap();
    assert_eq!(by_affinity.2, Vec::<String>::new());
}

#[test]
fn without_sched_ext_what_is_missing_is_said_and_nothing_done_instead() {
    let missing = "no scheduler can be loaded here:\n  \
                   Linux 6.12.9 is built without sched_ext (no CONFIG_SCHED_CLASS_EXT in /proc/config.gz): boot a kernel that \
                   has it\n\
                   `--backend affinity` does without: isolate and longest, by affinities and clocks alone";
    for backend in [Choice::Auto, Choice::SchedExt] {
        assert_eq!(plan(&without_sched_ext(), &request("longest=true", backend, None)), Err(missing.to_owned()));
    }
}

#[test]
fn who_is_not_root_or_not_alone_is_not_sent_to_the_other_backend() {
    let user = host(|host| host.kernel.capabilities = 0);
    let busy = host(|host| {
        host.kernel.sched_ext_state = Some("enabled".to_owned());
        host.kernel.scheduler = Some("lavd".to_owned());
    });
    let said = |host: &Host| plan(host, &SessionRequest::default()).unwrap_err();
    let lacks = "no scheduler can be loaded here:\n  this process lacks CAP_BPF and CAP_PERFMON: run it as root";
    assert_eq!(said(&user), lacks);
    assert_eq!(said(&busy), "no scheduler can be loaded here:\n  the scheduler lavd is loaded already: stop it first");
}

#[test]
fn affinities_do_what_they_can_and_refuse_what_takes_a_scheduler() {
    let host = without_sched_ext();
    let of = |settings| plan(&host, &request(settings, Choice::Affinity, None));
    assert_eq!(of("isolate=dedicated longest=true"), Ok((Backend::Affinity, Vec::new(), Vec::new())));
    let left_out = vec!["without sched_ext serial_first, sorted, speed are left out".to_owned()];
    assert_eq!(of("all=true"), Ok((Backend::Affinity, Vec::new(), left_out)));
    let beyond = "--backend affinity can do isolate and longest, not sorted, speed: leave out the latter";
    assert_eq!(of("isolate=shared sorted=true speed=true"), Err(beyond.to_owned()));
    assert_eq!(of(""), Err("--backend affinity does nothing by itself: ask for isolate or longest".to_owned()));
}

#[test]
fn affinities_of_others_are_roots_to_change() {
    let user = host(|host| host.kernel.capabilities = 0);
    assert_eq!(Plan::for_host(&user, &request("longest=true", Choice::Affinity, None)), Err(PlanError::NotRoot));
}

#[test]
fn a_governor_that_does_not_follow_is_changed_only_if_somebody_says_so() {
    let host = with_governor("ondemand");
    let of = |governor| plan(&host, &request("speed=true", Choice::Auto, governor)).unwrap();
    let offer = "requests for clocks have no effect under the governor ondemand: `--governor schedutil` has 2 policies \
                 follow them, and gives ondemand back at the end";
    assert_eq!(of(None), (Backend::SchedExt, Vec::new(), owned(&[offer])));
    let kept = "requests for clocks have no effect under the governor ondemand, which is kept";
    assert_eq!(of(Some(Governor::Keep)), (Backend::SchedExt, Vec::new(), owned(&[kept])));
    let changes = ["the governor of policy0: schedutil", "the governor of policy1: schedutil"];
    assert_eq!(of(Some(Governor::Schedutil)), (Backend::SchedExt, owned(&changes), Vec::new()));
}

#[test]
fn only_policies_that_do_not_follow_yet_are_changed() {
    let host = host(|host| host.policies[1].governor = "powersave".to_owned());
    let plan = Plan::for_host(&host, &request("speed=true", Choice::Auto, Some(Governor::Schedutil))).unwrap();
    let setting = Setting::Governor { policy: "policy1".to_owned() };
    assert_eq!(plan.changes, [Change { setting, to: "schedutil".to_owned() }]);
}

#[test]
fn mechanisms_that_ask_for_no_clock_do_not_care_who_chooses_it() {
    notes(&with_governor("performance"), "longest=true serial_first=true sorted=true", &[]);
}

#[test]
fn a_driver_that_governs_itself_is_named_with_what_makes_it_passive() {
    let why = "the driver intel_pstate chooses clocks itself, and has no schedutil: \
               `echo passive >/sys/devices/system/cpu/intel_pstate/status` gives it the kernel's governors (Tandem does not do \
               that)";
    notes(&active(), "speed=true", &[why]);
    let wanted = plan(&active(), &request("speed=true", Choice::Auto, Some(Governor::Schedutil)));
    assert_eq!(wanted, Err(format!("the governor schedutil cannot be chosen: {why}")));
}

#[test]
fn a_governor_that_is_a_module_is_loaded_by_asking_for_it_and_one_that_is_not_built_is_not() {
    let of = |config: &str| {
        let host = host(|host| {
            host.policies = vec![policy(0, "acpi-cpufreq", "performance", "performance powersave")];
            host.kernel.config = Config::parse(PathBuf::from("/boot/config"), config);
        });
        plan(&host, &request("speed=true", Choice::Auto, Some(Governor::Schedutil)))
    };
    let module = of("CONFIG_CPU_FREQ_GOV_SCHEDUTIL=m").unwrap();
    assert_eq!(module.1, ["the governor of policy0: schedutil"]);
    let none = "the governor schedutil cannot be chosen: policy0 has no governor schedutil: boot a kernel with \
                CONFIG_CPU_FREQ_GOV_SCHEDUTIL";
    assert_eq!(of("CONFIG_CPU_FREQ=y"), Err(none.to_owned()));
}

#[test]
fn without_cpufreq_no_governor_can_be_chosen() {
    let host = host(|host| host.policies.clear());
    let why = "there is no cpufreq driver, so no clock can be changed";
    notes(&host, "isolate=shared", &[why]);
    let wanted = plan(&host, &request("", Choice::Auto, Some(Governor::Schedutil)));
    assert_eq!(wanted, Err(format!("the governor schedutil cannot be chosen: {why}")));
}

#[test]
fn clocks_whose_limits_leave_no_choice_make_speed_inert() {
    let host = host(|host| host.policies.iter_mut().for_each(|policy| policy.min_khz = policy.max_khz));
    notes(&host, "speed=true", &["speed stays inert: none of the 2 clocks changes"]);
}

#[test]
fn equal_cpus_leave_longest_inert_and_serial_phases_without_a_fast_one() {
    // 974 of 1024 are within 5 %, 972 are not.
    for (performance, is_one_kind) in [(1024, true), (974, true), (972, false)] {
        let host = host(|host| host.machine.cpus[1].performance = performance);
        let said = [
            "longest stays inert: all 2 CPUs are equally fast",
            "serial_first chooses who runs first, not where: all CPUs are equally fast",
        ];
        notes(&host, "longest=true serial_first=true", if is_one_kind { &said } else { &[] });
    }
}

#[test]
fn cpus_that_are_offline_are_not_counted() {
    let host = host(|host| host.machine.cpus[1].online = false);
    let said = ["isolate", "sorted"].map(|mechanism| format!("{mechanism} stays inert: there is one CPU"));
    notes(&host, "isolate=shared sorted=true", &said.each_ref().map(String::as_str));
}

#[test]
fn without_counters_sorted_is_inert_and_speed_knows_no_memory() {
    let said = [
        "sorted stays inert: counters cannot be read",
        "speed takes all work for compute-bound, as there are no performance counters: only idle CPUs get slower",
    ];
    notes(&host(|host| host.counters = false), "sorted=true speed=true", &said);
}

#[test]
fn what_sources_of_capacities_contradict_is_passed_on() {
    let doubt = Doubt::BaseClocks { percent: 27 };
    let host = host(|host| host.capacities.doubts = vec![doubt.clone()]);
    assert_eq!(Plan::for_host(&host, &SessionRequest::default()).unwrap().notes, [Note::Capacity(doubt)]);
}

#[test]
fn settings_turn_mechanisms_on_by_all_the_names_that_objects_take() {
    let of = |settings| Mechanisms::of(&request(settings, Choice::Auto, None).settings);
    assert_eq!(of("isolate=TANDEM_ISOLATE_DEDICATED").isolate, Some(Isolation::Dedicated));
    assert_eq!(of("all=true isolate=dedicated").isolate, Some(Isolation::Dedicated));
    assert_eq!((of("all=true").isolate, of("isolate=off").isolate), (Some(Isolation::Shared), None));
    assert_eq!(of("longest=true longest=false"), Mechanisms::default());
    assert_eq!(of("speed=true serial_first=true").names(), ["serial_first", "speed"]);
    assert_eq!(of("all=true").names(), ["isolate", "longest", "serial_first", "sorted", "speed"]);
}

#[test]
fn states_of_a_scheduler_are_explained_by_the_facts() {
    let plan = Plan::for_host(&able(), &request("", Choice::Auto, None)).unwrap();
    let of = |state: &str, host: &Host| plan.why(state, host);
    assert_eq!(of("active", &able()), None);
    assert_eq!(of("one_kind", &able()).unwrap(), "All 2 CPUs are equally fast.");
    assert_eq!(of("no_cpufreq", &with_governor("ondemand")).unwrap(), "The governor ondemand does not follow.");
    let fixed = host(|host| host.policies.iter_mut().for_each(|policy| policy.min_khz = policy.max_khz));
    assert_eq!(of("no_cpufreq", &fixed).unwrap(), "None of the 2 clocks changes.");
    let none = host(|host| host.policies.clear());
    assert_eq!(of("no_cpufreq", &none).unwrap(), "There is no clock.");
}

#[test]
fn a_scheduler_that_says_nothing_of_its_states_is_inert_by_their_names() {
    let mut wanted = request("longest=true", Choice::Auto, None);
    wanted.states = Meanings::default();
    let host = host(|host| host.machine.cpus[1].performance = 1024);
    assert_eq!(plan(&host, &wanted).unwrap().2, ["longest stays inert: one kind"]);
}
