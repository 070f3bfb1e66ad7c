// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

#[test]
fn a_profile_is_named_by_its_release() {
    assert_eq!("6.12".parse(), Ok(Profile::V6_12));
    assert_eq!("7".parse(), Ok(Profile::V7));
    assert_eq!("7.1".parse::<Profile>().map(|profile| profile.to_string()), Ok("7.1".to_owned()));
    assert_eq!("6.11".parse::<Profile>(), Err(UnknownProfile("6.11".to_owned())));
}

#[test]
fn the_version_code_is_the_release_byte_by_byte() {
    assert_eq!(Profile::V6_12.kconfig("LINUX_KERNEL_VERSION", 250), Some(0x06_0c_75));
    assert_eq!(Profile::V7.kconfig("LINUX_KERNEL_VERSION", 250), Some(0x07_01_00));
    assert_eq!(Profile::V7.kconfig("CONFIG_HZ", 1000), Some(1000));
    assert_eq!(Profile::V7.kconfig("CONFIG_PREEMPT_RT", 1000), None);
}

#[test]
fn the_core_flags_moved_between_the_versions() {
    assert_eq!((Profile::V6_12.enq_head(), Profile::V7.enq_head()), (0x10, 0x1_0000));
    assert_eq!((Profile::V6_12.enq_cpu_selected(), Profile::V7.enq_cpu_selected()), (0x400, 0x10_0000));
    assert_eq!((Profile::V6_12.migrating(), Profile::V7.migrating()), (0x100, 0x10));
    assert_eq!((Profile::V6_12.enq_immed(), Profile::V7.enq_immed()), (0, 0x2_0000_0000));
}

#[test]
fn bandwidth_callbacks_came_after_6_12() {
    assert!(!Profile::V6_12.has_ops_member("cgroup_set_bandwidth"));
    assert!(Profile::V7.has_ops_member("cgroup_set_bandwidth"));
    assert!(Profile::V6_12.has_ops_member("hotplug_seq"));
    assert!(!Profile::V7.has_ops_member("enqueu"));
    // 39 and 45 members, as the structures of the two kernels have.
    assert_eq!(crate::scx::abi::types::ops::members(Profile::V6_12).count(), 39);
    assert_eq!(crate::scx::abi::types::ops::members(Profile::V7).count(), 45);
}
