// SPDX-License-Identifier: GPL-2.0-only
//! What packages are described by agrees with the project: versions, and the files that are installed. `make test-dist` makes them
//! and installs them.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::readme::repository;

fn text(path: &str) -> String {
    fs::read_to_string(repository().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The version that the workspace has.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[test]
fn every_crate_has_the_version_and_asks_for_it() {
    for entry in fs::read_dir(repository().join("crates")).unwrap() {
        let path = entry.unwrap().path().join("Cargo.toml");
        let Ok(manifest) = fs::read_to_string(&path) else { continue };
        let manifest: toml::Table = manifest.parse().unwrap();
        let inherits = manifest["package"]["version"].get("workspace").and_then(toml::Value::as_bool);
        assert_eq!(inherits, Some(true), "{}", path.display());
        let dependencies = ["dependencies", "dev-dependencies", "build-dependencies"];
        for (name, wanted) in dependencies.iter().filter_map(|kind| manifest.get(*kind)?.as_table()).flatten() {
            if name.starts_with("tandem-") {
                assert_eq!(wanted["version"].as_str(), Some(VERSION), "{}: {name}", path.display());
            }
        }
    }
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let lock: toml::Table = text(lock).parse().unwrap();
        for package in lock["package"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap();
            if name.starts_with("tandem-") && name != "tandem-fuzz" {
                assert_eq!(package["version"].as_str(), Some(VERSION), "{name}");
            }
        }
    }
}

#[test]
fn the_changelog_begins_with_the_version_and_its_day() {
    let changelog = text("CHANGELOG.md");
    let section = changelog.lines().find(|line| line.starts_with("## ")).unwrap();
    let day = section.strip_prefix(&format!("## {VERSION} (")).and_then(|rest| rest.strip_suffix(')')).unwrap();
    let numbers: Vec<u32> = day.split('-').map(|number| number.parse().unwrap()).collect();
    assert!(matches!(numbers[..], [2026..=2999, 1..=12, 1..=31]), "{section}");
}

/// The files that `make` installs below a folder, or has left there.
fn make(folder: &Path, target: &str) -> BTreeSet<String> {
    let mut command = Command::new("make");
    command.args(["--silent", target, "PREFIX=/usr"]).current_dir(repository());
    command.arg(format!("DESTDIR={}", folder.display())).arg(format!("INSTALLED={}", env!("CARGO_BIN_EXE_tandem")));
    // Manual pages are made in a folder of their own: another `make` may be at it.
    command.arg(format!("OUT={}/out", folder.display())).env_remove("MAKEFLAGS");
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = Command::new("find")
        .arg(folder.join("usr"))
        .args(["!", "-type", "d", "-printf", "/usr/%P\n"])
        .output()
        .unwrap();
    String::from_utf8(listed.stdout).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn packages_have_what_is_installed_and_what_is_uninstalled_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let installed = make(folder.path(), "install-built");
    let spec = text("dist/fedora/tandem.spec");
    let (_, files) = spec.split_once("%files\n").unwrap();
    let listed: BTreeSet<&str> =
        files.lines().take_while(|line| !line.is_empty()).filter(|line| line.starts_with('/')).collect();
    let matches = |path: &str, pattern: &str| match pattern.split_once('*') {
        Some((start, _)) => path.starts_with(start),
        None => path == pattern,
    };
    for path in &installed {
        assert!(listed.iter().any(|pattern| matches(path, pattern)), "the RPM spec lacks {path}");
    }
    for pattern in listed {
        assert!(
            installed.iter().any(|path| matches(path, pattern)),
            "the RPM spec lists {pattern}, which is not installed"
        );
    }
    let path = folder.path().join("usr/lib/systemd/system/tandem.service");
    let unit = fs::read_to_string(&path).unwrap();
    assert!(unit.contains("ExecStart=/usr/bin/tandem attach") && !unit.contains("@BINDIR"), "{unit}");
    exposure_is_low(&path);
    let left = make(folder.path(), "uninstall");
    assert!(left.is_empty(), "{left:?}");
}

/// Of ten points, as systemd counts them, a service that is exposed to nothing has none; root's is at 9.6 without restrictions.
fn exposure_is_low(unit: &Path) {
    let mut analyze = Command::new("systemd-analyze");
    analyze.args(["security", "--offline=true", "--no-pager", "--threshold=30"]).arg(unit);
    let Ok(output) = analyze.output() else {
        eprintln!("not judged: there is no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    if said.contains("unrecognized option") {
        eprintln!("not judged: this systemd-analyze judges no file (that is so since systemd 250)");
        return;
    }
    assert!(output.status.success() && said.contains("Overall exposure level"), "above 3.0:\n{said}");
}

/// What `tandem attach` does in a terminal without options the service does, too: which mechanisms pay is docs/modes.md's affair.
#[test]
fn the_service_turns_nothing_on_that_the_command_does_not() {
    let unit = text("dist/tandem.service");
    let options: Vec<&str> = unit.lines().filter(|line| line.starts_with("Environment=")).collect();
    assert_eq!(options, ["Environment=TANDEM_OPTIONS="]);
}

#[test]
fn what_packages_name_is_there() {
    // Words of PKGBUILD, the spec and the parts of `scripts/dist` that are files of the project.
    let sources = [text("dist/arch/PKGBUILD"), text("dist/fedora/tandem.spec")];
    let mut count = 0;
    for word in sources.iter().flat_map(|source| source.split_whitespace()) {
        let is_file =
            word.starts_with("dist/") || word.starts_with("LICENSE-") || (word.ends_with(".md") && !word.contains('*'));
        if is_file {
            assert!(repository().join(word).is_file(), "{word}");
            count += 1;
        }
    }
    assert!(count >= 10, "{count} files");
    let check = Command::new("bash").arg("-n").arg(repository().join("dist/arch/PKGBUILD")).status().unwrap();
    assert!(check.success());
    for script in
        ["dist/debian/prerm", "dist/debian/postrm", "dist/arch/tandem.install", "scripts/dist", "scripts/dist-tests"]
    {
        assert!(Command::new("sh").arg("-n").arg(repository().join(script)).status().unwrap().success(), "{script}");
    }
}

#[test]
fn the_book_has_every_page_of_the_guide() {
    let summary = text("docs/SUMMARY.md");
    for page in crate::documents_common::pages() {
        let link = match page.strip_prefix("docs") {
            Ok(page) if page.ends_with("SUMMARY.md") => continue,
            Ok(page) => page.display().to_string(),
            Err(_) => format!("../{}", page.display()),
        };
        assert!(summary.contains(&format!("]({link})")), "docs/SUMMARY.md lacks {link}");
    }
}
