// SPDX-License-Identifier: MIT OR Apache-2.0
//! The control socket: programs tell a running Tandem how long their threads are, and ask what runs.
//!
//! [`request`]: what can be said. [`rights`], [`announcers`]: who may say it. [`hints`]: how much of it is kept. [`Server`]
//! listens, and [`ask()`] asks. `client`: one connection. `pace`: how much a user may ask. [`desk`]: whose turn it is.
//! [`reply`]: the way back. [`peers`]: who is at the other end.
//!
//! Anybody may connect, so nobody is trusted: lines are short, connections are counted and root finds room for one all the
//! same, an answer that is not taken at once ends its connection, each connection has one request open at a time, and a user who
//! asks for more than a pace allows waits. The server only reads and writes; what is asked is answered by whoever owns the
//! server, later if it takes long, and keeps nobody else waiting.

pub mod announcers;
pub mod ask;
mod client;
pub mod desk;
pub mod hints;
mod pace;
pub mod peers;
pub mod reply;
pub mod request;
pub mod rights;
mod server;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

pub use announcers::Announcers;
pub use ask::ask;
pub use peers::{KernelPeers, Peers};
pub use reply::{Asked, Reply};
pub use request::{Request, RequestError};
pub use rights::{Denied, Peer};
pub use server::Server;

/// Bytes of a request, at most.
pub const MAX_LINE: usize = 128;

/// What a request is answered with: a text, or why not.
pub type Answer = Result<String, String>;

/// Why there is no control socket, or nobody behind it.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The socket cannot be made.
    #[error("{}: the control socket cannot be made: {why}", path.display())]
    Listen {
        /// Path of the socket.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
    /// Nobody listens.
    #[error("{}: nobody listens: Tandem does not run (`tandem status` says more)", path.display())]
    Nobody {
        /// Path of the socket.
        path: PathBuf,
    },
    /// The connection ended early.
    #[error("{}: {why}", path.display())]
    Lost {
        /// Path of the socket.
        path: PathBuf,
        /// What the system said.
        why: io::Error,
    },
}
