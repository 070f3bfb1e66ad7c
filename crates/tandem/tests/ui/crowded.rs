// SPDX-License-Identifier: GPL-2.0-only
//! Whoever connects and shows no token keeps nobody else out.

use super::*;

/// Connections that were made and say nothing.
fn silent(page: &Page, count: usize) -> Vec<TcpStream> {
    (0..count).map(|_| TcpStream::connect(("127.0.0.1", page.port)).unwrap()).collect()
}

/// A shell of another user that connects as often as it can, and says nothing; it says a line once it has done so `first` times. It
/// ends when it is dropped.
struct Nobody(Child);

impl Nobody {
    /// `None` where this process may not become another user.
    fn connect(page: &Page, first: u32) -> Option<Self> {
        let script = format!(
            "n=0; while exec {{fd}}<>/dev/tcp/127.0.0.1/{}; do fds+=($fd); n=$((n + 1)); [ $n != {first} ] || echo
             [ ${{#fds[@]}} -lt 500 ] || {{ old=${{fds[0]}}; fds=(\"${{fds[@]:1}}\"); exec {{old}}>&-; }}; done",
            page.port
        );
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "bash", "-c", &script]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take()?).read_line(&mut line).ok()?;
        let nobody = Self(child);
        if line.is_empty() { None } else { Some(nobody) }
    }
}

impl Drop for Nobody {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn connections_that_say_nothing_keep_the_page_open() {
    let page = Page::open();
    let silent = silent(&page, 100);
    for _ in 0..20 {
        assert_eq!(page.get("jobs").status, 200);
    }
    drop(silent);
}

#[test]
fn another_user_who_connects_without_end_takes_no_request_from_ones_own() {
    let page = Page::open();
    let Some(_nobody) = Nobody::connect(&page, 200) else {
        eprintln!("not tried: only root may become another user");
        return;
    };
    for _ in 0..20 {
        assert_eq!(page.get("jobs").status, 200);
    }
}

#[test]
fn what_shows_no_token_has_one_answer() {
    let page = Page::open();
    let request = format!("GET /wrong/ HTTP/1.1\r\nHost: {}\r\n\r\n", page.host());
    let answers = String::from_utf8(page.raw(request.repeat(3).as_bytes())).unwrap();
    assert_eq!(answers.matches("HTTP/1.1 404").count(), 1, "{answers}");
    assert!(answers.to_lowercase().contains("connection: close"), "{answers}");
}
