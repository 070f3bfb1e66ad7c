// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment of a command: root's own stays with root.
//!
//! Root's variables can have secrets in them (tokens, passwords of data bases), and paths that only root's programs are to
//! use. A command of another user gets those that say how to talk to people, those that say who the user is, and those that
//! root names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::user::Identity;

/// Variables that reach a command of another user: its terminal, its languages, its time zone, its display.
pub const KEPT: [&str; 7] = ["TERM", "COLORTERM", "NO_COLOR", "LANG", "LANGUAGE", "TZ", "DISPLAY"];
/// All variables reach it, too, that begin so.
pub const KEPT_PREFIX: &str = "LC_";
/// Where a command is looked for that `--user` runs as somebody else.
pub const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What sudo says of itself, which a command that root had started would not see.
const OF_SUDO: [&str; 6] = ["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "SUDO_HOME", "DOAS_USER"];

/// A variable that root gives to a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: OsString,
    /// The variable's value; `None`: what root has, if root has it.
    pub value: Option<OsString>,
}

/// Whether a variable of root's may be known to a command of somebody else.
fn is_kept(name: &OsStr) -> bool {
    KEPT.iter().any(|kept| *kept == name) || name.as_bytes().starts_with(KEPT_PREFIX.as_bytes())
}

/// What a command of `user` gets of the environment `present`, with what was given to it by name.
pub(super) fn environment(
    present: impl Iterator<Item = (OsString, OsString)>,
    user: Option<&Identity>,
    given: &[Variable],
) -> BTreeMap<OsString, OsString> {
    let present: BTreeMap<OsString, OsString> = present.collect();
    let mut environment = match user {
        None => present.clone(),
        Some(user) => of_user(&present, user),
    };
    for Variable { name, value } in given {
        if let Some(value) = value.as_ref().or_else(|| present.get(name)) {
            environment.insert(name.clone(), value.clone());
        }
    }
    environment
}

/// What a command gets that is run as `user`: all but what sudo says of itself if that is root again.
fn of_user(present: &BTreeMap<OsString, OsString>, user: &Identity) -> BTreeMap<OsString, OsString> {
    let of_sudo = |name: &OsStr| OF_SUDO.iter().any(|of_sudo| *of_sudo == name);
    let kept = present.iter().filter(|(name, _)| if user.is_root() { !of_sudo(name) } else { is_kept(name) });
    let mut environment: BTreeMap<_, _> = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
    // What sudo or doas let through is what whoever called them may use.
    let theirs = present.get(OsStr::new("PATH")).filter(|_| user.called || user.is_root()).cloned();
    let mut set = |name: &str, value: OsString| environment.insert(name.into(), value);
    set("PATH", theirs.unwrap_or_else(|| PATH.into()));
    set("HOME", user.home.clone().into());
    set("SHELL", user.shell.clone().into());
    for name in ["USER", "LOGNAME"].into_iter().filter(|_| user.name.is_some()) {
        set(name, user.name.clone().unwrap_or_default().into());
    }
    environment
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn pairs(text: &str) -> impl Iterator<Item = (OsString, OsString)> {
        let pair = |pair: &str| pair.split_once('=').map(|(name, value)| (name.into(), value.into()));
        text.split_whitespace().filter_map(pair).collect::<Vec<_>>().into_iter()
    }

    fn ada(called: bool) -> Identity {
        let (home, shell) = (PathBuf::from("/home/ada"), PathBuf::from("/bin/zsh"));
        Identity { user: 1000, group: 1000, name: Some("ada".to_owned()), home, shell, called }
    }

    const OF_ROOT: &str = "AWS_SECRET_ACCESS_KEY=k HOME=/home/root LC_ALL=C LD_PRELOAD=x.so PATH=/home/root/bin:/bin SHELL=/bin/sh \
                           SUDO_UID=1000 SSH_AUTH_SOCK=/s TERM=xterm USER=root XDG_RUNTIME_DIR=/run/user/0";

    #[test]
    fn nothing_of_roots_reaches_a_command_of_another_user_but_what_stands_in_the_list() {
        let expected = "HOME=/home/ada LC_ALL=C LOGNAME=ada PATH=/usr/local/bin:/usr/bin:/bin SHELL=/bin/zsh TERM=xterm \
                        USER=ada";
        assert_eq!(environment(pairs(OF_ROOT), Some(&ada(false)), &[]), pairs(expected).collect());
    }

    #[test]
    fn whoever_called_sudo_has_the_path_that_sudo_gave_them() {
        let environment = environment(pairs(OF_ROOT), Some(&ada(true)), &[]);
        assert_eq!(environment.get(OsStr::new("PATH")), Some(&OsString::from("/home/root/bin:/bin")));
    }

    #[test]
    fn root_can_give_variables_by_name_or_with_a_value() {
        let given =
            [("OMP_NUM_THREADS", Some("4")), ("SSH_AUTH_SOCK", None), ("NOT_THERE", None), ("PATH", Some("/x"))];
        let given = given.map(|(name, value)| Variable { name: name.into(), value: value.map(OsString::from) });
        let environment = environment(pairs(OF_ROOT), Some(&ada(false)), &given);
        let value = |name: &str| environment.get(OsStr::new(name)).and_then(|value| value.to_str());
        assert_eq!((value("OMP_NUM_THREADS"), value("SSH_AUTH_SOCK")), (Some("4"), Some("/s")));
        assert_eq!((value("NOT_THERE"), value("PATH")), (None, Some("/x")));
    }

    #[test]
    fn a_command_that_root_runs_as_root_has_roots_environment_without_what_sudo_says() {
        let root = Identity { user: 0, home: "/home/root".into(), shell: "/bin/sh".into(), name: None, ..ada(false) };
        let mut expected: BTreeMap<_, _> = pairs(OF_ROOT).collect();
        expected.remove(OsStr::new("SUDO_UID"));
        assert_eq!(environment(pairs(OF_ROOT), Some(&root), &[]), expected);
    }

    #[test]
    fn a_command_of_the_same_user_has_the_whole_environment() {
        assert_eq!(environment(pairs(OF_ROOT), None, &[]), pairs(OF_ROOT).collect());
    }
}
