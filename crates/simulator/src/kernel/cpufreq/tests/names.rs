// SPDX-License-Identifier: MIT OR Apache-2.0
use super::*;
use crate::machine::CpufreqDriver;
use proptest::prelude::*;

fn error(written: &str) -> String {
    written.parse::<Governor>().unwrap_err().to_string()
}

#[test]
fn settings_are_read() {
    let expected = OndemandTunables { sampling_rate: Some(10 * MSEC), up_threshold: 80, ..OndemandTunables::default() };
    assert_eq!(parse("ondemand=10ms,up_threshold=80"), Governor::Ondemand(expected));
    let expected = ConservativeTunables { freq_step: 10, ..ConservativeTunables::default() };
    assert_eq!(parse("conservative=freq_step=10"), Governor::Conservative(expected));
    assert_eq!(parse("schedutil=500us"), Governor::Schedutil(SchedutilTunables { rate_limit: Some(500 * USEC) }));
    for clock in ["1400000", "1400000kHz", "1400MHz", "1.4GHz", "1.4 ghz"] {
        assert_eq!(parse(&format!("userspace={clock}")), Governor::Userspace { khz: Some(1_400_000) }, "{clock}");
    }
}

#[test]
fn a_slip_gets_the_nearest_name() {
    assert_eq!(
        error("shedutil"),
        "unknown governor `shedutil`; did you mean `schedutil`? valid: `performance`, `powersave`, `userspace`, \
         `ondemand`, `conservative`, `schedutil`, `intel_pstate`, `amd-pstate`, `passive:performance`, `passive:powersave`, \
         `default`"
    );
    assert!(error("ondemand=up_treshold=80").contains("did you mean `up_threshold`?"));
}

#[test]
fn bad_settings_say_what_was_expected() {
    assert_eq!(error("performance=1GHz"), "governor `performance` takes no settings");
    assert_eq!(
        error("userspace=fast"),
        "governor `userspace`: `fast` is not a clock such as `1400MHz` or `1400000` (kHz)"
    );
    assert_eq!(
        error("ondemand=up_threshold=101"),
        "governor `ondemand`: `up_threshold=101` is not a number from 1 to 100"
    );
    for written in ["ondemand=10", "ondemand=0ms", "ondemand=-1ms", "schedutil=1e9s", "ondemand=", "schedutil=2h"] {
        assert!(error(written).contains("not a time from 1us to an hour"), "{}", error(written));
    }
    for written in ["userspace=", "userspace=0", "userspace=9999999GHz", "userspace=1.2.3GHz", "userspace=.MHz"] {
        assert!(error(written).contains("not a clock"), "{}", error(written));
    }
    assert!(error("userspace=1GHz,2GHz").contains("not one clock"));
    assert!(error("schedutil=1ms,2ms").contains("not one time"));
    assert!(error("conservative=down_threshold=80").contains("not below up_threshold (80)"));
}

fn rate() -> impl Strategy<Value = Option<Nanos>> {
    prop::option::of(1_000_u64..10_000_000_000)
}

fn governor() -> impl Strategy<Value = Governor> {
    let userspace = prop::option::of(1_u32..=10_000_000).prop_map(|khz| Governor::Userspace { khz });
    let ondemand = (rate(), 1_u32..=100, 1_u32..=100_000, 0_u32..=1000, any::<[bool; 2]>()).prop_map(
        |(sampling_rate, up_threshold, sampling_down_factor, powersave_bias, [ignore_nice_load, io_is_busy])| {
            Governor::Ondemand(OndemandTunables {
                sampling_rate,
                up_threshold,
                sampling_down_factor,
                powersave_bias,
                ignore_nice_load,
                io_is_busy,
            })
        },
    );
    let conservative = (rate(), 51_u32..=100, 1_u32..=50, 0_u32..=100, 1_u32..=10, any::<bool>()).prop_map(
        |(sampling_rate, up_threshold, down_threshold, freq_step, sampling_down_factor, ignore_nice_load)| {
            Governor::Conservative(ConservativeTunables {
                sampling_rate,
                up_threshold,
                down_threshold,
                freq_step,
                sampling_down_factor,
                ignore_nice_load,
            })
        },
    );
    let schedutil = rate().prop_map(|rate_limit| Governor::Schedutil(SchedutilTunables { rate_limit }));
    let intel = prop::sample::select(vec![CpufreqDriver::IntelPstate, CpufreqDriver::AmdPstateEpp]);
    let pstate = (intel, any::<[bool; 2]>(), any::<u8>()).prop_map(|(driver, [performance, no_hwp], epp)| {
        // What has no effect is not written: EPP under `performance` and where the firmware does not decide.
        let no_hwp = no_hwp && driver.is_intel() && !performance;
        let epp = if performance || no_hwp { Epp::BALANCE_PERFORMANCE } else { Epp(epp) };
        Governor::Pstate(PstateTunables { driver, performance, epp, no_hwp })
    });
    let plain = prop::sample::select(vec![
        Governor::Default,
        Governor::Performance,
        Governor::Powersave,
        Governor::PassivePerformance,
        Governor::PassivePowersave,
    ]);
    prop_oneof![plain, pstate, userspace, ondemand, conservative, schedutil]
}

proptest! {
    #[test]
    fn what_is_displayed_is_read_back(governor in governor()) {
        prop_assert_eq!(governor.to_string().parse::<Governor>(), Ok(governor));
    }

    #[test]
    fn nothing_written_panics(written in "\\PC{0,40}", name in prop::sample::select(vec!["ondemand=", "userspace="])) {
        let _ = written.parse::<Governor>();
        let _ = format!("{name}{written}").parse::<Governor>();
    }
}
