// SPDX-License-Identifier: MIT OR Apache-2.0
//! Who is at the other end of a connection.

use std::fmt::Debug;
use std::os::unix::net::UnixStream;

use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use super::Peer;

/// Says who is at the other end; a test has other users than the kernel knows.
pub trait Peers: Debug + Send + Sync {
    /// The peer of a connection; `None`: that is not known, and the connection is of no use.
    fn of(&self, stream: &UnixStream) -> Option<Peer>;
}

/// Whom the kernel names (`SO_PEERCRED`): the process that connected, and its rights then.
#[derive(Debug, Clone, Copy)]
pub struct KernelPeers;

impl Peers for KernelPeers {
    fn of(&self, stream: &UnixStream) -> Option<Peer> {
        let credentials = getsockopt(stream, PeerCredentials).ok()?;
        Some(Peer { user: credentials.uid(), group: credentials.gid(), process: credentials.pid().unsigned_abs() })
    }
}

/// For tests: whom the other end says to be, by the name of its socket; the kernel's word without one.
#[cfg(test)]
pub(crate) mod named {
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::os::linux::net::SocketAddrExt;
    use std::path::Path;
    use std::sync::atomic::{AtomicU64, Ordering};

    use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, connect, socket};

    use super::*;

    #[derive(Debug)]
    pub(crate) struct NamedPeers;

    impl Peers for NamedPeers {
        fn of(&self, stream: &UnixStream) -> Option<Peer> {
            let address = stream.peer_addr().ok()?;
            let Some(name) = address.as_abstract_name() else { return KernelPeers.of(stream) };
            let user = std::str::from_utf8(name).ok()?.split('.').nth(1)?.parse().ok()?;
            Some(Peer { user, group: user, process: std::process::id() })
        }
    }

    /// Connects as a user.
    pub(crate) fn connect_as(user: u32, path: &Path) -> nix::Result<UnixStream> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (count, process) = (COUNT.fetch_add(1, Ordering::Relaxed), std::process::id());
        let stream: OwnedFd = socket(AddressFamily::Unix, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
        bind(stream.as_raw_fd(), &UnixAddr::new_abstract(format!("tandem.{user}.{process}.{count}").as_bytes())?)?;
        connect(stream.as_raw_fd(), &UnixAddr::new(path)?)?;
        Ok(UnixStream::from(stream))
    }
}
