//! Processes that the window waits for, to show them.

use crate::settings::SavedLaunch;
use redial_model::ids::Ticket;

/// Launches and processes that are not there yet.
#[derive(Default)]
pub(super) struct PendingStart {
    /// The program started from the launch dialog, until it runs.
    pub from_dialog: Option<Ticket>,
    /// The launch that failed, and the reason.
    pub failed: Option<(SavedLaunch, String)>,
    /// The launched program to show as soon as its agent is there.
    pub launch: Option<Ticket>,
    /// The process, named at the start of the window, to show as soon as its agent is known.
    pub pid: Option<u32>,
    /// Whether to show that process's dialled methods first.
    pub dialled: bool,
}
