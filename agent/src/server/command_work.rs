//! The turns of a session's commands, and the processor time that they take.
#![forbid(unsafe_code)]

use super::session::Session;
use crate::inbox::WorkTimer;
use redial_protocol::message::Event;
use std::cell::Cell;
use std::time::Duration;

/// The processor time of a session's commands.
pub(super) struct CommandWork {
    timer: Cell<WorkTimer>,
    /// `Outbox::waited` at the timer's start.
    waited: Cell<Duration>,
    used: Cell<Duration>,
}

impl CommandWork {
    pub(super) fn new() -> CommandWork {
        let (waited, used) = (Cell::default(), Cell::default());
        CommandWork { timer: Cell::new(WorkTimer::start()), waited, used }
    }
}

impl Session {
    /// Waits for a turn, and begins to measure. False if none came within seconds.
    pub(super) fn begin_work(&self) -> bool {
        let is_over = || self.outbox.is_closed() || self.context.is_stopped();
        let turn = self.context.inbox.session_work.wait_for_turn(self.id, self.work.used.get(), is_over);
        self.work.timer.set(WorkTimer::start());
        self.work.waited.set(self.outbox.waited());
        turn
    }

    /// Charges the work since [`Session::begin_work`].
    pub(super) fn end_work(&self) {
        let waited = self.outbox.waited().saturating_sub(self.work.waited.get());
        let took = self.work.timer.get().contended(waited);
        self.add_work(took);
        self.context.inbox.session_work.charge(took);
    }

    /// Adds processor time that another thread takes for this session.
    pub(super) fn add_work(&self, time: Duration) {
        self.work.used.set(self.work.used.get().saturating_add(time));
    }

    /// Sends a page of an answer, and waits for a turn to make the next. False ends the session.
    pub(super) fn send_page(&self, event: Event) -> bool {
        let sent = self.send(event);
        self.end_work();
        self.begin_work();
        sent
    }
}
