//! The exceptions of one process, from the start of its stream to its end.

use super::rows::ThrownRows;
use crate::arguments;
use crate::change::open_or_attach;
use crate::output::terminal_columns;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_link::signals::Interrupts;
use redial_protocol::message::{Event, WireCommand};
use redial_text::exceptions;
use std::time::{Duration, Instant};

/// How long queued events are taken at the end. An agent that sends without end must not keep us there.
const QUEUE_PATIENCE: Duration = Duration::from_secs(2);
/// Columns of the process id and its gap, if there are several processes.
const PID_COLUMNS: usize = 10;

/// Prints lines of exceptions, or those at the end. Returns whether more exceptions are wanted.
pub(super) type Print<'p> = dyn Fn(Vec<String>, bool) -> Result<bool, Failure> + 'p;

/// The end of a watch.
pub(super) struct WatchEnd(Result<Exit, Failure>);

impl WatchEnd {
    pub(super) fn result(self) -> Result<Exit, Failure> {
        self.0
    }
}

/// The watch of one process.
struct Watch<'a> {
    rows: ThrownRows,
    print: &'a Print<'a>,
    /// Lines of exceptions printed.
    printed: u64,
    /// Most lines of exceptions to print.
    most: u64,
    failed: Option<Failure>,
}

/// Counts and prints the exceptions of process `pid` until Ctrl-C, until there are enough, or until the process ends, which is
/// an error. Passes remarks to `say`.
pub(super) fn watch(
    pid: u32,
    arguments: &arguments::ExceptionsArguments,
    interrupts: &Interrupts,
    print: &Print<'_>,
    say: &dyn Fn(String),
) -> WatchEnd {
    let before = if arguments.target.only().is_some() { 0 } else { PID_COLUMNS };
    let columns = terminal_columns().filter(|_| !arguments.wide);
    let rows = ThrownRows::new(pid, arguments.json, columns.map(|columns| columns.saturating_sub(before)));
    let most = arguments.count.unwrap_or(u64::MAX);
    let mut watch = Watch { rows, print, printed: 0, most, failed: None };
    WatchEnd(watch.run(pid, arguments, interrupts, say))
}

impl Watch<'_> {
    fn run(
        &mut self,
        pid: u32,
        arguments: &arguments::ExceptionsArguments,
        interrupts: &Interrupts,
        say: &dyn Fn(String),
    ) -> Result<Exit, Failure> {
        let mut session =
            open_or_attach(pid, "redial exceptions", arguments.attach, "", &mut |text| say(text))?;
        interrupts.deliver_to(session.interrupter());
        let types = arguments.types.clone();
        let rate = arguments.rate.and_then(|rate| u32::try_from(rate).ok());
        match session.execute(WireCommand::StreamExceptions { types, rate }) {
            Err(LinkError::Interrupted) => return Ok(Exit::Done),
            begun => begun?,
        }
        say("counting exceptions; Ctrl-C ends this".to_owned());
        let deadline = arguments.for_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
        let ended = self.follow(&mut session, deadline).and_then(|()| self.finish(&mut session));
        if let Some(failure) = self.failed.take() {
            return Err(failure);
        }
        let lines = self.rows.summary(self.printed)?;
        (self.print)(lines, true)?;
        let has_all = arguments.json || arguments.count.is_some_and(|count| self.printed >= count);
        if let Some(text) = exceptions::unprinted(self.rows.unprinted(self.printed)).filter(|_| !has_all) {
            say(text);
        }
        ended?;
        Ok(Exit::Done)
    }

    /// Prints exceptions until enough of them, the deadline, Ctrl-C, or the end of the process, which is an error.
    fn follow(&mut self, session: &mut Session, deadline: Option<Instant>) -> Result<(), LinkError> {
        while !self.is_over() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
            match session.next(deadline) {
                Ok(Some(event)) => self.take(event),
                Ok(None) => {}
                Err(LinkError::Interrupted) => return Ok(()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the stream and takes its last page.
    fn finish(&mut self, session: &mut Session) -> Result<(), LinkError> {
        match session.execute(WireCommand::StopExceptions) {
            // A first Ctrl-C came while the last exception was printed.
            Err(LinkError::Interrupted) => session.execute(WireCommand::StopExceptions)?,
            stopped => stopped?,
        }
        let until = Instant::now() + QUEUE_PATIENCE;
        while Instant::now() < until {
            match session.next(Some(Instant::now())) {
                Ok(Some(event)) => self.take(event),
                Ok(None) => break,
                Err(LinkError::Interrupted) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn is_over(&self) -> bool {
        self.printed >= self.most || self.failed.is_some()
    }

    /// Takes an event and prints its exceptions.
    fn take(&mut self, event: Event) {
        let Event::Exceptions { rows, counts, exceptions, totals } = event else { return };
        let printed = self.rows.take(rows, &counts, &exceptions, totals).and_then(|lines| {
            if lines.is_empty() || self.is_over() {
                return Ok(true);
            }
            self.printed = self.printed.saturating_add(lines.len() as u64).min(self.most);
            (self.print)(lines, false)
        });
        match printed {
            Ok(true) => {}
            Ok(false) => self.most = self.printed,
            Err(failure) => {
                self.failed.get_or_insert(failure);
            }
        }
    }
}
