// SPDX-License-Identifier: MIT OR Apache-2.0
//! The HTML file around what a page shows.
//!
//! Texts come from files that somebody else wrote. In the title they are escaped as HTML; everything else is JSON in an element that
//! the browser does not execute, without any `<`, and the script puts it into the page as text. Should a text get into the page as
//! code all the same, the content security policy of the page lets no script run but the page's own, and nothing be fetched.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::bundle::Bundle;

/// The file.
pub fn page(bundle: &Bundle, title: &str, document: &impl Serialize, columns: &[Vec<u8>]) -> String {
    let Bundle { script, script_sha256, style, notices } = bundle;
    let policy = format!(
        "default-src 'none'; script-src 'sha256-{}'; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; \
         form-action 'none'",
        script_sha256.trim()
    );
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"generator\" content=\"tandem {version}\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n\
         <title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n\
         <noscript>This report is drawn by a script of its own, which is turned off here. It needs no network.</noscript>\n",
        version = env!("CARGO_PKG_VERSION"),
        title = escaped(title),
    );
    html += &element("document", "application/json", &json(document));
    html += &element("notices", "text/plain", &json(notices));
    for (index, bytes) in columns.iter().enumerate() {
        html += &element(&format!("columns-{index}"), "text/plain", &STANDARD.encode(bytes));
    }
    html += "<script>";
    html += script;
    html += "</script>\n</body>\n</html>\n";
    html
}

fn element(id: &str, kind: &str, content: &str) -> String {
    format!("<script type=\"{kind}\" id=\"{id}\">{content}</script>\n")
}

/// JSON without what ends an element, or begins a comment in one: `<` is written as an escape, as `>` and `&` are.
fn json(value: &impl Serialize) -> String {
    // A value that is no JSON would be a mistake of this crate: maps have texts as keys.
    let text = serde_json::to_string(value).unwrap_or_else(|error| format!("{:?}", error.to_string()));
    text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: Bundle = Bundle { script: "run()", script_sha256: "abc=\n", style: "p{}\n", notices: "MIT" };

    #[test]
    fn a_text_never_ends_its_element() {
        let hostile = "</script><script>alert(1)</script><!--<script>&\"'";
        let page = page(&BUNDLE, hostile, &[hostile], &[vec![1, 2, 3]]);
        // The document, the notices, the columns and the script.
        assert_eq!(page.matches("<script").count(), 4);
        assert_eq!(page.matches("</script>").count(), 4);
        assert!(!page.contains("<!--") && !page.contains("alert(1)</"), "{page}");
        let document = page.split_once("id=\"document\">").unwrap().1.split_once("</script>").unwrap().0;
        assert_eq!(serde_json::from_str::<Vec<String>>(document).unwrap(), [hostile]);
        assert!(page.contains("script-src 'sha256-abc='") && page.contains("AQID"));
    }
}
