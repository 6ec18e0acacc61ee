//! The processor time that a session's commands take.
#![forbid(unsafe_code)]

use crate::inbox::WorkTimer;
use std::cell::Cell;
use std::time::Duration;

/// The processor time of a session's commands.
pub(super) struct CommandWork {
    pub(super) timer: Cell<WorkTimer>,
    /// `Outbox::waited` at the timer's start.
    pub(super) waited: Cell<Duration>,
    pub(super) used: Cell<Duration>,
}

impl CommandWork {
    pub(super) fn new() -> CommandWork {
        let (waited, used) = (Cell::default(), Cell::default());
        CommandWork { timer: Cell::new(WorkTimer::start()), waited, used }
    }
}
