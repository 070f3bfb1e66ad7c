// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whose command it is: who called `sudo` runs it, not root.

use std::env;
use std::path::PathBuf;

use nix::unistd::Uid;

use crate::accounts::{self, User};

/// The user as whom a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The user's number.
    pub user: u32,
    /// Number of the user's main group.
    pub group: u32,
    /// Their name; without an entry in the password file, none, and no further groups either.
    pub name: Option<String>,
    /// Home folder of the user.
    pub home: PathBuf,
    /// Shell of the user.
    pub shell: PathBuf,
    /// Whether they became root to call this (`sudo`, `doas`): the terminal is theirs.
    pub called: bool,
}

impl Identity {
    /// Whether that is root again, from whom nothing is kept.
    pub fn is_root(&self) -> bool {
        self.user == 0
    }
}

/// Why it is not clear whose command it is.
#[derive(Debug, thiserror::Error)]
pub enum UserError {
    /// No user has that name.
    #[error("--user {0}: there is no such user")]
    Unknown(String),
    /// Only root can run commands as others.
    #[error("--user {0}: only root can run a command as somebody else; `sudo tandem run ...`")]
    NotRoot(String),
    /// The password file cannot be read.
    #[error("{who}: cannot be looked up: {why}")]
    Lookup {
        /// Who was looked for.
        who: String,
        /// What the system said.
        why: nix::Error,
    },
}

/// Whom the command runs as: `--user`, else who called sudo (`SUDO_UID`) or doas (`DOAS_USER`). `None`: as this process does.
///
/// # Errors
/// [`UserError`].
pub fn of_command(wanted: Option<&str>) -> Result<Option<Identity>, UserError> {
    let is_root = Uid::effective().is_root();
    match wanted {
        Some(name) if !is_root => Err(UserError::NotRoot(name.to_owned())),
        Some(name) => {
            let by_number = name.parse().ok().map(|number| by_number(number, None));
            let found = by_number.map_or_else(|| by_name(name), |found| found.map(Some))?;
            let found = found.ok_or_else(|| UserError::Unknown(name.to_owned()))?;
            let called = caller()?.is_some_and(|caller| caller.user == found.user);
            Ok(Some(Identity { called, ..found }))
        }
        None if !is_root => Ok(None),
        None => Ok(caller()?.map(|caller| Identity { called: true, ..caller })),
    }
}

/// Who became root to call this; `None` for root themselves.
fn caller() -> Result<Option<Identity>, UserError> {
    let number = |variable: &str| env::var(variable).ok().and_then(|number| number.parse::<u32>().ok());
    if let Some(user) = number("SUDO_UID").filter(|user| *user != 0) {
        return by_number(user, number("SUDO_GID")).map(Some);
    }
    match env::var("DOAS_USER") {
        Ok(name) if name != "root" => by_name(&name),
        _ => Ok(None),
    }
}

fn by_name(name: &str) -> Result<Option<Identity>, UserError> {
    let found = accounts::user_named(name).map_err(|why| UserError::Lookup { who: name.to_owned(), why })?;
    Ok(found.map(Identity::from))
}

/// A user without an entry is one all the same, as in containers.
fn by_number(user: u32, group: Option<u32>) -> Result<Identity, UserError> {
    let failed = |why| UserError::Lookup { who: format!("user {user}"), why };
    let found = accounts::user_numbered(user).map_err(failed)?;
    let nameless = Identity {
        user,
        group: group.unwrap_or(user),
        name: None,
        home: PathBuf::from("/"),
        shell: PathBuf::from("/bin/sh"),
        called: false,
    };
    Ok(found.map_or(nameless, Identity::from))
}

impl From<User> for Identity {
    fn from(user: User) -> Self {
        let User { name, user, group, home, shell } = user;
        Self { user, group, name: Some(name), home, shell, called: false }
    }
}
