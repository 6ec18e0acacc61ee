//! Staying with one process of several, until it ends, its connection does, or Ctrl-C.

use super::{Fleet, News};
use crate::cli::target::Member;
use crate::cli::turn::hold;
use crate::link::error::LinkError;
use crate::link::session::{PING_EVERY, Session};
use crate::output::turns;
use redial_protocol::ids::ProcessKey;
use redial_protocol::message::{Command, Event};
use redial_protocol::process;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// How it ended.
pub enum Stayed {
    /// Ctrl-C.
    Stopped,
    /// With the process.
    Ended,
    /// The connection was lost.
    Lost(LinkError),
}

impl Fleet<'_> {
    /// Stays; held dials revert when it returns.
    pub fn stay(&self, mut session: Session, member: &Member) -> Stayed {
        let ended = match self.wanted.options.hold {
            true => self.hold(&mut session, member),
            false => listen(&mut session),
        };
        match ended {
            Ok(()) | Err(LinkError::Interrupted) => Stayed::Stopped,
            Err(LinkError::Ended(_) | LinkError::NoProcess(_)) => Stayed::Ended,
            Err(error) => Stayed::Lost(error),
        }
    }
}

impl Fleet<'_> {
    fn hold(&self, session: &mut Session, member: &Member) -> Result<(), LinkError> {
        let say = |text| self.tell(News::Said(member.clone(), text));
        hold::hold(session, self.wanted, &say)?;
        // The end of the session does it, too, should the agent not answer.
        if let Ok(gone) = hold::release(session) {
            say(turns::let_go(&gone));
        }
        Ok(())
    }
}

/// Gives control back, for kept dials need none, and notices the end.
fn listen(session: &mut Session) -> Result<(), LinkError> {
    session.tell(Command::ReleaseControl)?;
    session.keep_alive(PING_EVERY)?;
    loop {
        if let Some(Event::Goodbye { .. }) = session.next(None)? {
            return Err(LinkError::Ended(session.pid()));
        }
    }
}

/// Whether the process of this key still runs, and not another of its pid.
pub fn still_runs(key: ProcessKey) -> bool {
    match process::key_of(key.pid) {
        Ok(now) => key.start == 0 || now.start == key.start,
        Err(process::ProcessError::NoSuchProcess { .. }) => false,
        Err(_) => true,
    }
}

/// Set by Ctrl-C; ends every pause.
#[derive(Clone, Default)]
pub struct Stop(Arc<(Mutex<bool>, Condvar)>);

impl Stop {
    /// Ends pauses from now on.
    pub fn set(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Whether it was set.
    pub fn is_set(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long; false when it was set before that.
    pub fn pause(&self, time: Duration) -> bool {
        let set = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.0.1.wait_timeout_while(set, time, |set| !*set);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pause_ends_when_it_is_told_to() {
        let stop = Stop::default();
        assert!(!stop.is_set() && stop.pause(Duration::from_millis(1)));
        std::thread::scope(|scope| {
            let pausing = scope.spawn(|| stop.pause(Duration::from_secs(600)));
            stop.set();
            assert!(!pausing.join().expect("it paused"));
        });
        assert!(stop.is_set() && !stop.pause(Duration::from_secs(600)));
    }

    #[test]
    fn a_process_is_known_by_pid_and_start_time() {
        let key = process::own_key().expect("own key");
        assert!(still_runs(key) && still_runs(ProcessKey { start: 0, ..key }));
        assert!(!still_runs(ProcessKey { start: key.start + 1, ..key }));
        assert!(!still_runs(ProcessKey { pid: u32::MAX, start: 0 }));
    }
}
