// SPDX-License-Identifier: GPL-2.0-only
//! What `tandem run` and `tandem attach` say on standard error while a session lives.

use std::net::SocketAddr;

use sd_notify::NotifyState;
use tandem_live::Exit;
use tandem_live::session::Notice;

use super::restore::{describe, summary};
use super::say;

/// Says what there is to say of a notice, and tells the service manager what it wants to know.
pub fn tell(notice: &Notice<'_>) {
    match notice {
        Notice::LeftBehind(owner, restored) => {
            say(&format!("process {} was killed before it gave all back: {}", owner.pid, summary(restored)));
            describe(restored).iter().for_each(|line| say(line));
        }
        Notice::NoJournal(why) => say(&format!("{why}; look at it, and remove it")),
        Notice::Note(note) => say(&format!("note: {note}")),
        Notice::LeftOut(part) => say(&format!("note: {part}")),
        Notice::Uncounted(missing) => {
            say(&format!("note: no counter for {}, on CPU {} at least: {}", missing.map, missing.cpu, missing.why));
        }
        Notice::Attached { backend, metrics } => {
            notify(NotifyState::Ready);
            say(&format!("attached, by {}; Ctrl-C or SIGTERM ends it", backend.name()));
            metrics.iter().for_each(metrics_are_at);
        }
        Notice::NoMetrics(error) => say(&format!("without metrics for now: {error}")),
        Notice::Metrics(address) => metrics_are_at(address),
        Notice::Steered(words) => say(words),
        Notice::Reloading(exit) => say(&format!("loading the scheduler again: {exit}")),
        Notice::Ejected { gone, command_runs } => {
            say(&format!("the scheduler was ejected: {gone}"));
            if *command_runs {
                say("the command goes on under the kernel's own scheduler");
            }
        }
        Notice::GivenBackEarly => say(
            "interrupted: the kernel's own scheduler has the machine; the command has not ended yet (once more kills it)",
        ),
        Notice::Killing => say("killing the command"),
        Notice::Ending => notify(NotifyState::Stopping),
        Notice::GivenBack(restored) => describe(restored).iter().for_each(|line| say(line)),
        Notice::Ended(exit) => {
            if let Some(exit) = exit.filter(|exit| Exit::is_error(exit)) {
                say(&exit.dump);
            }
        }
    }
}

fn metrics_are_at(address: &SocketAddr) {
    say(&format!("metrics are at http://{address}/metrics"));
}

/// Tells the service manager, if there is one.
fn notify(state: NotifyState<'_>) {
    let _ = sd_notify::notify(&[state]);
}
