// SPDX-License-Identifier: MIT OR Apache-2.0
use std::path::Path;

use super::*;
use crate::kernel::cpumask::CpuMask;
use crate::machine::Machine;
use proptest::prelude::*;

/// The topology of so many packages of one cache each, with so many cores of so many threads each.
pub(in crate::scx) fn topology(packages: u32, cores: u32, threads: u32) -> Topology {
    let mut text = crate::generated::parts().replace("ipc = 1.0", "ipc = 1.0\nsmt_speed = 0.6\nsmt_activity = 1.3");
    for package in 0..packages {
        text += &crate::generated::package_text(package);
        text += &crate::generated::cluster_text(package, cores).replace("threads = 1", &format!("threads = {threads}"));
    }
    Topology::of(&Machine::parse("test", Path::new("test.toml"), &text, None).unwrap())
}
