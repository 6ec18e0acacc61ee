//! Waiting for a turn: how far it is, on a terminal, and Ctrl-C, which takes it back.

use crate::link::connect;
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::output::{sentence, words};
use redial_protocol::message::{Command, Event, Reply};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Turning many dials may wait for the runtime to suspend; an agent gives up after 30 s and says so, so that more
/// silence than this is a hang.
const PATIENCE: Duration = Duration::from_secs(40);

/// A reply, and whether Ctrl-C came too late to stop it.
pub struct Waited {
    /// The reply; never a refusal.
    pub reply: Reply,
    /// Whether the user wanted to stop.
    pub interrupted: bool,
}

/// Sends a command and waits for its reply. Ctrl-C (once the session has its interrupter) cancels it, which makes
/// `Refusal::Cancelled` of it unless it was done by then. Events of other things are dropped.
pub fn wait(session: &mut Session, command: Command) -> Result<Waited, LinkError> {
    let request = session.send(command)?;
    let mut interrupted = false;
    let mut progress = Progress::new();
    loop {
        match session.next(Some(Instant::now() + PATIENCE)) {
            Ok(Some(Event::Reply { id, reply })) if id == request => {
                drop(progress);
                return match reply {
                    Reply::Refused(refusal) => Err(LinkError::Refused(refusal)),
                    reply => Ok(Waited { reply, interrupted }),
                };
            }
            Ok(Some(Event::Progress { id, done, total })) if id == request => progress.show(done, total),
            Ok(Some(_)) => {}
            Ok(None) => return Err(connect::silent(session.pid(), PATIENCE)),
            Err(LinkError::Interrupted) => {
                interrupted = true;
                drop(std::mem::replace(&mut progress, Progress::silent()));
                session.send(Command::Cancel { request })?;
                sentence("stopping");
            }
            Err(error) => return Err(error),
        }
    }
}

/// A line on a terminal that is written over, and gone when dropped.
struct Progress {
    on: bool,
    /// Characters that stand there.
    width: usize,
}

impl Progress {
    fn new() -> Progress {
        Progress { on: io::stderr().is_terminal(), width: 0 }
    }

    fn silent() -> Progress {
        Progress { on: false, width: 0 }
    }

    fn show(&mut self, done: u64, total: u64) {
        if self.on {
            let text = progress_text(done, total);
            let before = std::mem::replace(&mut self.width, text.chars().count());
            self.write(&format!("\r{text:<before$}"));
        }
    }

    fn write(&self, text: &str) {
        let mut to = io::stderr().lock();
        // A terminal that went away is not what this is about.
        let _ = to.write_all(text.as_bytes()).and_then(|()| to.flush());
    }
}

impl Drop for Progress {
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
    use crate::link::connect;
    use crate::link::test_agent::{facts, serve};
    use redial_protocol::message::Refusal;
    use redial_protocol::report::DialReport;

    fn revert() -> Command {
        Command::RequestRevert { patterns: vec!["A.B".into()], take: false }
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
                agent.reply(request.id + 1, Reply::Done);
                agent.reply(request.id, done());
            },
            |pid| {
                let mut session = connect::open(pid, "redial test").expect("a session");
                let waited = wait(&mut session, revert()).expect("a reply");
                assert_eq!((waited.reply, waited.interrupted), (done(), false));
            },
        );
        assert_eq!(progress_text(1_000, 20_000), "1,000 of 20,000 methods");
    }

    #[test]
    fn an_interrupt_cancels_that_very_request() {
        for late in [false, true] {
            serve(
                |mut agent| {
                    agent.hello(facts(0));
                    let request = agent.request();
                    let cancel = agent.request();
                    assert_eq!(cancel.command, Command::Cancel { request: request.id });
                    let reply = if late { done() } else { Reply::Refused(Refusal::Cancelled) };
                    // In the order of an agent; after the turn's answer nobody may be there any more.
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
