//! What goes to stdout and stderr: tables, JSON, sentences. It must not know the pipe's messages beyond the
//! rows it prints, and decides nothing.

pub mod budget;
pub mod callers;
pub mod calls;
pub mod completions;
#[cfg(windows)]
mod console;
pub mod json;
pub mod table;
pub mod times;
pub mod turns;
pub mod words;

use crate::exit::{Exit, Failure};
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// Where a command writes: standard output, buffered until `flush`, or memory, until what others write is known too. A
/// reader that went away is `Failure::ClosedPipe`.
pub struct Out {
    to: Sink,
    remarks: Vec<String>,
}

enum Sink {
    Standard(BufWriter<StdoutLock<'static>>),
    Memory(Vec<u8>),
}

impl Out {
    /// Locks stdout.
    pub fn new() -> Self {
        Out { to: Sink::Standard(BufWriter::new(io::stdout().lock())), remarks: Vec::new() }
    }

    /// Keeps everything.
    pub fn memory() -> Self {
        Out { to: Sink::Memory(Vec::new()), remarks: Vec::new() }
    }

    /// What was kept: text for stdout, sentences for stderr.
    pub fn into_kept(self) -> (String, Vec<String>) {
        let text = match self.to {
            Sink::Memory(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Sink::Standard(_) => String::new(),
        };
        (text, self.remarks)
    }

    /// Writes one line.
    pub fn line(&mut self, line: &str) -> Result<(), Failure> {
        match &mut self.to {
            Sink::Standard(to) => writeln!(to, "{line}"),
            Sink::Memory(to) => writeln!(to, "{line}"),
        }
        .map_err(write_failure)
    }

    /// Writes text as it is.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.to {
            Sink::Standard(to) => to.write_all(text.as_bytes()),
            Sink::Memory(to) => to.write_all(text.as_bytes()),
        }
        .map_err(write_failure)
    }

    /// Writes one value as JSON on one line.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        self.line(&json_line(value)?)
    }

    /// Hands everything to the reader.
    pub fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.to {
            Sink::Standard(to) => to.flush().map_err(write_failure),
            Sink::Memory(_) => Ok(()),
        }
    }

    /// Says a sentence on stderr, at once where nobody else writes.
    pub fn remark(&mut self, text: impl std::fmt::Display) {
        match &self.to {
            Sink::Standard(_) => sentence(text),
            Sink::Memory(_) => self.remarks.push(text.to_string()),
        }
    }
}

/// A value as JSON on one line.
pub fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value)
        .map_err(|error| Failure::new(Exit::Failed, format!("cannot write JSON: {error}")))
}

fn write_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::new(Exit::Failed, format!("cannot write the output: {error}")),
    }
}

/// Prints a sentence on stderr, on one line. A closed stderr is not an error.
pub fn sentence(text: impl std::fmt::Display) {
    let _ = writeln!(io::stderr().lock(), "redial: {}", words::one_line(&text.to_string()));
}

/// Columns of the terminal stdout is; None when it is none, so that scripts get whole names.
pub fn terminal_columns() -> Option<usize> {
    terminal().map(|(columns, _)| columns)
}

/// Columns and lines of the terminal stdout is.
pub fn terminal() -> Option<(usize, usize)> {
    if !io::stdout().is_terminal() {
        return None;
    }
    #[cfg(windows)]
    if !console::understands_sequences() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(
        size.map_or((80, 24), |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(5))),
    )
}

/// A reason in words, with the HRESULT where it is the reason.
pub fn reason(reason: redial_protocol::reason::Reason, hresult: u32) -> String {
    match reason {
        redial_protocol::reason::Reason::Hresult => format!("{} ({hresult:#010x})", reason.sentence()),
        other => other.sentence().to_owned(),
    }
}
