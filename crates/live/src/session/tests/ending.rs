// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sessions that do not begin, and one that ends by a mistake of ours.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use super::script::request;
use super::*;
use crate::LiveError;
use crate::plan::{Choice, SessionRequest};
use crate::session::{Session, SessionError};

fn begin<'w>(world: &'w World, request: &SessionRequest) -> Result<Session<'w>, SessionError> {
    Session::begin(&world.site, request, Instant::now(), &mut world.listener())
}

fn why_not(world: &World, request: &SessionRequest) -> String {
    begin(world, request).unwrap_err().to_string()
}

#[test]
fn a_mistake_in_a_setting_is_found_before_anything_is_touched() {
    let world = World::new();
    let error = begin(&world, &request("isolate=shared nonsense=1")).unwrap_err();
    assert!(
        matches!(&error, SessionError::Setting { name, value, .. } if (name.as_str(), value.as_str()) == ("nonsense", "1"))
    );
    assert!(!world.exists("run/tandem"));
    assert_eq!(world.governors(), GOVERNORS);
}

#[test]
fn without_sched_ext_all_that_is_missing_is_said_and_nothing_is_changed() {
    let world = World::new();
    world.remove("sys/kernel/sched_ext");
    world.remove("sys/kernel/btf");
    world.write("boot/config-6.12.9-test", "CONFIG_SMP=y");
    assert_eq!(
        why_not(&world, &request("isolate=shared")),
        "no scheduler can be loaded here:\n  \
         Linux 6.12.9-test is built without sched_ext (no CONFIG_SCHED_CLASS_EXT in /boot/config-6.12.9-test): boot a \
         kernel that has it\n  \
         /sys/kernel/btf/vmlinux is not there: boot a kernel with CONFIG_DEBUG_INFO_BTF\n\
         `--backend affinity` does without: isolate and longest, by affinities and clocks alone"
    );
    assert_eq!((world.governors(), world.log()), (GOVERNORS.map(str::to_owned), vec![]));
}

#[test]
fn affinities_are_refused_what_only_a_scheduler_can_do() {
    let request = SessionRequest { backend: Choice::Affinity, ..request("sorted=true") };
    let said = why_not(&World::new(), &request);
    assert_eq!(said, "--backend affinity can do isolate and longest, not sorted: leave out the latter");
}

#[test]
fn a_machine_of_which_nothing_is_known_has_no_session() {
    let world = World::new();
    world.remove("sys/devices/system/cpu/possible");
    assert!(matches!(begin(&world, &request("")), Err(SessionError::Machine(_))));
}

#[test]
fn there_is_one_session_at_a_time() {
    let world = World::new();
    let first = begin(&world, &request("isolate=shared")).unwrap();
    let said = why_not(&world, &request("isolate=shared"));
    assert_eq!(said, format!("Tandem runs already (process {}): `tandem status` shows it", std::process::id()));
    // The second one has not taken away what the first one needs.
    assert_eq!(world.governors(), ["schedutil"; 2]);
    drop(first);
    world.assert_given_back();
    assert!(begin(&world, &request("isolate=shared")).is_ok());
}

#[test]
fn a_scheduler_that_the_kernel_refuses_costs_the_machine_nothing() {
    let world = World::new();
    let problem = "os_cpu 9 is not online".to_owned();
    world.refuse(LiveError::Problem { program: "check".to_owned(), problem });
    assert_eq!(why_not(&world, &request("isolate=shared")), "check refuses: os_cpu 9 is not online");
    world.assert_given_back();
}

#[test]
fn a_governor_that_cannot_be_set_is_named_and_the_others_are_given_back() {
    let world = World::new();
    world.write("sys/devices/system/cpu/cpufreq/policy2/scaling_available_governors", "ondemand");
    assert_eq!(
        why_not(&world, &request("isolate=shared")),
        "the governor schedutil cannot be chosen: policy2 has no governor schedutil: boot a kernel with \
         CONFIG_CPU_FREQ_GOV_SCHEDUTIL"
    );
    world.assert_given_back();
}

#[test]
fn a_panic_gives_the_machine_back() {
    let world = World::new();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut session = begin(&world, &request("isolate=shared")).unwrap();
        session.attach(&Instant::now).unwrap();
        assert_eq!(world.governors(), ["schedutil"; 2]);
        panic!("this is meant to happen");
    }));
    assert!(panicked.is_err());
    world.assert_given_back();
}
