// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which requests are let in: only those of the server's own page.
//!
//! Other pages in the same browser can make requests to 127.0.0.1, too. They do not know the token, which is a part of every path
//! and nowhere else. Beside that, the `Host` must be the server's address, so that no name can be made to point here (DNS rebinding);
//! the `Origin`, where a browser tells it, must be the server's own, and every request that changes something must tell it; and what
//! a browser says came from another site is refused. No answer says that another origin may read it.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};

use hyper::header::{HOST, HeaderName, HeaderValue, ORIGIN};
use hyper::{HeaderMap, Method, StatusCode};

/// Bytes of a token.
const BYTES: usize = 32;
/// What a browser says of where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The address that a server is at.
#[derive(Debug, Clone)]
pub struct Address {
    port: u16,
    token: String,
}

impl Address {
    /// An address at this port, with a new token from the kernel's random numbers.
    ///
    /// # Errors
    /// There are none.
    pub fn new(port: u16) -> io::Result<Self> {
        let mut bytes = [0_u8; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut token = String::new();
        for byte in bytes {
            // Writing to a string does not fail.
            let _ = write!(token, "{byte:02x}");
        }
        Ok(Self { port, token })
    }

    /// The address, for a browser.
    pub fn url(&self) -> String {
        format!("{}/{}/", self.origin(), self.token)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    fn origin(&self) -> String {
        format!("http://{}", self.host())
    }
}

/// Why a request is refused. The answer has no more than its status: whoever asks learns nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused(pub StatusCode);

/// The path behind the token, if the request is one of the server's own page.
///
/// # Errors
/// The request comes from elsewhere, or does not say from where.
pub fn admit<'p>(address: &Address, method: &Method, path: &'p str, headers: &HeaderMap) -> Result<&'p str, Refused> {
    let only = |name: &HeaderName| {
        let mut values = headers.get_all(name).iter();
        let first = values.next().map(HeaderValue::as_bytes);
        if values.next().is_some() { Err(Refused(StatusCode::BAD_REQUEST)) } else { Ok(first) }
    };
    if only(&HOST)? != Some(address.host().as_bytes()) {
        return Err(Refused(StatusCode::MISDIRECTED_REQUEST));
    }
    let changes = match *method {
        Method::GET => false,
        Method::POST => true,
        _ => return Err(Refused(StatusCode::METHOD_NOT_ALLOWED)),
    };
    let origin = only(&ORIGIN)?;
    let own_origin = origin.map_or(!changes, |origin| origin == address.origin().as_bytes());
    let own_site = only(&FETCH_SITE)?.is_none_or(|site| site == b"same-origin" || site == b"none");
    if !own_origin || !own_site {
        return Err(Refused(StatusCode::FORBIDDEN));
    }
    let (token, rest) = path.strip_prefix('/').unwrap_or(path).split_once('/').unwrap_or((path, ""));
    if !same(token.as_bytes(), address.token.as_bytes()) {
        return Err(Refused(StatusCode::NOT_FOUND));
    }
    Ok(rest)
}

/// Whether both are the same, in a time that does not tell where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address() -> Address {
        Address { port: 4000, token: "secret".to_owned() }
    }

    fn asked(method: &Method, path: &str, headers: &[(&str, &str)]) -> Result<String, u16> {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap())
        });
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, value);
        }
        admit(&address(), method, path, &map).map(str::to_owned).map_err(|refused| refused.0.as_u16())
    }

    #[test]
    fn the_pages_own_requests_are_let_in() {
        let host = ("host", "127.0.0.1:4000");
        let origin = ("origin", "http://127.0.0.1:4000");
        assert_eq!(asked(&Method::GET, "/secret/", &[host]), Ok(String::new()));
        assert_eq!(
            asked(&Method::GET, "/secret/ui.js", &[host, ("sec-fetch-site", "same-origin")]),
            Ok("ui.js".into())
        );
        assert_eq!(asked(&Method::GET, "/secret/", &[host, ("sec-fetch-site", "none")]), Ok(String::new()));
        assert_eq!(asked(&Method::POST, "/secret/jobs", &[host, origin]), Ok("jobs".into()));
    }

    #[test]
    fn whatever_else_comes_is_refused() {
        let host = ("host", "127.0.0.1:4000");
        let own = ("origin", "http://127.0.0.1:4000");
        for (method, path, headers, status) in [
            // Names that point here, other ports, no name, two names.
            (Method::GET, "/secret/", vec![("host", "evil.example:4000")], 421),
            (Method::GET, "/secret/", vec![("host", "localhost:4000")], 421),
            (Method::GET, "/secret/", vec![("host", "127.0.0.1:4001")], 421),
            (Method::GET, "/secret/", vec![("host", "127.0.0.1")], 421),
            (Method::GET, "/secret/", vec![], 421),
            (Method::GET, "/secret/", vec![host, ("host", "evil.example")], 400),
            // Tokens.
            (Method::GET, "/", vec![host], 404),
            (Method::GET, "/secret", vec![host], 404),
            (Method::GET, "/secre/", vec![host], 404),
            (Method::GET, "/Secret/", vec![host], 404),
            (Method::GET, "/secrets/", vec![host], 404),
            (Method::GET, "//secret/", vec![host], 404),
            (Method::GET, "/favicon.ico", vec![host], 404),
            (Method::GET, "*", vec![host], 404),
            // Methods.
            (Method::OPTIONS, "/secret/jobs", vec![host], 405),
            (Method::PUT, "/secret/jobs", vec![host, own], 405),
            (Method::DELETE, "/secret/", vec![host, own], 405),
            (Method::HEAD, "/secret/", vec![host], 405),
            (Method::CONNECT, "/secret/", vec![host], 405),
            // Origins.
            (Method::POST, "/secret/jobs", vec![host], 403),
            (Method::POST, "/secret/jobs", vec![host, ("origin", "null")], 403),
            (Method::POST, "/secret/jobs", vec![host, ("origin", "http://evil.example")], 403),
            (Method::POST, "/secret/jobs", vec![host, ("origin", "https://127.0.0.1:4000")], 403),
            (Method::GET, "/secret/ui.js", vec![host, ("origin", "http://127.0.0.1:4001")], 403),
            (Method::GET, "/secret/ui.js", vec![host, ("sec-fetch-site", "cross-site")], 403),
            (Method::GET, "/secret/ui.js", vec![host, ("sec-fetch-site", "same-site")], 403),
        ] {
            assert_eq!(asked(&method, path, &headers), Err(status), "{method} {path} {headers:?}");
        }
    }

    #[test]
    fn each_server_has_a_token_of_its_own() {
        let [one, other] = [Address::new(1).unwrap(), Address::new(1).unwrap()];
        assert_eq!(one.token.len(), 2 * BYTES);
        assert_ne!(one.token, other.token);
        assert!(one.url().starts_with("http://127.0.0.1:1/"), "{}", one.url());
    }
}
