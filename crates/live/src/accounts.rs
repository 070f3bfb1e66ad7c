// SPDX-License-Identifier: MIT OR Apache-2.0
//! Users and groups by name and by number.
//!
//! The C library asks what the system is configured with: files, systemd, a directory service. Linked statically it could do that
//! only with plugins of its own version, which another system does not have. A program that is linked so asks `getent`, which
//! comes with each system's C library; where there is none, the files `/etc/passwd` and `/etc/group` are all there is.

use std::ffi::CString;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{fs, io};

use nix::unistd::{Gid, Uid};
use nix::{Error, Result, unistd};

/// Whether the C library is linked statically.
const STATIC: bool = cfg!(target_feature = "crt-static");

/// Where `getent` is; it is not searched for, since root calls it.
const GETENT: &str = "/usr/bin/getent";

/// A user's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    pub name: String,
    pub user: u32,
    /// Number of the user's main group.
    pub group: u32,
    pub home: PathBuf,
    pub shell: PathBuf,
}

/// A group's entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    pub name: String,
    pub group: u32,
    /// Names of the users in its entry.
    pub members: Vec<String>,
}

/// The user of that name.
pub fn user_named(name: &str) -> Result<Option<User>> {
    if STATIC {
        Ok(entry("passwd", name)?.as_deref().and_then(user))
    } else {
        Ok(unistd::User::from_name(name)?.map(User::from))
    }
}

/// The user of that number.
pub fn user_numbered(number: u32) -> Result<Option<User>> {
    if STATIC {
        return Ok(entry("passwd", &number.to_string())?.as_deref().and_then(user));
    }
    Ok(unistd::User::from_uid(Uid::from_raw(number))?.map(User::from))
}

/// The group of that name.
pub fn group_named(name: &str) -> Result<Option<Group>> {
    if STATIC {
        Ok(entry("group", name)?.as_deref().and_then(group))
    } else {
        Ok(unistd::Group::from_name(name)?.map(Group::from))
    }
}

/// The group of that number.
pub fn group_numbered(number: u32) -> Result<Option<Group>> {
    if STATIC {
        return Ok(entry("group", &number.to_string())?.as_deref().and_then(group));
    }
    Ok(unistd::Group::from_gid(Gid::from_raw(number))?.map(Group::from))
}

/// The groups of a user whose main group is this one.
pub fn groups_of(name: &str, main: u32) -> Result<Vec<Gid>> {
    if STATIC {
        let mut groups = vec![main];
        groups.extend(further(name)?.into_iter().filter(|group| *group != main));
        return Ok(groups.into_iter().map(Gid::from_raw).collect());
    }
    let name = CString::new(name).map_err(|_| Error::EINVAL)?;
    unistd::getgrouplist(&name, Gid::from_raw(main))
}

/// Numbers of the groups whose entries name a user.
fn further(name: &str) -> Result<Vec<u32>> {
    if let Some(said) = getent("initgroups", name)? {
        return Ok(said.split_whitespace().skip(1).filter_map(|number| number.parse().ok()).collect());
    }
    let entries = file("group")?;
    let groups = entries.lines().filter_map(group).filter(|group| group.members.iter().any(|member| member == name));
    Ok(groups.map(|group| group.group).collect())
}

/// The line of a table, `passwd` or `group`, whose name or number is this one. The name comes first: one may consist of digits.
fn entry(table: &str, wanted: &str) -> Result<Option<String>> {
    if let Some(said) = getent(table, wanted)? {
        return Ok(said.lines().next().map(str::to_owned));
    }
    let entries = file(table)?;
    let found =
        |index: usize| entries.lines().find(|line| line.split(':').nth(index) == Some(wanted)).map(str::to_owned);
    Ok(found(0).or_else(|| found(2)))
}

/// What `getent` says, nothing if there is no such entry; `None` if there is no `getent`.
fn getent(table: &str, wanted: &str) -> Result<Option<String>> {
    let mut command = Command::new(GETENT);
    let output =
        command.args(["--", table, wanted]).env("LC_ALL", "C").stdin(Stdio::null()).stderr(Stdio::null()).output();
    match output {
        // 2: there is no such entry.
        Ok(output) if output.status.success() || output.status.code() == Some(2) => {
            Ok(Some(String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        Ok(_) => Err(Error::EIO),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(errno(&error)),
    }
}

/// The text of `/etc/passwd` or `/etc/group`; a system without one has no entries.
fn file(table: &str) -> Result<String> {
    match fs::read(format!("/etc/{table}")) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(errno(&error)),
    }
}

fn errno(error: &io::Error) -> Error {
    error.raw_os_error().map_or(Error::EIO, Error::from_raw)
}

/// Reads a line of `passwd`.
fn user(line: &str) -> Option<User> {
    let [name, _, user, group, _, home, shell] = line.split(':').collect::<Vec<_>>()[..] else { return None };
    let shell = if shell.is_empty() { "/bin/sh" } else { shell };
    Some(User {
        name: name.to_owned(),
        user: user.parse().ok()?,
        group: group.parse().ok()?,
        home: home.into(),
        shell: shell.into(),
    })
}

/// Reads a line of `group`.
fn group(line: &str) -> Option<Group> {
    let [name, _, group, members] = line.split(':').collect::<Vec<_>>()[..] else { return None };
    let members = members.split(',').filter(|member| !member.is_empty()).map(str::to_owned).collect();
    Some(Group { name: name.to_owned(), group: group.parse().ok()?, members })
}

impl From<unistd::User> for User {
    fn from(user: unistd::User) -> Self {
        let unistd::User { name, uid, gid, dir, shell, .. } = user;
        Self { name, user: uid.as_raw(), group: gid.as_raw(), home: dir, shell }
    }
}

impl From<unistd::Group> for Group {
    fn from(group: unistd::Group) -> Self {
        Self { name: group.name, group: group.gid.as_raw(), members: group.mem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn getent_and_the_files_say_what_the_c_library_says() {
        let root = user_named("root").unwrap().unwrap();
        assert_eq!((root.user, user_numbered(0).unwrap().unwrap()), (0, root.clone()));
        for wanted in ["root", "0"] {
            assert_eq!(user(&entry("passwd", wanted).unwrap().unwrap()), Some(root.clone()));
            assert_eq!(group(&entry("group", wanted).unwrap().unwrap()), group_named("root").unwrap());
        }
        let line = file("passwd").unwrap().lines().find(|line| line.starts_with("root:")).map(str::to_owned);
        assert_eq!(user(&line.unwrap()), Some(root));
        assert_eq!(entry("passwd", "no such user").unwrap(), None);
        assert_eq!(user_named("no such user").unwrap(), None);
        assert_eq!(group_numbered(0).unwrap().unwrap().name, "root");
    }

    #[test]
    fn groups_are_the_main_one_and_those_that_name_the_user() {
        let mut expected = groups_of("root", 0).unwrap();
        let mut found: Vec<Gid> = std::iter::once(0).chain(further("root").unwrap()).map(Gid::from_raw).collect();
        expected.sort_by_key(|group| group.as_raw());
        found.sort_by_key(|group| group.as_raw());
        found.dedup();
        assert_eq!(found, expected);
    }

    #[test]
    fn damaged_lines_are_no_entries() {
        for line in ["", "::::::", "name:x:1", "name:x:a:b::/:/bin/sh", "name:x:1:99999999999::/:/bin/sh"] {
            assert_eq!(user(line), None, "{line}");
        }
        assert_eq!(user("a:x:5:6:::").map(|user| (user.home, user.shell)), Some(("".into(), "/bin/sh".into())));
        assert_eq!(group("jobs:x:50:,b,c").map(|group| group.members), Some(vec!["b".to_owned(), "c".to_owned()]));
        assert_eq!(group("jobs:x:-1:"), None);
    }
}
