// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a person has chosen elsewhere: a power profile of a daemon, or the firmware's.

use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tandem_loader::steering::Said;

/// The names at which power-profiles-daemon and tuned-ppd answer: of today, and of before version 0.20.
const NAMES: [(&str, &str); 2] = [
    ("org.freedesktop.UPower.PowerProfiles", "/org/freedesktop/UPower/PowerProfiles"),
    ("net.hadess.PowerProfiles", "/net/hadess/PowerProfiles"),
];

/// Asks the daemon that holds power profiles.
pub trait Profiles: Debug {
    /// The profile that is active; `None`: no daemon answers.
    fn active(&self) -> Option<String>;
}

/// The daemon on the system's bus, asked by systemd's `busctl`: one property, seldom, is not worth a library for D-Bus.
#[derive(Debug, Clone)]
pub struct Bus {
    busctl: PathBuf,
    socket: PathBuf,
}

impl Default for Bus {
    fn default() -> Self {
        Self { busctl: PathBuf::from("/usr/bin/busctl"), socket: PathBuf::from("/run/dbus/system_bus_socket") }
    }
}

impl Bus {
    /// Asks by another program than systemd's, at a bus with another socket than the system's.
    pub fn by(busctl: &Path, socket: &Path) -> Self {
        Self { busctl: busctl.to_owned(), socket: socket.to_owned() }
    }

    fn ask(&self, name: &str, path: &str) -> Option<String> {
        // A daemon that does not run is not to be started for this, and nobody is waited for.
        let mut command = Command::new(&self.busctl);
        command.args([
            "--system",
            "--auto-start=no",
            "--timeout=0.2",
            "get-property",
            name,
            path,
            name,
            "ActiveProfile",
        ]);
        let output = command.env_clear().stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        string(&text).map(str::to_owned)
    }
}

impl Profiles for Bus {
    fn active(&self) -> Option<String> {
        // A program that finds no bus has still been started, and the session waits for it.
        self.socket.exists().then_some(())?;
        NAMES.iter().find_map(|(name, path)| self.ask(name, path))
    }
}

/// The string that busctl prints: `s "balanced"`.
fn string(text: &str) -> Option<&str> {
    text.trim().strip_prefix("s \"")?.strip_suffix('"')
}

/// What a daemon and the firmware say now.
pub(super) fn said(root: &Path, profiles: &dyn Profiles) -> Said {
    Said { daemon: profiles.active(), platform: platform(root) }
}

/// The firmware's profile. Kernels with several providers have one folder for each beside the common file, which then says `custom`
/// if they differ.
pub(super) fn platform(root: &Path) -> Option<String> {
    let read = |path: PathBuf| fs::read_to_string(path).ok().map(|text| text.trim().to_owned());
    let common = read(root.join("sys/firmware/acpi/platform_profile"));
    common.filter(|name| name != "custom").or_else(|| {
        let folders = fs::read_dir(root.join("sys/class/platform-profile")).ok()?;
        let mut names: Vec<String> = folders.flatten().filter_map(|entry| read(entry.path().join("profile"))).collect();
        names.sort();
        names.dedup();
        // Providers that differ say nothing.
        <[String; 1]>::try_from(names).ok().map(|[name]| name)
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_profile_of_the_firmware_is_the_common_one_or_the_one_that_all_providers_have() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert_eq!(platform(root.path()), None);
        write("sys/class/platform-profile/platform-profile-0/profile", "low-power\n");
        assert_eq!(platform(root.path()).unwrap(), "low-power");
        write("sys/class/platform-profile/platform-profile-1/profile", "balanced\n");
        assert_eq!(platform(root.path()), None);
        write("sys/firmware/acpi/platform_profile", "performance\n");
        assert_eq!(platform(root.path()).unwrap(), "performance");
    }

    #[test]
    fn a_daemon_is_asked_by_the_name_of_today_and_then_by_that_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let (busctl, socket) = (folder.path().join("busctl"), folder.path().join("socket"));
        fs::write(&socket, "").unwrap();
        let script = |text: &str| {
            fs::write(&busctl, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(&busctl, fs::Permissions::from_mode(0o755)).unwrap();
        };
        let active = || Bus::by(&busctl, &socket).active();
        assert_eq!(active(), None);
        script("case $* in *net.hadess*) echo 's \"power-saver\"';; *) exit 1;; esac");
        assert_eq!(active().unwrap(), "power-saver");
        script("case $* in *'--auto-start=no'*UPower*ActiveProfile) echo 's \"performance\"';; *) exit 1;; esac");
        assert_eq!(active().unwrap(), "performance");
        script("echo 'v s \"odd\"'");
        assert_eq!(active(), None);
        script("echo 's \"balanced\"'");
        assert_eq!(active().unwrap(), "balanced");
        fs::remove_file(&socket).unwrap();
        assert_eq!(active(), None, "without a bus nobody is asked");
    }
}
