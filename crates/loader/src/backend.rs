// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a backend cannot do of what a loader's file can say.

use crate::file::LoaderFile;
use crate::input::InputError;

/// What loads an object: a simulator, or a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendLimits {
    /// Name of the backend, for people: `Linux`.
    pub name: &'static str,
    /// Keys that it cannot follow (`run.arena`), and why.
    pub lacks: &'static [(&'static str, &'static str)],
}

/// A loader's file asks for what a backend cannot do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{at}")]
pub struct Refused {
    /// The backend.
    pub backend: BackendLimits,
    /// The key.
    pub key: &'static str,
    /// Where the file has it, and the reason.
    pub at: Box<InputError>,
}

impl BackendLimits {
    /// Whether the backend can do all that a file asks for.
    ///
    /// # Errors
    /// [`Refused`], which names the backend, the key and its place.
    pub fn accepts(&self, file: &LoaderFile) -> Result<(), Refused> {
        let asked = |(key, why): &(&'static str, &'static str)| Some((*key, *why, file.place_of(key)?));
        let Some((key, why, place)) = self.lacks.iter().find_map(asked) else { return Ok(()) };
        let at = file.mistake(place, format!("{} cannot follow `{key}`", self.name)).help(why);
        Err(Refused { backend: *self, key, at: Box::new(at) })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    const WEAK: BackendLimits =
        BackendLimits { name: "a toy", lacks: &[("map", "it has no maps"), ("run.arena", "no arena")] };

    #[test]
    fn a_refusal_names_the_backend_the_key_the_place_and_the_reason() {
        let file = LoaderFile::parse(Path::new("s.toml"), "[run]\ncheck = \"c\"\narena = \"t\"\n").unwrap();
        let refused = WEAK.accepts(&file).unwrap_err();
        assert_eq!((refused.backend.name, refused.key), ("a toy", "run.arena"));
        let text = "s.toml:3:1: a toy cannot follow `run.arena`\n 3 | arena = \"t\"\n   | ^\n  help: no arena";
        assert_eq!(refused.to_string(), text);
        let file = LoaderFile::parse(Path::new("s.toml"), "run.check = \"c\"\n").unwrap();
        assert_eq!(WEAK.accepts(&file), Ok(()));
    }
}
