// SPDX-License-Identifier: GPL-2.0-only
//! `scripts/advisories`: a known weakness fails, a database that cannot be had does not, and is named.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::readme::repository;

/// What npm prints where it knows nothing.
const NONE: &str = r#"{"auditReportVersion":2,"vulnerabilities":{}}"#;

/// The exit status and what is said, with a cargo-deny whose subcommands print and end so, and an npm that prints this.
fn judged(fetch: &str, check: &str, npm: &str) -> (i32, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = |name: &str, script: &str| {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let deny = program("cargo-deny", &format!("if [ \"$1\" = fetch ]; then {fetch}; else {check}; fi"));
    let npm = program("npm", &format!("cat <<'END'\n{npm}\nEND"));
    let output = Command::new(repository().join("scripts/advisories")).arg(deny).env("NPM", npm).output().unwrap();
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn without_a_weakness_nothing_is_said() {
    assert_eq!(judged("true", "echo advisories ok >&2", NONE), (0, String::new()));
}

#[test]
fn a_weakness_of_a_crate_fails_and_is_shown() {
    let found = "echo 'error[vulnerability]: it leaks' >&2; exit 1";
    for fetch in ["true", "exit 1"] {
        let (status, said) = judged(fetch, found, NONE);
        assert_eq!((status, said.contains("it leaks")), (1, true), "{said}");
    }
}

#[test]
fn a_weakness_of_a_package_fails_and_is_named() {
    let found = r#"{"auditReportVersion":2,"vulnerabilities":{"d3-color":{"range":"<3.1.0","severity":"high",
        "via":[{"title":"ReDoS","url":"https://example.org/1"}]}}}"#;
    let (status, said) = judged("true", "true", found);
    assert_eq!(status, 1);
    assert_eq!(said, "advisories: packages of the page: d3-color <3.1.0: high: ReDoS https://example.org/1\n");
}

#[test]
fn a_database_that_cannot_be_had_is_named_and_fails_nothing() {
    let unreachable = "echo '2026-01-02 03:04:05 [ERROR] no such host' >&2; exit 1";
    let (status, said) =
        judged(unreachable, "echo '[ERROR] no database' >&2; exit 1", r#"{"message":"405 Method Not Allowed"}"#);
    assert_eq!(status, 0);
    assert_eq!(
        said,
        "advisories: crates: not checked: [ERROR] no database; [ERROR] no such host\n\
         advisories: packages of the page: not checked: 405 Method Not Allowed\n"
    );
    let (status, said) = judged(unreachable, "true", "");
    assert_eq!(status, 0);
    assert!(said.starts_with("advisories: crates: no known weakness, by a database from before: "), "{said}");
    assert!(said.ends_with("packages of the page: not checked: npm audit said nothing\n"), "{said}");
}
