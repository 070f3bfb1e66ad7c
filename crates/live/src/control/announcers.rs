// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who may say that a process is an application: with isolation that pushes everything else off its CPUs.

use std::collections::BTreeSet;
use std::fmt;

use super::Peer;
use crate::accounts;

/// Who may announce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Announcers {
    /// Root only.
    Root,
    /// The members of a group, and root.
    Group(Members),
    /// All users, each for processes of their own.
    Anybody,
}

/// A group as it was when it was looked up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Members {
    /// The group's name, or its number if it has none.
    pub name: String,
    /// Number of the group.
    pub group: u32,
    /// Users whom the group's entry names.
    pub users: BTreeSet<u32>,
}

/// Why it is not clear who may announce.
#[derive(Debug, thiserror::Error)]
pub enum AnnouncersError {
    /// No group has that name.
    #[error("expected root, anybody, or a group: there is no group {0}")]
    Unknown(String),
    /// The file of groups cannot be read.
    #[error("the group {name} cannot be looked up: {why}")]
    Lookup {
        /// What was looked for.
        name: String,
        /// What the system said.
        why: nix::Error,
    },
}

impl Announcers {
    /// Reads `root`, `anybody`, or a group by name or number. Who joins the group later is heard from the next session on.
    ///
    /// # Errors
    /// [`AnnouncersError`].
    pub fn named(word: &str) -> Result<Self, AnnouncersError> {
        match word {
            "root" => return Ok(Self::Root),
            "anybody" => return Ok(Self::Anybody),
            _ => {}
        }
        let failed = |why| AnnouncersError::Lookup { name: word.to_owned(), why };
        let number = word.parse().ok();
        let found = match number {
            Some(number) => accounts::group_numbered(number),
            None => accounts::group_named(word),
        };
        let members = match (found.map_err(failed)?, number) {
            (Some(group), _) => Members {
                group: group.group,
                users: group.members.iter().filter_map(|name| Some(accounts::user_named(name).ok()??.user)).collect(),
                name: group.name,
            },
            (None, Some(group)) => Members { name: word.to_owned(), group, users: BTreeSet::new() },
            (None, None) => return Err(AnnouncersError::Unknown(word.to_owned())),
        };
        Ok(Self::Group(members))
    }

    /// Whether somebody may announce at all; which processes is another question ([`super::rights`]).
    pub fn have(&self, peer: Peer) -> bool {
        match self {
            _ if peer.is_root() => true,
            Self::Root => false,
            Self::Group(members) => peer.group == members.group || members.users.contains(&peer.user),
            Self::Anybody => true,
        }
    }
}

impl fmt::Display for Announcers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => f.write_str("root only"),
            Self::Group(members) => write!(f, "root and the group {}", members.name),
            Self::Anybody => f.write_str("all users"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(user: u32, group: u32) -> Peer {
        Peer { user, group, process: 1 }
    }

    #[test]
    fn root_announces_always_and_others_as_the_session_has_it() {
        let members = Members { name: "jobs".to_owned(), group: 50, users: BTreeSet::from([1001]) };
        let may = |announcers: &Announcers| {
            [peer(0, 0), peer(1000, 50), peer(1001, 1001), peer(1002, 1002)].map(|peer| announcers.have(peer))
        };
        assert_eq!(may(&Announcers::Root), [true, false, false, false]);
        assert_eq!(may(&Announcers::Group(members)), [true, true, true, false]);
        assert_eq!(may(&Announcers::Anybody), [true; 4]);
    }

    #[test]
    fn announcers_have_names_and_numbers() {
        assert_eq!(Announcers::named("root").unwrap(), Announcers::Root);
        assert_eq!(Announcers::named("anybody").unwrap(), Announcers::Anybody);
        // No system has a group of this number, or of this name.
        let Announcers::Group(members) = Announcers::named("4000000000").unwrap() else { panic!("no group") };
        assert_eq!((members.group, members.users.len()), (4_000_000_000, 0));
        let refused = Announcers::named("no such group").unwrap_err().to_string();
        assert_eq!(refused, "expected root, anybody, or a group: there is no group no such group");
    }
}
