// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts that decide whether a kernel can load a scheduler, and whether this process may.

use std::fmt;

use super::config::Config;
use crate::kernel::passes_limits_below;
use crate::tree::Tree;

/// A right that changing how a machine schedules takes, by its number (include/uapi/linux/capability.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Capability {
    /// All that the last two allow, and more.
    SysAdmin = 21,
    /// Affinities and priorities of other users' threads.
    SysNice = 23,
    /// Programs that see kernel structures, and counters of whole CPUs.
    Perfmon = 38,
    /// BPF programs and maps.
    Bpf = 39,
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        })
    }
}

/// Facts about a kernel only; [`missing`](Self::missing) draws the conclusion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KernelSupport {
    /// `6.12.0-amd64`; empty if unknown.
    pub release: String,
    /// What it was built with.
    pub config: Config,
    /// `/sys/kernel/sched_ext/state`: `disabled`, `enabling`, `enabled`, `disabling`.
    pub sched_ext_state: Option<String>,
    /// The scheduler that is loaded (`/sys/kernel/sched_ext/root/ops`).
    pub scheduler: Option<String>,
    /// Whether the kernel describes its types (`/sys/kernel/btf/vmlinux`).
    pub btf: bool,
    /// Whether the kernel tells a scheduler of limits of groups (`ops.cgroup_set_bandwidth`, since Linux 6.17).
    pub passes_limits: bool,
    /// Whether BPF programs are compiled (`net.core.bpf_jit_enable`); `None` if it does not say.
    pub jit: Option<bool>,
    /// `none`, `integrity` or `confidentiality` (`/sys/kernel/security/lockdown`); `None` without the module or its file.
    pub lockdown: Option<String>,
    /// The rights of this process, a bit each (`CapEff`).
    pub capabilities: u64,
    /// Whether they hold for the machine, not only for a container's user namespace.
    pub initial_user_namespace: bool,
}

impl KernelSupport {
    pub(super) fn probe(tree: &Tree) -> Self {
        let release = tree.text("proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            config: Config::read(tree, &release),
            sched_ext_state: tree.sys("kernel/sched_ext/state"),
            scheduler: tree.sys("kernel/sched_ext/root/ops"),
            btf: tree.has_sys("kernel/btf/vmlinux"),
            passes_limits: passes_limits_below(&tree.path("")),
            jit: tree.text("proc/sys/net/core/bpf_jit_enable").map(|text| text != "0"),
            lockdown: tree.sys("kernel/security/lockdown").and_then(|text| chosen(&text)),
            capabilities: capabilities(tree),
            initial_user_namespace: is_initial(tree),
            release,
        }
    }

    /// Major and minor number of the release.
    pub fn version(&self) -> Option<(u32, u32)> {
        let mut numbers = self.release.split(|letter: char| !letter.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    }

    /// Whether this process has a right.
    pub fn has(&self, capability: Capability) -> bool {
        self.capabilities >> (capability as u8) & 1 == 1
    }

    /// Whether this process may load schedulers.
    pub fn privileged(&self) -> bool {
        let may = self.has(Capability::SysAdmin) || self.has(Capability::Bpf) && self.has(Capability::Perfmon);
        may && self.initial_user_namespace
    }

    /// Whether a scheduler is loaded, whoever's it is.
    pub fn is_busy(&self) -> bool {
        self.sched_ext_state.as_deref().is_some_and(|state| state != "disabled")
    }
}

/// The one in brackets of `none [integrity] confidentiality`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    Some(rest.split_once(']')?.0.to_owned())
}

fn capabilities(tree: &Tree) -> u64 {
    let status = tree.text("proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    line.and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok()).unwrap_or(0)
}

/// Whether users are mapped to themselves, all of them: nobody but the kernel makes such a namespace. Kernels without
/// namespaces have no such file.
fn is_initial(tree: &Tree) -> bool {
    let Some(map) = tree.text("proc/self/uid_map") else { return true };
    map.split_whitespace().eq(["0", "0", "4294967295"])
}
