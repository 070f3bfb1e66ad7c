// SPDX-License-Identifier: MIT OR Apache-2.0
//! A request for metrics from any bytes.

use tandem_live::metrics::{MOST_REQUEST_BYTES, answer_request};

/// What is asked for.
const METRICS: &str = "# EOF\n";

/// Reads bytes as a request.
pub fn run(bytes: &[u8]) {
    let bytes = &bytes[..bytes.len().min(MOST_REQUEST_BYTES)];
    let mut asked = 0;
    let answer = answer_request(bytes, || {
        asked += 1;
        METRICS.to_owned()
    });
    let Some(answer) = answer else { return assert!(bytes.len() < MOST_REQUEST_BYTES, "it waits for ever") };
    let Ok(answer) = String::from_utf8(answer) else { panic!("the answer is no text") };
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { panic!("{answer:?} has no end") };
    let mut lines = head.split("\r\n");
    let status = lines.next().unwrap_or_default();
    assert!(
        ["200", "400", "403", "404", "405", "431"].iter().any(|code| status.starts_with(&format!("HTTP/1.1 {code} ")))
    );
    assert_eq!(status.contains(" 200 "), asked == 1, "{status}");
    let length = lines.find_map(|line| line.strip_prefix("Content-Length: ")).and_then(|length| length.parse().ok());
    assert!(length == Some(body.len()) || body.is_empty() && length == Some(METRICS.len()), "{answer:?}");
}
