//! The session with one process of several, until the process or the connection ends, or Ctrl-C.

use super::shared::{FleetChange, MemberMessage};
use crate::change::hold;
use crate::output::changes;
use crate::target::TargetProcess;
use redial_link::error::LinkError;
use redial_link::session::{PING_EVERY, Session};
use redial_protocol::ids::ProcessKey;
use redial_protocol::message::{Event, WireCommand};
use redial_protocol::process;

/// The reason that a session ended.
pub enum MemberEnd {
    /// The user pressed Ctrl-C.
    Stopped,
    /// The process ended.
    Ended,
    /// The connection was lost.
    Lost(LinkError),
}

impl FleetChange<'_> {
    /// Keeps the session open until it ends. Held dials revert when this returns.
    pub fn stay(&self, mut session: Session, member: &TargetProcess) -> MemberEnd {
        let ended = match self.wanted.options.hold {
            true => self.hold(&mut session, member),
            false => listen(&mut session),
        };
        match ended {
            Ok(()) | Err(LinkError::Interrupted) => MemberEnd::Stopped,
            Err(LinkError::Ended(_) | LinkError::NoProcess(_)) => MemberEnd::Ended,
            Err(error) => MemberEnd::Lost(error),
        }
    }
}

impl FleetChange<'_> {
    fn hold(&self, session: &mut Session, member: &TargetProcess) -> Result<(), LinkError> {
        let say = |text| self.send(MemberMessage::Said(member.clone(), text));
        hold::hold(session, self.wanted, &say)?;
        // If the agent does not answer, the end of the session reverts the dials.
        if let Ok(gone) = hold::release_held(session) {
            say(changes::released(&gone));
        }
        Ok(())
    }
}

/// Releases control, because kept dials need none, and waits for the end of the process.
fn listen(session: &mut Session) -> Result<(), LinkError> {
    session.execute(WireCommand::ReleaseControl)?;
    session.keep_alive(PING_EVERY)?;
    loop {
        if let Some(Event::Goodbye { .. }) = session.next(None)? {
            return Err(LinkError::Ended(session.pid()));
        }
    }
}

/// Returns whether the process still runs, and not another one with the same pid.
pub fn still_runs(key: ProcessKey) -> bool {
    match process::key_of(key.pid) {
        Ok(now) => key.start == 0 || now.start == key.start,
        Err(process::ProcessError::NoSuchProcess { .. }) => false,
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifies_processes_by_pid_and_start_time() {
        let key = process::own_key().expect("own key");
        assert!(still_runs(key) && still_runs(ProcessKey { start: 0, ..key }));
        assert!(!still_runs(ProcessKey { start: key.start + 1, ..key }));
        assert!(!still_runs(ProcessKey { pid: u32::MAX, start: 0 }));
    }
}
