// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page's script and style, as they were when this was compiled.

include!(concat!(env!("OUT_DIR"), "/bundle.rs"));

/// What `make page` makes of `page/`.
#[derive(Debug, Clone, Copy)]
pub struct Bundle {
    /// The script, with the libraries that it uses.
    pub script: &'static str,
    /// The SHA-256 of the script in base64, by which the page allows it and no other.
    pub script_sha256: &'static str,
    /// The style sheet.
    pub style: &'static str,
    /// The licences of the libraries in the script.
    pub notices: &'static str,
}

/// The page was not there when this was compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this build has no page: run `make page` (it needs node and npm, once), and build again")]
pub struct NoPage;

impl Bundle {
    /// The page, if it was there.
    ///
    /// # Errors
    /// [`NoPage`] if it was not.
    pub fn embedded() -> Result<Self, NoPage> {
        BUNDLE.ok_or(NoPage)
    }
}
