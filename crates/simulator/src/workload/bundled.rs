// SPDX-License-Identifier: MIT OR Apache-2.0
//! Workloads that come with Tandem, and how a workload is found by path or by name.

use std::path::Path;

use tandem_loader::bounded::Limit;

use super::{Workload, rt_app};
use crate::input::{InputError, nearest};

macro_rules! bundled {
    ($($name:literal),* $(,)?) => {
        /// Name and text of each bundled workload.
        pub const BUNDLED: &[(&str, &str)] = &[$(($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/workloads/", $name, ".json")))),*];
    };
}

bundled!("forkjoin", "locks", "loops", "mixed-memory", "noise", "periodic", "pipeline");

impl Workload {
    /// Reads the rt-app file `path`, or the bundled workload of that name (`forkjoin`) where there is no such file.
    ///
    /// # Errors
    /// A file that cannot be read, or a mistake in it.
    pub fn load(path: &Path) -> Result<Self, InputError> {
        match BUNDLED.iter().find(|(name, _)| Path::new(name) == path) {
            Some((name, text)) if !path.exists() => return rt_app::parse(Path::new(&format!("{name}.json")), text),
            _ => {}
        }
        let bytes = Limit::DESCRIPTION.read(path).map_err(|error| unreadable(path, &error))?;
        let text = String::from_utf8(bytes).map_err(|error| {
            InputError::whole(path, format!("not text: byte {} is not UTF-8", error.utf8_error().valid_up_to()))
        })?;
        rt_app::parse(path, &text)
    }

    /// Reads `text`, the content of the rt-app file `path`. The file's stem is the workload's name.
    ///
    /// # Errors
    /// The first mistake in the file.
    pub fn parse(path: &Path, text: &str) -> Result<Self, InputError> {
        rt_app::parse(path, text)
    }
}

fn unreadable(path: &Path, error: &std::io::Error) -> InputError {
    if error.kind() != std::io::ErrorKind::NotFound {
        return InputError::whole(path, format!("cannot be read: {error}"));
    }
    let names = BUNDLED.iter().map(|(name, _)| *name);
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let near = nearest(&stem, names.clone()).map_or_else(String::new, |name| format!("did you mean `{name}`? "));
    let list = names.map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    InputError::whole(path, "no such file, and no bundled workload of that name").help(format!("{near}bundled: {list}"))
}
