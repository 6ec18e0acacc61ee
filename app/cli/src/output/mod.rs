//! Output to stdout and stderr: tables, JSON and sentences. This module makes no decisions and must not depend on wire
//! messages other than the rows it prints.

pub mod changes;
pub mod json;
pub mod table;

use redial_link::exit::{Exit, Failure};
pub use redial_link::stderr::sentence;
use redial_text::json::safe_json;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// The output of a command: standard output, buffered until `flush`, or memory, until the outputs of several
/// processes are printed together. A closed pipe is `Failure::ClosedPipe`.
pub struct Out {
    to: Sink,
    remarks: Vec<String>,
}

enum Sink {
    Standard(BufWriter<StdoutLock<'static>>),
    Memory(Vec<u8>),
}

impl Out {
    /// Writes to stdout, which stays locked.
    pub fn new() -> Self {
        Out { to: Sink::Standard(BufWriter::new(io::stdout().lock())), remarks: Vec::new() }
    }

    /// Keeps everything in memory.
    pub fn memory() -> Self {
        Out { to: Sink::Memory(Vec::new()), remarks: Vec::new() }
    }

    /// Returns the text for stdout and the sentences for stderr.
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

    /// Writes text unchanged.
    pub fn text(&mut self, text: &str) -> Result<(), Failure> {
        match &mut self.to {
            Sink::Standard(to) => to.write_all(text.as_bytes()),
            Sink::Memory(to) => to.write_all(text.as_bytes()),
        }
        .map_err(write_failure)
    }

    /// Writes one value as JSON on one line.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let written = match &mut self.to {
            Sink::Standard(to) => safe_json::write(to, value),
            Sink::Memory(to) => safe_json::write(to, value),
        };
        written.map_err(json_failure)?;
        self.line("")
    }

    /// Flushes buffered output.
    pub fn flush(&mut self) -> Result<(), Failure> {
        match &mut self.to {
            Sink::Standard(to) => to.flush().map_err(write_failure),
            Sink::Memory(_) => Ok(()),
        }
    }

    /// Prints a sentence on stderr, or keeps it if the output is kept in memory.
    pub fn remark(&mut self, text: impl std::fmt::Display) {
        match &self.to {
            Sink::Standard(_) => sentence(text),
            Sink::Memory(_) => self.remarks.push(text.to_string()),
        }
    }
}

/// Formats a value as JSON on one line.
pub fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    safe_json::write(&mut bytes, value).map_err(json_failure)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn json_failure(error: serde_json::Error) -> Failure {
    if error.is_io() {
        return write_failure(error.into());
    }
    Failure::new(Exit::Failed, format!("cannot write JSON: {error}"))
}

fn write_failure(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::new(Exit::Failed, format!("cannot write the output: {error}")),
    }
}

/// Returns the width of the terminal, or `None` if stdout is not a terminal, so that scripts get whole names.
pub fn terminal_columns() -> Option<usize> {
    terminal().map(|(columns, _)| columns)
}

/// Returns the columns and lines of the terminal, or `None` if stdout is not a terminal.
pub fn terminal() -> Option<(usize, usize)> {
    if !io::stdout().is_terminal() {
        return None;
    }
    #[cfg(windows)]
    if !redial_link::console::understands_sequences() {
        return None;
    }
    let size = terminal_size::terminal_size();
    Some(
        size.map_or((80, 24), |(width, height)| (usize::from(width.0).max(20), usize::from(height.0).max(5))),
    )
}
