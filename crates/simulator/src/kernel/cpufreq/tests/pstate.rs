// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::machine::{CpufreqDriver, Machine};

const INTEL: CpufreqDriver = CpufreqDriver::IntelPstate;

fn idle(idle: Nanos) -> CpuTimes {
    CpuTimes { idle, ..CpuTimes::default() }
}

/// The clock in MHz that one CPU gets which was busy for `busy` of a window of `window`, from `opp` on.
fn sampled(tunables: PstateTunables, opp: usize, busy: Nanos, window: Nanos) -> u32 {
    let mut policy = policy_at(opp);
    let mut pstate = Pstate::new(tunables, &policy, &[idle(0)], 0);
    assert_eq!(pstate.next_sample(), window);
    if let Some(target) = pstate.sample(&policy, window, |_| idle(window - busy)) {
        policy.set_current(target);
    }
    policy.current_khz() / 1000
}

fn with(epp: u8) -> PstateTunables {
    PstateTunables { epp: Epp(epp), ..PstateTunables::new(INTEL) }
}

/// `get_target_pstate` in 10 ms: 1.25 · 2000 · 0.4 = 1000 MHz; from 2000 MHz half of the way down, 1500. Four fifths busy
/// are the highest clock.
#[test]
fn without_hwp_the_clock_is_a_quarter_more_than_the_busy_share() {
    let no_hwp = PstateTunables { no_hwp: true, ..PstateTunables::new(INTEL) };
    assert_eq!(sampled(no_hwp, 0, 4 * MSEC, 10 * MSEC), 1000);
    assert_eq!(sampled(no_hwp, 3, 4 * MSEC, 10 * MSEC), 1500);
    assert_eq!(sampled(no_hwp, 0, 8 * MSEC, 10 * MSEC), 2000);
    // EPP is a word to the firmware.
    assert_eq!(sampled(PstateTunables { epp: Epp(255), ..no_hwp }, 0, 4 * MSEC, 10 * MSEC), 1000);
}

/// 160 / EPP times the busy share: at 255 a CPU that never idles gets 0.627 · 2000 = 1255 MHz, the closest 1500 (1000 is as far as
/// 255, 1500 as 245); at 192 0.833 · 2000 = 1667, 1500; at 128 and below the highest. A tenth busy: 2000 · 0.1 · 160 / 16 =
/// 2000 at EPP 16, and at 0 any work is enough; at 128 250 MHz, the lowest.
#[test]
fn the_preference_bounds_how_high_and_how_readily_the_clock_goes() {
    let always = |epp| sampled(with(epp), 0, MSEC, MSEC);
    assert_eq!([0, 102, 128, 160, 192, 255].map(always), [2000, 2000, 2000, 2000, 1500, 1500]);
    let tenth = |epp| sampled(with(epp), 0, MSEC / 10, MSEC);
    assert_eq!([0, 16, 32, 128, 255].map(tenth), [2000, 2000, 1000, 500, 500]);
    assert_eq!(sampled(with(0), 0, MSEC / 100, MSEC), 2000);
    assert_eq!(sampled(with(0), 0, 0, MSEC), 500, "nothing to do");
}

/// The threads of a core, and the cores of a module, have one clock: that of the busiest.
#[test]
fn the_busiest_cpu_decides() {
    let policy = policy_at(0);
    let mut pstate = Pstate::new(with(128), &policy, &[idle(0), idle(0)], 0);
    let times = [idle(MSEC), idle(MSEC / 2)];
    assert_eq!(pstate.sample(&policy, MSEC, |cpu| times[cpu]), Some(1), "1.25 · 0.5 · 2000 = 1250: of two the lower");
}

/// Half of the way each time: from 2000 MHz to 1255 it is 1627, 1441, 1348, 1301 …; a clock of 1500 is in force from the second on,
/// and is that of the operating points which is closest to the end as well.
#[test]
fn what_is_settled_need_not_be_looked_at() {
    let settled = |epp, opp| Pstate::new(with(epp), &policy_at(opp), &[idle(0)], 0).is_settled(&policy_at(opp));
    assert!(settled(128, 3) && !settled(128, 1) && !settled(255, 3));
    let mut policy = policy_at(3);
    let mut pstate = Pstate::new(with(255), &policy, &[idle(0)], 0);
    let mut samples = 0;
    while !pstate.is_settled(&policy) {
        samples += 1;
        if let Some(target) = pstate.sample(&policy, samples * MSEC, |_| idle(0)) {
            policy.set_current(target);
        }
    }
    // 745 MHz above the end, halved until a half is at most a permille of 1255 MHz.
    assert_eq!((policy.current_khz(), samples), (1_500_000, 9));
}

fn on(governor: &str, machine: &str) -> Result<String, String> {
    let machine = Machine::load(machine).unwrap();
    let there = parse(governor).on(&machine).map_err(|error| error.to_string())?;
    assert_eq!(there.on(&machine), Ok(there), "asked again");
    Ok(there.to_string())
}

#[test]
fn names_mean_what_they_mean_in_sysfs() {
    let i9 = |governor| on(governor, "i9-12900k").unwrap();
    assert_eq!(i9("powersave"), "intel_pstate=powersave,epp=balance_performance");
    assert_eq!(i9("performance"), "intel_pstate=performance");
    assert_eq!(i9("default"), i9("powersave"));
    assert_eq!(i9("intel_pstate=epp=power"), "intel_pstate=powersave,epp=power");
    assert_eq!(i9("passive:powersave"), "passive:powersave");
    assert_eq!(i9("schedutil"), "schedutil");
    assert_eq!(on("powersave", "ryzen-ai-9-hx-370").unwrap(), "amd-pstate=powersave,epp=balance_performance");
    let hikey = |governor| on(governor, "hikey960").unwrap();
    assert_eq!((hikey("powersave"), hikey("passive:powersave")), ("powersave".to_owned(), "powersave".to_owned()));
    assert_eq!(hikey("default"), "schedutil");
}

#[test]
fn a_driver_says_what_it_offers() {
    assert_eq!(
        on("amd-pstate", "i9-12900k").unwrap_err(),
        "governor `amd-pstate=powersave,epp=balance_performance`: i9-12900k has the driver intel_pstate; it offers `powersave` and \
         `performance` (`intel_pstate=powersave,epp=NAME`, `intel_pstate=performance`), and in passive mode `passive:performance`, \
         `passive:powersave`, `userspace`, `ondemand`, `conservative`, `schedutil`"
    );
    assert_eq!(
        on("intel_pstate", "hikey960").unwrap_err(),
        "governor `intel_pstate=powersave,epp=balance_performance`: hikey960 has no driver with governors of its own; it offers \
         `performance`, `powersave`, `userspace`, `ondemand`, `conservative`, `schedutil`"
    );
}

#[test]
fn preferences_have_names_and_numbers() {
    let name = |written: &str| parse(written).to_string();
    assert_eq!(name("intel_pstate=epp=192"), "intel_pstate=powersave,epp=balance_power");
    assert_eq!(name("amd-pstate=epp=192"), "amd-pstate=powersave,epp=192");
    assert_eq!(name("amd-pstate=epp=balance_power"), "amd-pstate=powersave,epp=balance_power");
    assert_eq!(name("intel_pstate=no_hwp"), "intel_pstate=powersave,no_hwp");
    let error = |written: &str| written.parse::<Governor>().unwrap_err().to_string();
    assert!(
        error("intel_pstate=epp=turbo").contains("not one of default, performance"),
        "{}",
        error("intel_pstate=epp=turbo")
    );
    assert!(error("intel_pstate=epp=256").contains("a number from 0 to 255"));
    assert!(error("amd-pstate=no_hwp").contains("no setting `no_hwp`"));
    assert!(error("passive:powersave=1").contains("takes no settings"));
}

#[test]
fn what_the_kernel_refuses_to_write_is_told() {
    let told = |written: &str| match parse(written) {
        Governor::Pstate(tunables) => tunables.unheard(),
        other => panic!("{other}"),
    };
    for heeded in
        ["performance", "powersave", "epp=power", "performance,epp=performance", "performance,epp=0", "no_hwp"]
    {
        assert_eq!(told(&format!("intel_pstate={heeded}")), None, "{heeded}");
    }
    let refused = told("intel_pstate=performance,epp=power").unwrap();
    assert!(refused.starts_with("intel_pstate=performance,epp=power: ") && refused.contains("EBUSY"), "{refused}");
    let refused = told("amd-pstate=epp=64,performance").unwrap();
    assert!(refused.starts_with("amd-pstate=performance,epp=64: ") && refused.contains("EBUSY"), "{refused}");
    assert!(told("intel_pstate=no_hwp,epp=power").unwrap().contains("without HWP"));
}
