// SPDX-License-Identifier: GPL-2.0-only
//! Why a session did not begin or did not last, as a failure of a command.

use tandem_live::LiveError;
use tandem_live::session::SessionError;

use crate::failure::Failure;

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Setting { .. } => {
                Self::Options(format!("--set {error}\n  help: `tandem scheduler show tandem` lists the settings"))
            }
            // Settings that contradict each other, or the machine.
            SessionError::AffinitySetting(_)
            | SessionError::Load(LiveError::Problem { .. } | LiveError::Setting { .. }) => {
                Self::Options(error.to_string())
            }
            SessionError::Object(_) => Self::System(error.to_string()),
            SessionError::Interrupted(signal) => Self::Status(u8::try_from(128 + signal).unwrap_or(1)),
            SessionError::Ejected(gone) => Self::Ejected(gone.to_string()),
            SessionError::Activity(error) => Self::Output(error),
            SessionError::Machine(_)
            | SessionError::Plan(_)
            | SessionError::Load(_)
            | SessionError::Affinity(_)
            | SessionError::Running { .. }
            | SessionError::Lock { .. }
            | SessionError::Change(_)
            | SessionError::Control(_)
            | SessionError::Metrics(_)
            | SessionError::Application(_)
            | SessionError::Launch(_) => Self::NotStarted(error.to_string()),
        }
    }
}
