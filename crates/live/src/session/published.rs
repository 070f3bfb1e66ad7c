// SPDX-License-Identifier: MIT OR Apache-2.0
//! Metrics of a session that stays: published once a second, where they are wanted.
//!
//! A port that another program has taken keeps no scheduler from running: whoever wants to harm it could otherwise take the port
//! first. The session says so, tries again, and says when it has it.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::error::SessionError;
use super::life::Session;
use super::notice::{Listener, Notice};
use crate::meter::Meters;
use crate::metrics::{Endpoint, MetricsError};

/// How often a port that is taken is tried again.
const AGAIN: Duration = Duration::from_secs(10);

/// The endpoint, or when it was last tried to have one.
#[derive(Debug)]
pub(super) struct Metrics {
    wanted: SocketAddr,
    patience: Duration,
    endpoint: Option<Endpoint>,
    tried: Instant,
    published: Option<Instant>,
}

impl Metrics {
    /// Metrics where they are wanted, if they are, for those who do not take longer than `patience`.
    ///
    /// # Errors
    /// [`MetricsError::NotLoopback`]: nobody can take that for a port that will come free.
    pub(super) fn open(
        wanted: Option<SocketAddr>,
        patience: Duration,
        now: Instant,
        listener: &mut dyn Listener,
    ) -> Result<Option<Self>, SessionError> {
        let Some(wanted) = wanted else { return Ok(None) };
        let endpoint = match Endpoint::open_for(wanted, patience) {
            Ok(endpoint) => Some(endpoint),
            Err(error @ MetricsError::NotLoopback(_)) => return Err(error.into()),
            Err(error) => {
                listener.hear(Notice::NoMetrics(&error));
                None
            }
        };
        Ok(Some(Self { wanted, patience, endpoint, tried: now, published: None }))
    }

    /// Where metrics are handed out.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        self.endpoint.as_ref().map(Endpoint::address)
    }

    /// Publishes what is due, and tries again for a port that was taken.
    pub(super) fn look_after(&mut self, session: &Session<'_>, now: Instant, listener: &mut dyn Listener) {
        let since = |time: Instant| now.saturating_duration_since(time);
        if self.endpoint.is_none() && since(self.tried) >= AGAIN {
            self.tried = now;
            self.endpoint = Endpoint::open_for(self.wanted, self.patience).ok();
            if let Some(address) = self.address() {
                listener.hear(Notice::Metrics(address));
            }
        }
        if let Some(endpoint) = &self.endpoint
            && self.published.is_none_or(|at| since(at) >= Meters::INTERVAL)
        {
            self.published = Some(now);
            endpoint.publish(session.snapshot());
        }
    }
}
