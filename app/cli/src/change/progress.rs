//! Waits for a change, shows its progress on a terminal, and cancels it on Ctrl-C.

use crate::output::sentence;
use redial_link::error::LinkError;
use redial_link::reply_timer::ReplyTimer;
use redial_link::session::Session;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_text::width::{pad_right, width};
use redial_text::words;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// How long an agent may take for the next copy. Turning many dials may wait for the runtime to suspend; the agent gives up after
/// 30 s and reports that, so longer silence means that it hangs.
const PATIENCE: Duration = Duration::from_secs(40);
/// How long a whole change may take. The largest programs have some hundred thousand methods, which takes a few
/// minutes.
const TOTAL_PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A reply, and whether Ctrl-C came too late to stop it.
pub struct WaitOutcome {
    /// The reply; never a refusal.
    pub reply: Reply,
    /// Whether the user pressed Ctrl-C.
    pub interrupted: bool,
}

/// Sends a command and waits for its reply. Drops unrelated events. If the session has an interrupter, Ctrl-C cancels
/// the command, which then ends with `Refusal::Cancelled` unless it had finished already.
pub fn wait(session: &mut Session, command: WireCommand) -> Result<WaitOutcome, LinkError> {
    wait_and_take(session, command, &mut drop)
}

/// As `wait`, but passes unrelated events to `take`.
pub fn wait_and_take(
    session: &mut Session,
    command: WireCommand,
    take: &mut dyn FnMut(Event),
) -> Result<WaitOutcome, LinkError> {
    wait_within(session, command, ReplyTimer::start(PATIENCE, TOTAL_PATIENCE), take)
}

fn wait_within(
    session: &mut Session,
    command: WireCommand,
    mut timer: ReplyTimer,
    take: &mut dyn FnMut(Event),
) -> Result<WaitOutcome, LinkError> {
    let request = session.send(command)?;
    let mut interrupted = false;
    let mut most_done = 0;
    let mut progress = ProgressLine::new();
    loop {
        match session.next(Some(timer.deadline())) {
            Ok(Some(Event::Reply { id, reply })) if id == request => {
                drop(progress);
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
                progress.show(done, total);
            }
            Ok(Some(event)) => take(event),
            Ok(None) => return Err(timer.expired(session.pid())),
            Err(LinkError::Interrupted) => {
                interrupted = true;
                drop(std::mem::replace(&mut progress, ProgressLine::silent()));
                session.send(WireCommand::Cancel { request })?;
                timer.progress();
                sentence("stopping");
            }
            Err(error) => return Err(error),
        }
        timer.check(session.pid())?;
    }
}

/// A progress line on a terminal, overwritten by each update and erased on drop.
struct ProgressLine {
    on: bool,
    /// The number of characters shown.
    width: usize,
}

impl ProgressLine {
    fn new() -> ProgressLine {
        ProgressLine { on: io::stderr().is_terminal(), width: 0 }
    }

    fn silent() -> ProgressLine {
        ProgressLine { on: false, width: 0 }
    }

    fn show(&mut self, done: u64, total: u64) {
        if self.on {
            let text = progress_text(done, total);
            let before = std::mem::replace(&mut self.width, width(&text));
            self.write(&format!("\r{}", pad_right(&text, before)));
        }
    }

    fn write(&self, text: &str) {
        let mut to = io::stderr().lock();
        // A lost terminal does not matter for the change.
        let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.width > 0 {
            self.write(&format!("\r{:width$}\r", "", width = self.width));
        }
    }
}

fn progress_text(done: u64, total: u64) -> String {
    format!("{} of {}", words::grouped(done), words::methods(total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_link::connect;
    use redial_link::test_agent::{facts, serve};
    use redial_protocol::message::Refusal;
    use redial_protocol::packet::AgentPacket;
    use redial_protocol::report::DialReport;

    fn revert() -> WireCommand {
        WireCommand::RequestRevert { patterns: vec!["A.B".into()], take: false }
    }

    fn done() -> Reply {
        Reply::Dialled(DialReport { matched: 2, ..DialReport::default() })
    }

    #[test]
    fn progress_comes_before_the_reply() {
        serve(
            |mut agent| {
                agent.hello(facts(0));
                let request = agent.request();
                agent.event(Event::Progress { id: request.id, done: 1, total: 2 });
                agent.event(Event::Control(None));
                agent.event(Event::Catalogue { revision: 1 });
                agent.reply(request.id + 1, Reply::Done);
                agent.reply(request.id, done());
            },
            |pid| {
                let mut session = connect::open(pid, "redial test").expect("a session");
                let mut taken = Vec::new();
                let waited = wait_and_take(&mut session, revert(), &mut |event| taken.push(event));
                let waited = waited.expect("a reply");
                assert_eq!((waited.reply, waited.interrupted), (done(), false));
                assert_eq!(taken[..2], [Event::Control(None), Event::Catalogue { revision: 1 }]);
                assert!(matches!(taken[2..], [Event::Reply { .. }]), "the reply to another request");
            },
        );
        assert_eq!(progress_text(1_000, 20_000), "1,000 of 20,000 methods");
    }

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
                let mut session = connect::open(pid, "redial test").expect("a session");
                result = wait_within(&mut session, revert(), timer, &mut drop).err();
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

    #[test]
    fn an_interrupt_cancels_the_request() {
        for late in [false, true] {
            serve(
                |mut agent| {
                    agent.hello(facts(0));
                    let request = agent.request();
                    let cancel = agent.request();
                    assert_eq!(cancel.command, WireCommand::Cancel { request: request.id });
                    let reply = if late { done() } else { Reply::Refused(Refusal::Cancelled) };
                    // As an agent does: after the answer to the change, the session may be closed.
                    agent.reply(cancel.id, Reply::Done);
                    agent.reply(request.id, reply);
                },
                |pid| {
                    let mut session = connect::open(pid, "redial test").expect("a session");
                    session.interrupter()();
                    match wait(&mut session, revert()) {
                        Ok(waited) => assert!(late && waited.interrupted && waited.reply == done()),
                        Err(LinkError::Refused(Refusal::Cancelled)) => assert!(!late),
                        Err(error) => panic!("{error}"),
                    }
                },
            );
        }
    }
}
