// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn a_profile_is_named_by_its_release() {
    assert_eq!("6.12".parse(), Ok(Profile::V6_12));
    assert_eq!("7".parse(), Ok(Profile::V7));
    assert_eq!("7.1".parse::<Profile>().map(|profile| profile.to_string()), Ok("7.1".to_owned()));
    assert_eq!("6.18".parse(), Ok(Profile::V6_18));
    let refused = |text: &str| text.parse::<Profile>().unwrap_err().nearest;
    assert_eq!([refused("6.11"), refused("new"), refused("6")], [None; 3]);
    assert_eq!(
        [refused("6.14"), refused("6.18.2"), refused("7.0")],
        [Some(Profile::V6_12), Some(Profile::V6_18), Some(Profile::V6_18)]
    );
    assert_eq!(refused("v8"), Some(Profile::V7));
    let message = "7.3".parse::<Profile>().unwrap_err().to_string();
    let wanted = "no kernel interface is called `7.3`; expected `6.12`, `6.18` or `7.1`, of which 7.1 is the newest that is not newer";
    assert_eq!(message, wanted);
}

#[test]
fn the_version_code_is_the_release_byte_by_byte() {
    assert_eq!(Profile::V6_12.kconfig("LINUX_KERNEL_VERSION", 250), Some(0x06_0c_75));
    assert_eq!(Profile::V7.kconfig("LINUX_KERNEL_VERSION", 250), Some(0x07_01_05));
    assert_eq!(Profile::V7.kconfig("CONFIG_HZ", 1000), Some(1000));
    assert_eq!(Profile::V7.kconfig("CONFIG_PREEMPT_RT", 1000), None);
}

#[test]
fn the_core_flags_moved_between_the_versions() {
    assert_eq!((Profile::V6_12.enq_head(), Profile::V7.enq_head()), (0x10, 0x1_0000));
    assert_eq!((Profile::V6_12.enq_cpu_selected(), Profile::V7.enq_cpu_selected()), (0x400, 0x10_0000));
    assert_eq!((Profile::V6_12.migrating(), Profile::V7.migrating()), (0x100, 0x10));
    assert_eq!((Profile::V6_12.enq_immed(), Profile::V7.enq_immed()), (0, 0x2_0000_0000));
    // 6.18's are still those of 6.12.
    let flags =
        |profile: Profile| (profile.enq_head(), profile.enq_cpu_selected(), profile.migrating(), profile.enq_immed());
    assert_eq!(flags(Profile::V6_18), flags(Profile::V6_12));
    assert_eq!(Profile::V6_18.enum_value("SCX_OPS_ALL_FLAGS"), Some(Profile::V6_18.ops_flags()));
    assert_eq!(Profile::V6_18.enum_value("SCX_PICK_IDLE_IN_NODE"), Some(2));
    assert_eq!(Profile::V6_18.enum_value("SCX_ENQ_IMMED"), None);
}

#[test]
fn bandwidth_callbacks_came_after_6_12() {
    assert!(!Profile::V6_12.has_ops_member("cgroup_set_bandwidth"));
    assert!(Profile::V7.has_ops_member("cgroup_set_bandwidth"));
    assert!(Profile::V6_12.has_ops_member("hotplug_seq"));
    assert!(!Profile::V7.has_ops_member("enqueu"));
    // 39 and 45 members, as the structures of the two kernels have.
    assert_eq!(crate::scx::abi::types::ops::members(Profile::V6_12).count(), 39);
    assert_eq!(crate::scx::abi::types::ops::members(Profile::V6_18).count(), 41);
    assert!(Profile::V6_18.has_ops_member("cgroup_set_bandwidth") && !Profile::V6_18.has_ops_member("cgroup_set_idle"));
    assert_eq!(crate::scx::abi::types::ops::members(Profile::V7).count(), 45);
}
