// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a page for a browser is made of, from any bytes: JSON of the command, or a trace. A mistake has a place that the file has, and
//! what is taken gives a page whose elements are the page's own.

use tandem_report::{Page, Place, ReportError};

/// Reads bytes as JSON that the command printed.
pub fn json(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let mut page = Page::default();
    match page.add_json("f.json", text) {
        Ok(_) => check(&page),
        Err(error) => check_place(&error, bytes),
    }
}

/// Reads bytes as a trace that the command wrote.
pub fn trace(bytes: &[u8]) {
    let mut page = Page::default();
    match page.add_trace("f.pftrace", bytes) {
        Ok(()) => check(&page),
        Err(error) => check_place(&error, bytes),
    }
}

fn check_place(error: &ReportError, bytes: &[u8]) {
    assert!(!error.what.is_empty());
    match error.place {
        Place::Whole => {}
        // An end that comes too early is behind the last line's last byte.
        Place::Text(line, _) => assert!(line >= 1 && line <= 1 + bytes.iter().filter(|byte| **byte == b'\n').count()),
        Place::Byte(at) => assert!(at < bytes.len(), "{error}"),
    }
}

/// A build without the page's script has no page to check.
fn check(page: &Page) {
    assert!(!page.is_empty());
    let _ = page.machines();
    let Ok(html) = page.html() else { return };
    let (elements, ends) = (html.matches("<script").count(), html.matches("</script>").count());
    // The document, the notices, the script, and the columns of a timeline.
    assert!(elements == ends && (3..=4).contains(&elements), "{elements} elements, {ends} ends");
    assert!(!html.contains("<!--"));
}
