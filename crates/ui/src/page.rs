// SPDX-License-Identifier: MIT OR Apache-2.0
//! The page: files that are a part of the program.

/// A file of the page.
pub struct File {
    /// What it is, as HTTP says it.
    pub kind: &'static str,
    pub content: &'static str,
}

/// The file at this path behind the token.
pub fn file(path: &str) -> Option<File> {
    let (kind, content) = match path {
        "" => ("text/html; charset=utf-8", include_str!("page/index.html")),
        "icon.svg" => ("image/svg+xml", include_str!("page/icon.svg")),
        "ui.css" => ("text/css; charset=utf-8", include_str!("page/ui.css")),
        "ui.js" => ("text/javascript; charset=utf-8", include_str!("page/ui.js")),
        "editor.js" => ("text/javascript; charset=utf-8", include_str!("page/editor.js")),
        "results.js" => ("text/javascript; charset=utf-8", include_str!("page/results.js")),
        _ => return None,
    };
    Some(File { kind, content })
}

/// What the page may do: nothing but load its own files, ask its own server, and show a report in a frame.
pub const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-src 'self'; img-src 'self'; \
                          base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What a report may do: run its own scripts, without an origin, so that it cannot ask the server for anything.
pub const REPORT_POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
                                 base-uri 'none'; form-action 'none'; frame-ancestors 'self'; \
                                 sandbox allow-scripts allow-downloads allow-modals";
