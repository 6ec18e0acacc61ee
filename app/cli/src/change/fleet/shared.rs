//! The state that the threads of a change in several processes share, and their messages.

use super::stop_flag::StopFlag;
use crate::change::request::ChangeRequest;
use crate::multi_process::ProcessResult;
use crate::target::TargetProcess;
use redial_link::signals::Interrupts;
use std::sync::mpsc::Sender;

/// A message from a member's thread.
pub(super) enum MemberMessage {
    /// The result of the change, and whether it repeats an earlier one in this process.
    Turned(ProcessResult, bool),
    /// A sentence about the process.
    Said(TargetProcess, String),
    /// The connection was lost and will be retried.
    Lost(TargetProcess, String),
    /// The process has ended.
    Ended(TargetProcess),
    /// The thread ends.
    Done,
    /// The user pressed Ctrl-C.
    Stopped,
}

/// The state that the members' threads share.
pub(super) struct FleetChange<'a> {
    pub(super) wanted: &'a ChangeRequest<'a>,
    pub(super) interrupts: &'a Interrupts,
    pub(super) stop: StopFlag,
    pub(super) sender: Sender<MemberMessage>,
}

impl FleetChange<'_> {
    pub(super) fn send(&self, message: MemberMessage) {
        // The receiving thread lives until the program ends.
        let _ = self.sender.send(message);
    }
}
