//! Output to stdout and stderr: tables, JSON and sentences. This module makes no decisions and must not depend on wire
//! messages other than the rows it prints.

pub mod changes;
pub mod json;
pub mod page;
pub mod table;
mod terminal_space;

use page::Page;
use redial_link::exit::{Exit, Failure};
pub use redial_link::stderr::sentence;
use redial_text::json::safe_json;
use serde::Serialize;
use std::io::{self, BufWriter, StdoutLock, Write};
pub use terminal_space::{terminal, terminal_columns};

/// The output of a command: standard output, buffered until `flush`, or memory, until the outputs of several
/// processes are printed together. A closed pipe is `Failure::ClosedPipe`.
pub struct Out {
    to: Sink,
    remarks: Vec<String>,
    /// The number of outputs that are printed together.
    together: usize,
}

enum Sink {
    Standard(BufWriter<StdoutLock<'static>>),
    Memory(Vec<u8>),
}

impl Out {
    /// Writes to stdout, which stays locked.
    pub fn new() -> Self {
        Out { to: Sink::Standard(BufWriter::new(io::stdout().lock())), remarks: Vec::new(), together: 1 }
    }

    /// Keeps everything in memory, as one of several outputs that are printed together.
    pub fn memory(together: usize) -> Self {
        Out { to: Sink::Memory(Vec::new()), remarks: Vec::new(), together }
    }

    /// Returns the space for a listing; `limit` is the number of rows that the user asked for.
    pub fn page(&self, limit: Option<u64>) -> Page {
        Page::of_stdout(limit).shared(self.together)
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
