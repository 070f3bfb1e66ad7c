// SPDX-License-Identifier: MIT OR Apache-2.0
//! Connections: on 127.0.0.1 alone, few at a time ([`door`]), each request bounded in bytes and in time.

use std::convert::Infallible;
use std::ffi::OsString;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::api::{Answer, Api};
use crate::catalogue::Carried;
use crate::door::{self, Door, Sockets, Ticket, User};
use crate::gate::{Address, admit};
use crate::jobs::Jobs;

/// Connections that are taken up before it is looked whose they are: a look costs more than a connection.
const MOST_AT_ONCE: usize = 64;
/// Bytes of the head of a request, and of what it carries.
const MOST_HEAD: usize = 16 << 10;
const MOST_BODY: usize = 4 << 20;
/// How long a request may take to arrive.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often it is looked whether the server shall end.
const PERIOD: Duration = Duration::from_millis(50);

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum UiError {
    /// The port cannot be had.
    #[error("127.0.0.1:{port}: {source}")]
    Port {
        /// The port that was asked for; 0 is any.
        port: u16,
        /// The system's error.
        source: io::Error,
    },
    /// Something else that a server needs is not there.
    #[error("the page cannot be served: {0}")]
    System(#[from] io::Error),
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: Address,
    api: Api,
}

impl Server {
    /// Listens on 127.0.0.1 at `port`, or where that is 0 at one of the kernel's choice. Runs are processes of `program`.
    ///
    /// # Errors
    /// The port cannot be had; there is no room for files of runs.
    pub fn new(port: u16, program: OsString, carried: Carried) -> Result<Self, UiError> {
        let listener =
            TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|source| UiError::Port { port, source })?;
        listener.set_nonblocking(true)?;
        let address = Address::new(listener.local_addr()?.port())?;
        Ok(Self { listener, address, api: Api { carried, jobs: Jobs::new(program)? } })
    }

    /// The address to open in a browser, with its token.
    pub fn url(&self) -> String {
        self.address.url()
    }

    /// Serves until `stopped` says so; runs under way are ended then, and their files removed.
    ///
    /// # Errors
    /// The system lacks what a server needs.
    pub fn serve(self, stopped: impl Fn() -> bool) -> Result<(), UiError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
        let Self { listener, address, api } = self;
        let shared = Arc::new((address, api));
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let accepting = accept(&listener, &shared);
            let stopping = async {
                while !stopped() {
                    sleep(PERIOD).await;
                }
            };
            tokio::pin!(accepting, stopping);
            // Accepting never ends.
            std::future::poll_fn(|context| {
                if accepting.as_mut().poll(context).is_ready() {
                    return Poll::Ready(());
                }
                stopping.as_mut().poll(context)
            })
            .await;
            Ok(())
        });
        runtime.shutdown_timeout(PERIOD);
        served
    }
}

type Shared = Arc<(Address, Api)>;

async fn accept(listener: &tokio::net::TcpListener, shared: &Shared) {
    let door = Door::default();
    loop {
        let Ok(streams) = come(listener).await else {
            // No descriptor left, say: others will close theirs.
            sleep(PERIOD).await;
            continue;
        };
        let sockets = Sockets::read(Path::new("/proc"));
        for (stream, from) in streams {
            let user = match from {
                SocketAddr::V4(from) => sockets.user(from, shared.0.port()),
                SocketAddr::V6(_) => User::Unknown,
            };
            let ticket = Arc::new(door.enter(user));
            tokio::spawn(connection(stream, Arc::clone(shared), ticket));
        }
    }
}

/// Those who have come: waits for one, and takes up who is there, too.
async fn come(listener: &tokio::net::TcpListener) -> io::Result<Vec<(TcpStream, SocketAddr)>> {
    let mut streams = vec![listener.accept().await?];
    while streams.len() < MOST_AT_ONCE {
        let next = std::future::poll_fn(|context| match listener.poll_accept(context) {
            Poll::Ready(Ok(stream)) => Poll::Ready(Some(stream)),
            _ => Poll::Ready(None),
        });
        match next.await {
            Some(stream) => streams.push(stream),
            None => break,
        }
    }
    Ok(streams)
}

async fn connection(stream: TcpStream, shared: Shared, ticket: Arc<Ticket>) {
    let of_requests = Arc::clone(&ticket);
    let service = service_fn(move |request| {
        let (shared, ticket) = (Arc::clone(&shared), Arc::clone(&of_requests));
        async move { Ok::<_, Infallible>(written(answer(request, shared, &ticket).await)) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(PATIENCE)
        .max_buf_size(MOST_HEAD)
        // Who has said all may still listen.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service);
    let lost = ticket.until_lost(door::PATIENCE);
    tokio::pin!(served, lost);
    // A connection that breaks off has nobody to tell.
    std::future::poll_fn(|context| match lost.as_mut().poll(context) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => served.as_mut().poll(context).map(drop),
    })
    .await;
}

async fn answer(request: Request<Incoming>, shared: Shared, ticket: &Ticket) -> Answer {
    let (head, body) = request.into_parts();
    // A path alone, as browsers send it: a whole address, or one with a query, is not ours.
    if head.uri.authority().is_some() || head.uri.query().is_some() {
        return Answer::empty(StatusCode::NOT_FOUND).last();
    }
    let path = match admit(&shared.0, &head.method, head.uri.path(), &head.headers) {
        Ok(path) => path.to_owned(),
        Err(refused) => return Answer::empty(refused.0).last(),
    };
    ticket.admit();
    let body = match timeout(PATIENCE, Limited::new(body, MOST_BODY).collect()).await {
        Ok(Ok(body)) => body.to_bytes(),
        Ok(Err(_)) => return Answer::empty(StatusCode::PAYLOAD_TOO_LARGE),
        Err(_) => return Answer::empty(StatusCode::REQUEST_TIMEOUT),
    };
    let answered = spawn_blocking(move || shared.1.answer(&head.method, &path, &body));
    answered.await.unwrap_or_else(|_| Answer::empty(StatusCode::INTERNAL_SERVER_ERROR))
}

/// Headers that every answer has: nothing is kept, guessed, or told to others.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CACHE_CONTROL, "no-store"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

fn written(answer: Answer) -> Response<Full<Bytes>> {
    let Answer { status, kind, body, policy, saved_as, is_last } = answer;
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if is_last {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    let disposition = saved_as.map(|name| HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")));
    if let Some(Ok(disposition)) = disposition {
        headers.insert(header::CONTENT_DISPOSITION, disposition);
    }
    response
}
