// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work that Ctrl-C ends: it is done on another thread, while the caller's, which Python gives its signals to, looks for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use pyo3::prelude::*;
use tandem_experiments::Simulator;
use tandem_simulator::machine::Machine;
use tandem_simulator::metrics::Report;
use tandem_simulator::observer::Observer;
use tandem_simulator::simulation::{Options, SimulationError};
use tandem_simulator::workload::Workload;

/// Time between two looks for signals.
const PAUSE: Duration = Duration::from_millis(50);

/// Whether work shall end.
#[derive(Debug, Clone, Default)]
pub struct Flag(Arc<AtomicBool>);

impl Flag {
    /// Work shall end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether work shall end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Does `work` without Python's lock. An exception of a signal's handler, that of Ctrl-C, sets the work's flag, and is what comes of
/// it once it has ended.
pub fn interruptible<T: Send>(py: Python<'_>, work: impl FnOnce(&Flag) -> T + Send) -> PyResult<T> {
    let flag = Flag::default();
    py.detach(|| {
        thread::scope(|scope| {
            let (send, receive) = mpsc::sync_channel(1);
            let of_work = flag.clone();
            let worker = scope.spawn(move || {
                let _ = send.send(());
                let result = work(&of_work);
                let _ = send.send(());
                result
            });
            let _ = receive.recv();
            let mut exception = None;
            while let Err(RecvTimeoutError::Timeout) = receive.recv_timeout(PAUSE) {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    flag.set();
                    exception = Some(error);
                }
            }
            let result = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            exception.map_or(Ok(result), Err)
        })
    })
}

/// A simulator whose runs end when a flag is set.
pub struct Stoppable<'a> {
    /// Simulates.
    pub simulator: &'a dyn Simulator,
    /// Says when to end.
    pub flag: &'a Flag,
}

/// Looks at nothing but a flag.
struct Look<'a>(&'a Flag);

impl Observer for Look<'_> {
    fn may_begin_again(&self) -> bool {
        true
    }

    fn watches(&self) -> bool {
        false
    }

    fn stopped(&mut self) -> bool {
        self.0.is_set()
    }
}

impl Simulator for Stoppable<'_> {
    /// An observer that watches asks by itself.
    fn simulate(
        &self,
        machine: &Machine,
        workload: &Workload,
        options: &Options,
        observer: &mut dyn Observer,
    ) -> Result<Report, SimulationError> {
        if observer.watches() {
            return self.simulator.simulate(machine, workload, options, observer);
        }
        self.simulator.simulate(machine, workload, options, &mut Look(self.flag))
    }
}
