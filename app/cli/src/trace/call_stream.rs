//! The calls of one process, from the dials that trace them until these are off again.

use crate::change::{ChangeRequest, ChangeTotals, HeldDials, outcome, release_held, wait_and_take};
use crate::output::changes;
use crate::traced_calls::CallLines;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::{PING_EVERY, ReplyPage, Session};
use redial_link::signals::Interrupts;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::report::DialReport;
use redial_protocol::trace::TracedCall;
use redial_text::diagnostics::{Reader, change_warnings};
use redial_text::words;
use std::time::{Duration, Instant};

/// How long queued events are taken before and after a trace. An agent that sends without end must not keep us there.
const QUEUE_PATIENCE: Duration = Duration::from_secs(2);

/// Takes calls in the form of the output and returns whether more are wanted.
pub type Print<'p, C> = dyn FnMut(Vec<C>) -> Result<bool, Failure> + 'p;

/// Brings a call into the form of the output.
pub type Form<'f, C> = dyn Fn(&CallLines, &TracedCall) -> Result<C, Failure> + Sync + 'f;

/// A trace of one process, whose output takes calls in the form `C`.
pub struct CallStream<'a, C> {
    wanted: &'a ChangeRequest<'a>,
    lines: CallLines,
    form: &'a Form<'a, C>,
    /// Prints remarks on stderr.
    say: &'a dyn Fn(String),
    /// Whether no more calls are wanted.
    enough: bool,
    failed: Option<Failure>,
    /// Calls that the agent dropped because we read too slowly.
    unread: u64,
}

impl<'a, C> CallStream<'a, C> {
    /// Prepares a trace.
    pub fn new(
        wanted: &'a ChangeRequest<'a>,
        lines: CallLines,
        form: &'a Form<'a, C>,
        say: &'a dyn Fn(String),
    ) -> CallStream<'a, C> {
        CallStream { wanted, lines, form, say, enough: false, failed: None, unread: 0 }
    }

    /// Traces process `pid` until Ctrl-C, until `print` wants no more, or until the process ends.
    pub fn run(
        &mut self,
        pid: u32,
        interrupts: &Interrupts,
        print: &mut Print<'_, C>,
    ) -> Result<Exit, Failure> {
        let mut session = self.wanted.open(pid, &mut |text| (self.say)(text))?;
        interrupts.deliver_to(session.interrupter());
        let session = &mut session;
        match self.begin(session, print) {
            // Nothing was dialled yet.
            Err(LinkError::Interrupted) => return Ok(Exit::Done),
            begun => begun?,
        }
        let command = self.wanted.command(false);
        let waited = wait_and_take(session, command, &mut |event| self.take(event, print));
        let waited = waited.map_err(|error| self.wanted.explain(session, error))?;
        let Reply::Dialled(report) = waited.reply else { return Err(session.wrong_reply().into()) };
        let exit = self.report(&report);
        // What is traced then was dialled by others.
        self.enough |= exit == Exit::Failed;
        let ended = match waited.interrupted || exit == Exit::Failed {
            true => Ok(()),
            false => self.follow(session, print),
        };
        let released = match &ended {
            // The agent turns the dials off at the end of the session.
            Err(_) => Ok(exit),
            Ok(()) => self.finish(session, exit, print),
        };
        self.report_missing();
        match self.failed.take() {
            Some(failure) => Err(failure),
            None => {
                ended?;
                released
            }
        }
    }

    /// Starts the stream, so that no call after the dial is missed.
    fn begin(&mut self, session: &mut Session, print: &mut Print<'_, C>) -> Result<(), LinkError> {
        session.keep_alive(PING_EVERY)?;
        let pattern = self.wanted.orders.first().map(|order| order.pattern.clone());
        self.forget_dropped(session, pattern.clone())?;
        session.execute(WireCommand::StreamCalls { pattern })?;
        // These may be calls of dials that others set.
        self.take_queued(session, print)
    }

    /// Asks for the numbers of calls that were dropped before this trace, so that it reports only its own.
    fn forget_dropped(&mut self, session: &mut Session, pattern: Option<String>) -> Result<(), LinkError> {
        let mut before = Vec::new();
        let asked = WireCommand::Calls { pattern, in_flight: true };
        let reply = session.ask(asked, &mut |page| {
            if let ReplyPage::Calls { dropped, .. } = page {
                before.extend(dropped);
            }
        })?;
        let Reply::Calls { .. } = reply else { return Err(session.wrong_reply()) };
        self.lines.take(vec![], before)?;
        self.lines.forget_dropped();
        Ok(())
    }

    /// Prints what came of the change, and returns its exit code.
    fn report(&self, report: &DialReport) -> Exit {
        let exit = outcome(&ChangeTotals::of(report), false);
        let warnings = change_warnings::sentences(&report.warnings, Reader::CommandLine);
        let mut lines = changes::done(report, &warnings, Some(Level::Trace), false);
        if exit == Exit::Done && warnings.is_empty() {
            let methods = words::methods(report.accepted);
            lines = vec![format!("tracing {methods}; Ctrl-C turns {} off", words::them(report.accepted))];
        }
        lines.into_iter().for_each(self.say);
        exit
    }

    /// Prints calls until enough of them, Ctrl-C, or the end of the process, which is an error.
    fn follow(&mut self, session: &mut Session, print: &mut Print<'_, C>) -> Result<(), LinkError> {
        let mut held = match HeldDials::subscribe(session, self.wanted) {
            Err(LinkError::Interrupted) => return Ok(()),
            subscribed => subscribed?,
        };
        while !self.is_over() {
            match session.next(held.deadline()) {
                Ok(Some(event @ Event::Calls { .. })) => self.take(event, print),
                Ok(event) => held.take(session.pid(), event, self.say)?,
                Err(LinkError::Interrupted) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Turns the dials off and prints the calls that ended until then. Returns `exit` if all of them are off.
    fn finish(
        &mut self,
        session: &mut Session,
        exit: Exit,
        print: &mut Print<'_, C>,
    ) -> Result<Exit, Failure> {
        let gone = past_interrupt(|| release_held(session))?;
        if gone.remaining > 0 {
            (self.say)(changes::released(&gone));
        }
        past_interrupt(|| session.execute(WireCommand::StopCalls))?;
        past_interrupt(|| self.take_queued(session, print))?;
        Ok(if gone.remaining == 0 { exit } else { Exit::Partly })
    }

    /// Takes the events that are there.
    fn take_queued(&mut self, session: &mut Session, print: &mut Print<'_, C>) -> Result<(), LinkError> {
        let until = Instant::now() + QUEUE_PATIENCE;
        while Instant::now() < until {
            match session.next(Some(Instant::now()))? {
                Some(event) => self.take(event, print),
                None => break,
            }
        }
        Ok(())
    }

    /// Takes an event and prints its calls; drops all but calls.
    fn take(&mut self, event: Event, print: &mut Print<'_, C>) {
        let Event::Calls { id: None, methods, calls, dropped, unread } = event else { return };
        self.unread = self.unread.max(unread);
        let printed = self.lines.take(methods, dropped).map_err(Failure::from).and_then(|()| {
            if self.is_over() {
                return Ok(false);
            }
            let shown = calls.iter().filter(|call| self.lines.shows(call));
            let calls: Vec<C> = shown.map(|call| (self.form)(&self.lines, call)).collect::<Result<_, _>>()?;
            if calls.is_empty() { Ok(true) } else { print(calls) }
        });
        match printed {
            Ok(more) => self.enough |= !more,
            Err(failure) => {
                self.failed.get_or_insert(failure);
            }
        }
    }

    fn is_over(&self) -> bool {
        self.enough || self.failed.is_some()
    }

    /// Reports calls that were not printed.
    fn report_missing(&self) {
        self.lines.dropped_sentences().into_iter().for_each(self.say);
        if self.unread > 0 {
            let calls = words::count(self.unread, "call was", "calls were");
            (self.say)(format!("{calls} captured but not printed: the output is too slow for their number"));
        }
    }
}

/// Does something again if a first Ctrl-C ended it.
fn past_interrupt<T>(mut action: impl FnMut() -> Result<T, LinkError>) -> Result<T, LinkError> {
    match action() {
        Err(LinkError::Interrupted) => action(),
        done => done,
    }
}

#[cfg(test)]
#[path = "call_stream_tests.rs"]
mod tests;
