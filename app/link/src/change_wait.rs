//! Waits for a change of dials, and cancels it when the session is interrupted.

use super::error::LinkError;
use super::reply_timer::ReplyTimer;
use super::session::Session;
use redial_protocol::message::{Event, Reply, WireCommand};
use std::time::Duration;

/// How long an agent may take for the next copy. Turning many dials may wait for the runtime to suspend; the agent gives
/// up after 30 s and reports that, so longer silence means that it hangs.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long a whole change may take. The largest programs have some hundred thousand methods, which takes a few
/// minutes.
const TOTAL_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A reply, and whether an interrupt came too late to stop it.
pub struct WaitOutcome {
    /// The reply; never a refusal.
    pub reply: Reply,
    /// Whether the session was interrupted.
    pub interrupted: bool,
}

/// News while a change is awaited.
pub enum ChangeNews {
    /// Copies requested so far, and all of them.
    Progress {
        /// So far.
        done: u64,
        /// All.
        total: u64,
    },
    /// An unrelated event.
    Event(Box<Event>),
    /// The session was interrupted, and the change is being cancelled.
    Cancelling,
}

/// Sends a command and waits for its reply. An interrupt of the session cancels the command, which then ends with
/// `Refusal::Cancelled` unless it had finished already.
pub fn wait(
    session: &mut Session,
    command: WireCommand,
    news: &mut dyn FnMut(ChangeNews),
) -> Result<WaitOutcome, LinkError> {
    wait_within(session, command, ReplyTimer::start(PATIENCE, TOTAL_PATIENCE), news)
}

/// As `wait`, but gives up when `timer` does.
pub fn wait_within(
    session: &mut Session,
    command: WireCommand,
    mut timer: ReplyTimer,
    news: &mut dyn FnMut(ChangeNews),
) -> Result<WaitOutcome, LinkError> {
    let request = session.send(command)?;
    let mut interrupted = false;
    let mut most_done = 0;
    loop {
        match session.next(Some(timer.deadline())) {
            Ok(Some(Event::Reply { id, reply })) if id == request => {
                return match reply {
                    Reply::Refused(refusal) => Err(LinkError::Refused(refusal)),
                    reply => Ok(WaitOutcome { reply, interrupted }),
                };
            }
            Ok(Some(Event::Progress { id, done, total })) if id == request => {
                if done > most_done {
                    most_done = done;
                    timer.progress();
                }
                news(ChangeNews::Progress { done, total });
            }
            Ok(Some(event)) => news(ChangeNews::Event(Box::new(event))),
            Ok(None) => return Err(timer.expired(session.pid())),
            Err(LinkError::Interrupted) => {
                interrupted = true;
                session.send(WireCommand::Cancel { request })?;
                timer.progress();
                news(ChangeNews::Cancelling);
            }
            Err(error) => return Err(error),
        }
        timer.check(session.pid())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connect;
    use crate::test_agent::{facts, serve};
    use redial_protocol::packet::AgentPacket;

    /// Waits for an agent that reports `progress(0)`, `progress(1)`, … without end.
    fn wait_for_endless(progress: impl Fn(u64) -> u64 + Sync, timer: ReplyTimer) -> LinkError {
        let mut result = None;
        serve(
            |mut agent| {
                agent.hello(facts(0));
                let id = agent.request().id;
                let report = |number| Event::Progress { id, done: progress(number), total: u64::MAX };
                let mut numbers = 0_u64..;
                while numbers.next().is_some_and(|n| agent.offer(&AgentPacket::Event(report(n)))) {}
            },
            |pid| {
                let revert = WireCommand::RequestRevert { patterns: vec!["A.B".into()], take: false };
                let mut session = connect::open(pid, "redial test").expect("a session");
                result = wait_within(&mut session, revert, timer, &mut |_| {}).err();
            },
        );
        result.expect("it never ends")
    }

    #[test]
    fn endless_progress_ends() {
        let (soon, late) = (Duration::from_millis(50), Duration::from_secs(600));
        let error = wait_for_endless(|_| 5, ReplyTimer::start(soon, late));
        assert!(matches!(error, LinkError::Silent { .. }), "the same progress is none: {error}");
        let error = wait_for_endless(|number| number, ReplyTimer::start(late, soon));
        assert!(matches!(error, LinkError::Unfinished { .. }), "{error}");
    }
}
