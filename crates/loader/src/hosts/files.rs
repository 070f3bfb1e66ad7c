// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies of /sys and /proc under construction.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io;
use std::path::Path;

/// `cpuinfo_max_freq` of a CPU.
pub(super) const CLOCK: &str = "cpufreq/cpuinfo_max_freq";
/// `highest_perf` of a CPU.
pub(super) const LEVEL: &str = "acpi_cppc/highest_perf";
/// `cpu_capacity` of a CPU.
pub(super) const CAPACITY: &str = "cpu_capacity";

/// Files below a root, by path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(BTreeMap<String, String>);

impl Files {
    /// The files of a machine with these CPUs, all online.
    pub fn with_cpus(cpus: &str) -> Self {
        Self::default().file("sys/devices/system/cpu/possible", cpus).file("sys/devices/system/cpu/online", cpus)
    }

    /// With a file, instead of another one of this path.
    #[must_use]
    pub fn file(mut self, path: &str, text: impl Display) -> Self {
        self.0.insert(path.to_owned(), format!("{text}\n"));
        self
    }

    /// With a file of some CPUs.
    #[must_use]
    pub fn each(self, cpus: impl IntoIterator<Item = usize>, file: &str, text: impl Display) -> Self {
        let path = |cpu: usize| format!("sys/devices/system/cpu/cpu{cpu}/{file}");
        cpus.into_iter().fold(self, |files, cpu| files.file(&path(cpu), &text))
    }

    /// With the event sources of a hybrid: `cpu_core` and its CPUs.
    #[must_use]
    pub fn types(self, types: &[(&str, &str)]) -> Self {
        types.iter().fold(self, |files, (name, cpus)| files.file(&format!("sys/devices/{name}/cpus"), cpus))
    }

    /// With a cache that some CPUs share.
    #[must_use]
    pub fn cache(self, cpus: impl IntoIterator<Item = usize> + Clone, level: u32, size: &str, shared: &str) -> Self {
        let entries = [("level", level.to_string()), ("type", "Unified".into()), ("size", size.into())];
        let entries = entries.into_iter().chain([("shared_cpu_list", shared.to_owned())]);
        let folder = format!("cache/index{level}");
        entries.fold(self, |files, (file, text)| files.each(cpus.clone(), &format!("{folder}/{file}"), text))
    }

    /// With a processor's vendor, family and model.
    #[must_use]
    pub fn cpuinfo(self, vendor: &str, family: u32, model: u32) -> Self {
        let names = format!("vendor_id\t: {vendor}\ncpu family\t: {family}\nmodel\t\t: {model}\nmodel name\t: X 12");
        self.file("proc/cpuinfo", format!("processor\t: 0\n{names}"))
    }

    /// With a processor of Intel's family 6.
    #[must_use]
    pub fn intel(self, model: u32) -> Self {
        self.cpuinfo("GenuineIntel", 6, model)
    }

    /// With the part numbers of Arm cores, CPU by CPU.
    #[must_use]
    pub fn arm(self, parts: impl IntoIterator<Item = u32>) -> Self {
        let part =
            |(cpu, part): (usize, u32)| format!("processor : {cpu}\nCPU implementer : 0x41\nCPU part : {part:#x}\n");
        self.file("proc/cpuinfo", parts.into_iter().enumerate().map(part).collect::<Vec<_>>().join("\n"))
    }

    /// Writes them below `root`.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn write(&self, root: &Path) -> io::Result<()> {
        for (path, text) in &self.0 {
            let place = root.join(path);
            if fs::write(&place, text).is_err() {
                fs::create_dir_all(place.parent().unwrap_or(root))?;
                fs::write(&place, text)?;
            }
        }
        Ok(())
    }
}
