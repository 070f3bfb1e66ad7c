// SPDX-License-Identifier: MIT OR Apache-2.0
//! BPF programs that watch the kernel beside a scheduler, and know nothing of it.

use std::path::Path;

use libbpf_rs::{Link, ObjectBuilder};

use crate::error::LiveError;
use crate::messages::collect;

/// Programs of an object that are attached; they go when this is dropped.
#[derive(Debug)]
pub struct Observer {
    // Links go before what they link.
    _links: Vec<Link>,
    _object: libbpf_rs::Object,
}

impl Observer {
    /// Loads an object and attaches all its programs where their sections say.
    ///
    /// # Errors
    /// [`LiveError::Libbpf`]: the kernel refuses it, or has not what it wants to watch.
    pub fn attach(path: &Path) -> Result<Self, LiveError> {
        let failed = |what: &str| format!("{what} {}", path.display());
        let (object, messages) = collect(|| ObjectBuilder::default().open_file(path)?.load());
        let object = object.map_err(|why| LiveError::Libbpf { what: failed("loading"), why, messages })?;
        let (links, messages) = collect(|| object.progs_mut().map(|program| program.attach()).collect());
        let links: Result<Vec<Link>, _> = links;
        let links = links.map_err(|why| LiveError::Libbpf { what: failed("attaching"), why, messages })?;
        Ok(Self { _links: links, _object: object })
    }
}
