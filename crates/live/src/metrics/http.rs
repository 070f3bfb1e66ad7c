// SPDX-License-Identifier: MIT OR Apache-2.0
//! As much of HTTP/1.1 as somebody needs who reads metrics: one request, one answer, and the connection is closed.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of a request that are taken: more than any reader of metrics sends.
pub const MOST_BYTES: usize = 8192;
const MOST_HEADERS: usize = 64;

/// The media type of OpenMetrics text.
const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PLAIN: &str = "text/plain; charset=utf-8";

/// Answers a request if it is there in full; `None`: more of it has to come.
pub fn answer(request: &[u8], metrics: impl FnOnce() -> String) -> Option<Vec<u8>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Complete(_)) => {}
        Ok(httparse::Status::Partial) if request.len() < MOST_BYTES => return None,
        Ok(httparse::Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(refusal("431 Request Header Fields Too Large", "too long a request"));
        }
        Err(_) => return Some(refusal("400 Bad Request", "not HTTP")),
    }
    Some(respond(&parsed, metrics))
}

fn respond(request: &httparse::Request<'_, '_>, metrics: impl FnOnce() -> String) -> Vec<u8> {
    let mut hosts = request.headers.iter().filter(|header| header.name.eq_ignore_ascii_case("host"));
    if hosts.clone().count() > 1 {
        return refusal("400 Bad Request", "more than one name of a host");
    }
    // A web page may have its visitor's browser ask for a name of its own that stands for this machine.
    if hosts.any(|host| !is_this_machine(host.value)) {
        return refusal("403 Forbidden", "asked for under a name that is not this machine's");
    }
    let path = request.path.unwrap_or_default();
    if path.split('?').next() != Some("/metrics") {
        return refusal("404 Not Found", "metrics are at /metrics");
    }
    match request.method {
        Some("GET") => response("200 OK", OPENMETRICS, "", &metrics(), true),
        Some("HEAD") => response("200 OK", OPENMETRICS, "", &metrics(), false),
        _ => response("405 Method Not Allowed", PLAIN, "Allow: GET, HEAD\r\n", "GET or HEAD\n", true),
    }
}

/// Of `localhost:9435`, `127.0.0.1`, `[::1]:9435`, and nothing that is longer: the name is compared as a whole. The port may be
/// another one than ours, as that of a tunnel is.
fn is_this_machine(host: &[u8]) -> bool {
    let Ok(host) = std::str::from_utf8(host) else { return false };
    let (name, port) = match host.strip_prefix('[').map(|rest| rest.split_once(']')) {
        Some(None) => return false,
        Some(Some((address, rest))) => {
            let is_loopback = address.parse().is_ok_and(|address: Ipv6Addr| address.is_loopback());
            return is_loopback && (rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port));
        }
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    let is_known =
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback());
    is_known && port.is_none_or(is_port)
}

/// Digits only: `parse` alone takes a sign, too.
fn is_port(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u16>().is_ok()
}

fn refusal(status: &str, words: &str) -> Vec<u8> {
    response(status, PLAIN, "", &format!("{words}\n"), true)
}

fn response(status: &str, media: &str, more: &str, body: &str, with_body: bool) -> Vec<u8> {
    let length = body.len();
    let body = if with_body { body } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media}\r\nContent-Length: {length}\r\n{more}Cache-Control: no-store\r\n\
         Connection: close\r\n\r\n{body}"
    )
    .into_bytes()
}
