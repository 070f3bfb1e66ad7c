// SPDX-License-Identifier: MIT OR Apache-2.0
//! What keeps a scheduler from being loaded, and what to do about it.

use std::path::PathBuf;

use super::kernel::{Capability, KernelSupport};

/// The first Linux with sched_ext.
const FIRST: (u32, u32) = (6, 12);

/// One thing. Its text is a clause that says what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Missing {
    /// The kernel is too old, and nobody gave it sched_ext.
    #[error("Linux {release} has no sched_ext, which came with 6.12: boot a newer kernel")]
    TooOld {
        /// The kernel's.
        release: String,
    },
    /// The kernel was built without sched_ext.
    #[error(
        "Linux {release} is built without sched_ext (no CONFIG_SCHED_CLASS_EXT in {}): boot a kernel that has it",
        config.display()
    )]
    NotBuilt {
        /// The kernel's.
        release: String,
        /// Where that stands.
        config: PathBuf,
    },
    /// sysfs does not show it, though the kernel was built with it.
    #[error("/sys/kernel/sched_ext is not there, though Linux {release} is built with sched_ext: mount sysfs on /sys")]
    NotShown {
        /// The kernel's.
        release: String,
    },
    /// sched_ext is not there, and the reason is unknown.
    #[error(
        "/sys/kernel/sched_ext is not there; why is not known, as neither /proc/config.gz nor /boot/config-{release} nor \
         /lib/modules/{release}/config can be read: boot a kernel with CONFIG_SCHED_CLASS_EXT"
    )]
    NotKnown {
        /// The kernel's.
        release: String,
    },
    /// The kernel does not describe its types, so no program can be fitted to them.
    #[error("/sys/kernel/btf/vmlinux is not there: boot a kernel with CONFIG_DEBUG_INFO_BTF")]
    NoBtf,
    /// Programs are interpreted, and such may not call the kernel's functions.
    #[error("the kernel does not compile BPF programs: `sysctl net.core.bpf_jit_enable=1`")]
    NoJit,
    /// The kernel does not let programs read its memory.
    #[error("the kernel is locked down for confidentiality: boot without `lockdown=confidentiality`")]
    Lockdown,
    /// This process has not the rights.
    #[error("this process lacks {}: run it as root", names(.lacks))]
    NotRoot {
        /// What it would need.
        lacks: Vec<Capability>,
    },
    /// It has them in its own user namespace only.
    #[error("this process is root of a container's user namespace only: run it outside the container, as root")]
    UserNamespace,
    /// Another scheduler is loaded.
    #[error("the scheduler {scheduler} is loaded already: stop it first")]
    Busy {
        /// Name of the scheduler.
        scheduler: String,
    },
    /// One is being loaded or unloaded, or has no name.
    #[error("sched_ext is {state}: wait until it is disabled, or stop the scheduler that is loaded")]
    Changing {
        /// What `/sys/kernel/sched_ext/state` says.
        state: String,
    },
}

impl KernelSupport {
    /// All that keeps a scheduler from being loaded now: the kernel first, then the rights, then others' schedulers. Empty if
    /// nothing known does.
    pub fn missing(&self) -> Vec<Missing> {
        let of_kernel = [
            sched_ext(self),
            (!self.btf).then_some(Missing::NoBtf),
            (self.jit == Some(false)).then_some(Missing::NoJit),
            (self.lockdown.as_deref() == Some("confidentiality")).then_some(Missing::Lockdown),
        ];
        of_kernel.into_iter().chain([rights(self), other(self)]).flatten().collect()
    }
}

fn sched_ext(kernel: &KernelSupport) -> Option<Missing> {
    if kernel.sched_ext_state.is_some() {
        return None;
    }
    let release = kernel.release.clone();
    let built = kernel.config.has("SCHED_CLASS_EXT");
    Some(match (&kernel.config.path, built) {
        (_, Some(true)) => Missing::NotShown { release },
        // Distributions give it to older kernels, too, so the version says something only where it is not there.
        _ if kernel.version().is_some_and(|version| version < FIRST) => Missing::TooOld { release },
        (Some(config), Some(false)) => Missing::NotBuilt { release, config: config.clone() },
        _ => Missing::NotKnown { release },
    })
}

fn rights(kernel: &KernelSupport) -> Option<Missing> {
    if kernel.privileged() {
        return None;
    }
    let lacks: Vec<Capability> =
        [Capability::Bpf, Capability::Perfmon].into_iter().filter(|capability| !kernel.has(*capability)).collect();
    if lacks.is_empty() || kernel.has(Capability::SysAdmin) {
        return Some(Missing::UserNamespace);
    }
    Some(Missing::NotRoot { lacks })
}

fn other(kernel: &KernelSupport) -> Option<Missing> {
    let state = kernel.sched_ext_state.clone().filter(|_| kernel.is_busy())?;
    match kernel.scheduler.clone().filter(|_| state == "enabled") {
        Some(scheduler) => Some(Missing::Busy { scheduler }),
        None => Some(Missing::Changing { state }),
    }
}

fn names(capabilities: &[Capability]) -> String {
    capabilities.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}
