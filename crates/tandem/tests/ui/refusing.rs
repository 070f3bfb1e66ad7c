// SPDX-License-Identifier: GPL-2.0-only
//! Nobody but the page itself gets an answer, and nothing that is sent harms.

use super::*;

#[test]
fn only_the_token_opens_the_page() {
    let page = Page::open();
    let host = page.host();
    let host = [("Host", host.as_str())];
    assert_eq!(page.get("").status, 200);
    let other = page.token.replace(|_: char| true, "0");
    for path in [
        "/",
        "/index.html",
        "/jobs",
        "/catalogue",
        "/favicon.ico",
        "/ui.js",
        &format!("/{other}/"),
        &format!("/{}", page.token),
    ] {
        let answer = page.send("GET", path, &host, b"");
        assert_eq!((answer.status, answer.body.len()), (404, 0), "{path}");
        assert!(!answer.head.contains(&page.token), "{}", answer.head);
    }
    // Nothing else is served, and no file.
    for path in [
        "../../etc/passwd",
        "..%2f..%2fetc/passwd",
        "text/machine/..",
        "text/machine//etc/passwd",
        "jobs/0",
        "jobs/0/../said.txt",
        "jobs/-1",
        "jobs/99999999999999999999999",
    ] {
        assert_eq!(page.get(path).status, 404, "{path}");
    }
}

#[test]
fn other_hosts_origins_sites_and_methods_are_refused() {
    let page = Page::open();
    let (host, path) = (page.host(), page.path(""));
    let (localhost, evil) = (format!("localhost:{}", page.port), format!("evil.example:{}", page.port));
    for wrong in [localhost.as_str(), evil.as_str(), "127.0.0.1"] {
        let answer = page.send("GET", &path, &[("Host", wrong)], b"");
        assert_eq!((answer.status, answer.body.len()), (421, 0), "{wrong}");
    }
    let jobs = page.path("jobs");
    let own = format!("http://{host}");
    for (headers, status) in [
        (vec![("Host", host.as_str())], 403),
        (vec![("Host", host.as_str()), ("Origin", "null")], 403),
        (vec![("Host", host.as_str()), ("Origin", "https://evil.example")], 403),
        (vec![("Host", host.as_str()), ("Origin", own.as_str()), ("Sec-Fetch-Site", "cross-site")], 403),
        (vec![("Host", host.as_str()), ("Origin", own.as_str())], 400),
    ] {
        assert_eq!(page.send("POST", &jobs, &headers, b"{}").status, status, "{headers:?}");
    }
    for method in ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "HEAD"] {
        let answer = page.send(method, &jobs, &[("Host", &host), ("Origin", &own)], b"");
        assert_eq!(answer.status, 405, "{method}");
        assert!(!answer.head.to_lowercase().contains("access-control"), "{}", answer.head);
    }
    assert_eq!(page.get("jobs").json(), serde_json::json!([]), "nothing of this ran");
}

#[test]
fn answers_say_that_nothing_may_be_embedded_kept_or_told() {
    let page = Page::open();
    for path in ["", "ui.js", "catalogue", "jobs"] {
        let head = page.get(path).head.to_lowercase();
        for line in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "frame-ancestors 'none'",
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(line), "{path}: {line}: {head}");
        }
        assert!(!head.contains("access-control") && !head.contains("set-cookie"), "{head}");
    }
}

#[test]
fn the_address_is_of_this_computer_alone() {
    let page = Page::open();
    let listening = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let port = format!(":{:04X}", page.port);
    let own: Vec<&str> =
        listening.lines().filter_map(|line| line.split_whitespace().nth(1)).filter(|at| at.ends_with(&port)).collect();
    // 127.0.0.1, the bytes as this computer's.
    assert!(!own.is_empty() && own.iter().all(|at| at.starts_with("0100007F:")), "{own:?}");
}

#[test]
fn what_is_no_request_too_large_or_nonsense_harms_nothing() {
    let page = Page::open();
    let status = |bytes: &[u8]| String::from_utf8_lossy(&page.raw(bytes)).split(' ').nth(1).map(str::to_owned);
    assert_eq!(status(b"\x16\x03\x01 hello"), Some("400".to_owned()));
    assert_eq!(status(b"GET / HTTP/1.1\r\nHost"), None, "half a request has no answer");
    let long = [b"GET /".as_slice(), &[b'a'; 1 << 20], b" HTTP/1.1\r\n\r\n"].concat();
    assert!(matches!(status(&long).as_deref(), Some("414" | "431") | None), "{:?}", status(&long));
    let headers = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(10_000));
    assert!(matches!(status(headers.as_bytes()).as_deref(), Some("431") | None));
    // 5 MiB are more than a machine has.
    let (host, origin) = (page.host(), format!("http://{}", page.host()));
    let large = vec![b'x'; 5 << 20];
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: {host}\r\nOrigin: {origin}\r\nContent-Length: {}\r\n\r\n",
        page.path("check"),
        large.len()
    );
    assert_eq!(status(&[head.as_bytes(), &large].concat()).as_deref(), Some("413"));
    for (path, body) in [
        ("check", "{"),
        ("check", "[1]"),
        ("check", r#"{"what":"house","text":""}"#),
        ("jobs", "null"),
        ("jobs", r#"{"machine":{"name":"hikey960"},"workload":{"name":"forkjoin"},"schedulers":[]}"#),
        ("jobs", r#"{"machine":{"name":"../x","text":""},"workload":{"name":"forkjoin"},"schedulers":["fair"]}"#),
        ("jobs", r#"{"machine":{"name":"/etc/passwd"},"workload":{"name":"forkjoin"},"schedulers":["fair"]}"#),
        (
            "jobs",
            r#"{"machine":{"name":"hikey960"},"workload":{"name":"forkjoin"},"schedulers":["fair"],"runs":100000}"#,
        ),
    ] {
        let answer = page.post(path, body);
        assert_eq!(answer.status, 400, "{path} {body}: {}", answer.text());
        assert!(answer.json()["error"].is_string(), "{}", answer.text());
    }
    assert_eq!(page.get("").status, 200);
}

#[test]
fn a_mistake_in_a_text_has_its_place() {
    let page = Page::open();
    let text = page.get("text/machine/hikey960").text();
    let wrong = text.replacen("schema = ", "shema = ", 1);
    let line = wrong.lines().position(|line| line.starts_with("shema")).unwrap() + 1;
    let found = page.post("check", &serde_json::json!({ "what": "machine", "text": wrong }).to_string()).json();
    assert_eq!((&found["mistake"]["line"], &found["mistake"]["column"]), (&line.into(), &1.into()), "{found}");
    let found = page.post("check", &serde_json::json!({ "what": "machine", "text": text }).to_string()).json();
    assert!(found["mistake"].is_null(), "{found}");
}
