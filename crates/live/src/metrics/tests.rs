// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a reader of metrics gets, over real connections.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use super::*;
use crate::meter::{Domain, Energy, Method, NotMeasured, Part, Why};
use crate::testing::{PATIENCE, wait_until};

fn snapshot() -> Snapshot {
    let domain = Domain { part: Part::Package, package: 1, die: 0 };
    let method = Method::Counted;
    let energy = vec![Energy { source: "powercap intel-rapl:0 package-0".to_owned(), domain, method, joules: 12.5 }];
    let (source, domain) = ("hwmon hwmon1 \"odd\"".to_owned(), Domain { part: Part::Other, package: 0, die: 0 });
    let missing = vec![NotMeasured { source, domain, why: Why::StandsStill(Duration::from_secs(3)) }];
    Snapshot {
        backend: "sched_ext".to_owned(),
        scheduler: Some("tandem".to_owned()),
        measured: Measured { time: Duration::from_millis(1500), energy, missing },
        states: vec![("serial_first_state".to_owned(), "active".to_owned())],
        counters: vec![("base_idle".to_owned(), 7), ("serial_parallel_phases".to_owned(), u64::from(u32::MAX) + 1)],
        applications: 2,
        hinted_threads: 0,
    }
}

#[test]
fn the_text_has_every_number_under_its_name() {
    let expected = r#"# HELP tandem What acts
# TYPE tandem info
tandem_info{backend="sched_ext",scheduler="tandem"} 1
# HELP tandem_mechanism_state The state that a mechanism is in
# TYPE tandem_mechanism_state gauge
tandem_mechanism_state{mechanism="serial_first",state="active"} 1
# HELP tandem_events What mechanisms did
# TYPE tandem_events counter
tandem_events_total{mechanism="base",event="idle"} 7
tandem_events_total{mechanism="serial",event="parallel_phases"} 4294967296
# HELP tandem_meter_missing A meter without a number
# TYPE tandem_meter_missing gauge
tandem_meter_missing{source="hwmon hwmon1 \"odd\"",why="stands_still"} 1
# HELP tandem_applications Applications that are known
# TYPE tandem_applications gauge
tandem_applications{} 2
# HELP tandem_hinted_threads Threads of which somebody said how long they are
# TYPE tandem_hinted_threads gauge
tandem_hinted_threads{} 0
# HELP tandem_running_seconds How long this has counted
# TYPE tandem_running_seconds gauge
# UNIT tandem_running_seconds seconds
tandem_running_seconds{} 1.5
# HELP tandem_energy_joules What a meter counted
# TYPE tandem_energy_joules counter
# UNIT tandem_energy_joules joules
tandem_energy_joules_total{source="powercap intel-rapl:0 package-0",part="package",package="1",die="0",method="counted"} 12.5
# HELP tandem_machine_energy_joules As much of the machine as can be summed
# TYPE tandem_machine_energy_joules counter
# UNIT tandem_machine_energy_joules joules
tandem_machine_energy_joules_total{covers="1 package, without memory"} 12.5
# EOF
"#;
    assert_eq!(snapshot().text(), expected);
}

#[test]
fn what_was_not_measured_is_no_zero() {
    let text = Snapshot { measured: Measured::default(), ..snapshot() }.text();
    assert!(!text.contains("joules"), "{text}");
}

/// An endpoint with numbers, for clients who do not take longer than that.
fn endpoint_for(patience: Duration) -> Endpoint {
    let endpoint = Endpoint::open_for("127.0.0.1:0".parse().unwrap(), patience).unwrap();
    endpoint.publish(snapshot());
    endpoint
}

/// An endpoint that lets nobody go while a test lasts.
fn endpoint() -> Endpoint {
    endpoint_for(PATIENCE)
}

fn connect(endpoint: &Endpoint) -> TcpStream {
    TcpStream::connect(endpoint.address()).unwrap()
}

/// All that comes back.
fn ask(endpoint: &Endpoint, request: &str) -> String {
    let mut stream = connect(endpoint);
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn metrics_are_at_their_place() {
    let endpoint = endpoint();
    let answer = ask(&endpoint, "GET /metrics HTTP/1.1\r\nHost: localhost:9435\r\nAccept: */*\r\n\r\n");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(head.contains("application/openmetrics-text; version=1.0.0; charset=utf-8"), "{head}");
    assert!(head.contains(&format!("Content-Length: {}", body.len())), "{head}");
    assert_eq!(body, snapshot().text());
}

#[test]
fn other_questions_are_refused_in_words() {
    let endpoint = endpoint();
    for (request, status) in [
        ("GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("GET /metrics/../etc/passwd HTTP/1.1\r\n\r\n", "404 Not Found"),
        ("POST /metrics HTTP/1.1\r\nContent-Length: 0\r\n\r\n", "405 Method Not Allowed"),
        ("GET /metrics?name=x HTTP/1.0\r\n\r\n", "200 OK"),
        ("GET /metrics HTTP/1.1\r\nHost: rebound.example:9435\r\n\r\n", "403 Forbidden"),
        ("GET /metrics HTTP/1.1\r\nHost: [::1]:9435\r\n\r\n", "200 OK"),
        ("GET /metrics HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", "403 Forbidden"),
        ("\u{16}\u{3}\u{1} not HTTP\r\n\r\n", "400 Bad Request"),
    ] {
        let answer = ask(&endpoint, request);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{request}: {answer}");
    }
    let post = ask(&endpoint, "POST /metrics HTTP/1.1\r\n\r\n");
    assert!(post.contains("\r\nAllow: GET, HEAD\r\n"), "{post}");
}

#[test]
fn a_head_is_as_long_as_the_body_it_does_not_have() {
    let answer = ask(&endpoint(), "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    assert!(answer.contains(&format!("Content-Length: {}\r\n", snapshot().text().len())), "{answer}");
}

#[test]
fn a_request_without_an_end_is_refused_when_it_is_too_long() {
    let endpoint = endpoint();
    let answer = ask(&endpoint, &format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(9000)));
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    let many = "A: b\r\n".repeat(100);
    assert!(ask(&endpoint, &format!("GET /metrics HTTP/1.1\r\n{many}\r\n")).starts_with("HTTP/1.1 431 "));
}

/// Whether the endpoint has read all that was sent to it, which the kernel knows.
fn is_read(endpoint: &Endpoint, stream: &TcpStream) -> bool {
    let port = |address: SocketAddr| format!("0100007F:{:04X}", address.port());
    let (here, there) = (port(endpoint.address()), port(stream.local_addr().unwrap()));
    let connections = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let mut connections = connections.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let own = connections.find(|fields| fields[1..3] == [here.as_str(), there.as_str()]);
    own.is_some_and(|fields| fields[4].ends_with(":00000000"))
}

#[test]
fn a_request_may_come_in_pieces() {
    let endpoint = endpoint();
    let mut stream = connect(&endpoint);
    for piece in ["GET /met", "rics HTTP/1.1\r", "\n\r\n"] {
        wait_until(|| is_read(&endpoint, &stream));
        stream.write_all(piece.as_bytes()).unwrap();
    }
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
}

/// Whether the other end has closed a connection.
fn is_gone(stream: &mut TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    matches!(stream.read(&mut [0; 8]), Ok(0))
}

/// Neither whoever publishes waits for them, nor who asks.
#[test]
fn silent_clients_hold_up_nobody() {
    let endpoint = endpoint();
    let mut silent: Vec<TcpStream> = (0..3).map(|_| connect(&endpoint)).collect();
    endpoint.publish(Snapshot { applications: 77, ..snapshot() });
    let answer = ask(&endpoint, "GET /metrics HTTP/1.1\r\n\r\n");
    assert!(answer.contains("tandem_applications{} 77"), "{answer}");
    assert!(!silent.iter_mut().any(is_gone), "they have lots of time");
}

#[test]
fn there_is_an_end_to_silent_clients() {
    assert_eq!(super::PATIENCE, Duration::from_secs(5));
    let endpoint = endpoint_for(Duration::from_millis(1));
    let mut silent: Vec<TcpStream> = (0..3).map(|_| connect(&endpoint)).collect();
    for stream in &mut silent {
        wait_until(|| is_gone(stream));
    }
}

/// More than there is room for, and they come again: who asks still gets an answer, and does not wait for theirs to end.
#[test]
fn slow_clients_shut_out_nobody() {
    let endpoint = endpoint();
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..10 {
        slow.extend((0..clients::MOST + 4).map(|_| connect(&endpoint)));
        for stream in &mut slow {
            // Those that have lost their place are told so.
            let _ = stream.write_all(b"G");
        }
        let answer = ask(&endpoint, "GET /metrics HTTP/1.1\r\n\r\n");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
}

/// The oldest goes, of the address that has most of them.
#[test]
fn many_connections_from_one_address_do_not_drive_out_another_one() {
    let (endpoint, clients) = (endpoint(), std::sync::Arc::new(clients::Clients::default()));
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let mut other = connect(&endpoint);
    let (mut places, mut ends) = (Vec::new(), Vec::new());
    for number in 0..clients::MOST + 2 {
        let stream = TcpStream::connect(address).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        places.push(clients.enter(&accepted));
        // The first one is being answered: it keeps its place.
        places[0].as_ref().unwrap().answering(true);
        ends.push((number, stream, accepted));
    }
    // The kernel may take its time to tell a client so.
    wait_until(|| is_gone(&mut ends[1].1) && is_gone(&mut ends[2].1));
    let gone: Vec<usize> =
        ends.iter_mut().filter_map(|(number, stream, _)| is_gone(stream).then_some(*number)).collect();
    assert_eq!(gone, [1, 2]);
    assert!(!is_gone(&mut other));
}

#[test]
fn the_name_of_a_host_is_compared_as_a_whole() {
    let endpoint = endpoint();
    let status =
        |host: &str| ask(&endpoint, &format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"))[9..12].to_owned();
    for host in ["localhost", "LOCALHOST:9435", "127.0.0.1:80", "127.1.2.3", "[::1]", "[::1]:9435"] {
        assert_eq!(status(host), "200", "{host}");
    }
    for host in [
        "localhost.rebound.example",
        "rebound.example:localhost",
        "localhost:9435:rebound.example",
        "localhost:x",
        "localhost:+80",
        "localhost:65536",
        "[::1].rebound.example",
        "[::1]x:80",
        "[127.0.0.1]:80",
        "[localhost]",
        "[::1",
        "::1",
        "127.0.0.1.rebound.example",
        "",
    ] {
        assert_eq!(status(host), "403", "{host}");
    }
    assert_eq!(status("localhost\r\nHost: localhost"), "400");
}

#[test]
fn only_this_machine_can_ask() {
    for address in ["0.0.0.0:0", "192.0.2.1:9435", "[::]:0"] {
        let address: SocketAddr = address.parse().unwrap();
        let error = Endpoint::open(address).unwrap_err();
        assert!(matches!(error, MetricsError::NotLoopback(refused) if refused == address), "{error}");
    }
}

#[test]
fn an_address_that_is_taken_is_said_to_be() {
    let endpoint = endpoint();
    let error = Endpoint::open(endpoint.address()).unwrap_err();
    assert!(error.to_string().starts_with(&format!("{}: nobody can ask", endpoint.address())), "{error}");
}

#[test]
fn a_dropped_endpoint_leaves_its_address_free() {
    // No other test's connection can have this address meanwhile.
    let first = Endpoint::open("127.0.0.77:0".parse().unwrap()).unwrap();
    let address = first.address();
    drop(first);
    let second = Endpoint::open(address).unwrap();
    assert_eq!(second.address(), address);
}
