// SPDX-License-Identifier: MIT OR Apache-2.0
//! A line at the control socket from any bytes.

use tandem_live::control::{MAX_LINE, Request, parse};

use super::mistake;

/// Reads bytes as a request.
pub fn run(bytes: &[u8]) {
    let request = match parse(bytes) {
        Ok(request) => request,
        Err(error) => {
            let said = error.to_string();
            mistake::plain(&said);
            return assert!(!said.contains('\n') && said.len() < MAX_LINE + 200, "{said:?}");
        }
    };
    assert!(bytes.len() <= MAX_LINE);
    // One request is written in few ways: leading zeros.
    let line = match request {
        Request::Hint { thread, length } => format!("hint {thread} {length}"),
        Request::HintNext { thread, length } => format!("hint-next {thread} {length}"),
        Request::Application { process } => format!("application {process}"),
        Request::Status => "status".to_owned(),
    };
    assert_eq!(parse(line.as_bytes()), Ok(request));
}
