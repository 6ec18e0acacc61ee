//! Waits for a change, shows its progress on a terminal, and cancels it on Ctrl-C.

use crate::output::sentence;
use redial_link::change_wait::{self, ChangeNews};
use redial_link::error::LinkError;
use redial_link::session::Session;
use redial_protocol::message::{Event, WireCommand};
use redial_text::width::{pad_right, width};
use redial_text::words;
use std::io::{self, IsTerminal, Write};

pub use change_wait::WaitOutcome;

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
    let mut progress = ProgressLine::new();
    change_wait::wait(session, command, &mut |news| match news {
        ChangeNews::Progress { done, total } => progress.show(done, total),
        ChangeNews::Event(event) => take(*event),
        ChangeNews::Cancelling => {
            drop(std::mem::replace(&mut progress, ProgressLine::silent()));
            sentence("stopping");
        }
    })
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
    use redial_protocol::message::{Refusal, Reply};
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
