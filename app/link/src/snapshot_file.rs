//! The file of a snapshot: JSON Lines. The first line names the format and its version; the last one has the number of
//! lines and a checksum, so that a file that was cut or changed is recognized. Each line between is one record: a
//! method, a traced call, an order or a change of the log.
//!
//! Fields and kinds of records may be added within a version; readers ignore those they do not know. Everything else
//! needs a new version, which older programs refuse.
#![forbid(unsafe_code)]

use super::atomic_write::AtomicFile;
use redial_model::process_snapshot::{ProcessSnapshot, SavedChange, SavedMethod, SnapshotHeader};
use redial_protocol::limits::{AUDIT_ENTRIES, MAX_STANDING_ORDERS, MAX_STATUS_ROWS, MAX_TRACED_CALLS};
use serde::{Deserialize, Serialize};
use std::fs::{File, Metadata};
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

/// The version of the format that this program writes, and the newest one that it reads.
pub const VERSION: u32 = 1;
/// The most bytes of a file. 400,000 methods with their histograms take less.
const MAX_BYTES: u64 = 1 << 30;
/// The most bytes of a line: a method with a full histogram takes 40 KiB.
const MAX_LINE: usize = 1 << 20;
/// The most values in the traced calls of a file. In memory a value takes up to 30 times the bytes it takes in the file, so
/// the size of the file alone would not bound the memory.
const MAX_VALUES: usize = 128 * MAX_TRACED_CALLS;

/// Why a file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotFileError {
    /// The file cannot be opened or read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// The file.
        file: String,
        /// The reason.
        error: io::Error,
    },
    /// The file is something else.
    #[error("{file} is no snapshot of Redial")]
    Other {
        /// The file.
        file: String,
    },
    /// A newer program wrote it.
    #[error(
        "{file} has format {version}, written by {program}; this is redial {}, which reads formats up to {VERSION}; use \
         that program, or a newer one",
        env!("CARGO_PKG_VERSION")
    )]
    Newer {
        /// The file.
        file: String,
        /// Its format.
        version: u32,
        /// The program that wrote it.
        program: String,
    },
    /// The end is missing.
    #[error("{file} is incomplete: it ends after line {line}")]
    Cut {
        /// The file.
        file: String,
        /// The last line.
        line: u64,
    },
    /// The content does not fit together.
    #[error("{file} is damaged at line {line}: {why}")]
    Damaged {
        /// The file.
        file: String,
        /// The line.
        line: u64,
        /// The reason.
        why: String,
    },
}

/// The first line.
#[derive(Serialize, Deserialize)]
struct FirstLine<H> {
    redial_snapshot: u32,
    program: String,
    #[serde(flatten)]
    header: H,
}

/// What the first line of every version has.
#[derive(Deserialize)]
struct AnyHeader {}

/// A line after the first.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Record {
    Method(Box<SavedMethod>),
    Call(serde_json::Value),
    Order(String),
    Change(SavedChange),
    End(End),
}

/// The last line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct End {
    /// The number of lines before this one.
    lines: u64,
    /// CRC-32 of the bytes before this line.
    crc32: u32,
}

/// Writes a snapshot to a file that only the user may read. Replaces an existing file only if `replace` is set.
///
/// # Errors
/// When the file cannot be written, or exists.
pub fn write(file: &Path, snapshot: &ProcessSnapshot, replace: bool) -> io::Result<()> {
    let content = encode(snapshot)?;
    let whole = AtomicFile::create_private(file)?;
    if replace { whole.write(&content) } else { whole.write_new(&content) }
}

fn encode(snapshot: &ProcessSnapshot) -> io::Result<Vec<u8>> {
    let ProcessSnapshot { header, methods, calls, orders, changes } = snapshot;
    let program = concat!("redial ", env!("CARGO_PKG_VERSION")).to_owned();
    let mut to = serde_json::to_vec(&FirstLine { redial_snapshot: VERSION, program, header })?;
    to.push(b'\n');
    methods.iter().try_for_each(|method| push(&mut to, "method", method))?;
    calls.iter().try_for_each(|call| push(&mut to, "call", call))?;
    orders.iter().try_for_each(|order| push(&mut to, "order", order))?;
    changes.iter().try_for_each(|change| push(&mut to, "change", change))?;
    let lines = 1 + methods.len() + calls.len() + orders.len() + changes.len();
    let end = End { lines: lines as u64, crc32: crc32fast::hash(&to) };
    push(&mut to, "end", &end)?;
    Ok(to)
}

/// Appends a record as a line.
fn push(to: &mut Vec<u8>, kind: &str, value: &impl Serialize) -> io::Result<()> {
    to.extend_from_slice(format!("{{\"{kind}\":").as_bytes());
    serde_json::to_writer(&mut *to, value)?;
    to.extend_from_slice(b"}\n");
    Ok(())
}

/// Reads a snapshot.
///
/// # Errors
/// When the file cannot be read, is no regular file, is damaged or incomplete, or has a newer format.
pub fn read(file: &Path) -> Result<ProcessSnapshot, SnapshotFileError> {
    let name = file.display().to_string();
    let failed = |error| SnapshotFileError::Read { file: name.clone(), error };
    // Before it is opened: a pipe without a writer would block.
    std::fs::metadata(file).and_then(|about| check(&about)).map_err(failed)?;
    let opened = File::open(file).map_err(failed)?;
    opened.metadata().and_then(|about| check(&about)).map_err(failed)?;
    decode(&name, BufReader::new(opened.take(MAX_BYTES)))
}

/// Refuses what is no regular file, and a file that is too large.
fn check(about: &Metadata) -> io::Result<()> {
    if about.is_dir() {
        Err(io::Error::other("it is a folder"))
    } else if !about.is_file() {
        Err(io::Error::other("it is not a file"))
    } else if about.len() > MAX_BYTES {
        Err(io::Error::other(format!("it is larger than {} GiB", MAX_BYTES >> 30)))
    } else {
        Ok(())
    }
}

fn decode(file: &str, from: impl BufRead) -> Result<ProcessSnapshot, SnapshotFileError> {
    let mut lines = Lines { file, from, number: 0, crc: crc32fast::Hasher::new(), values: 0 };
    let other = || SnapshotFileError::Other { file: file.to_owned() };
    let first = match lines.next() {
        Ok(Some((first, _))) => first,
        Ok(None) | Err(SnapshotFileError::Damaged { .. }) => return Err(other()),
        Err(error) => return Err(error),
    };
    let FirstLine { redial_snapshot: version, program, .. } =
        serde_json::from_slice::<FirstLine<AnyHeader>>(&first).map_err(|_| other())?;
    if version > VERSION {
        return Err(SnapshotFileError::Newer { file: file.to_owned(), version, program });
    }
    let header = serde_json::from_slice::<FirstLine<SnapshotHeader>>(&first);
    let header = header.map_err(|error| lines.damaged(error.to_string()))?.header;
    let mut snapshot = ProcessSnapshot { header, ..ProcessSnapshot::default() };
    while let Some((line, before)) = lines.next()? {
        match record(&line).map_err(|error| lines.damaged(error.to_string()))? {
            Some(Record::End(end)) => {
                if end != before {
                    return Err(lines.damaged("the checksum does not match".to_owned()));
                }
                return Ok(snapshot);
            }
            Some(record) => lines.add(&mut snapshot, record, &line)?,
            // A newer program of the same format wrote it.
            None => {}
        }
    }
    Err(SnapshotFileError::Cut { file: file.to_owned(), line: lines.number })
}

/// Parses a record; `None` if it is of an unknown kind.
fn record(line: &[u8]) -> serde_json::Result<Option<Record>> {
    const KINDS: [&str; 5] = ["method", "call", "order", "change", "end"];
    match serde_json::from_slice(line) {
        Ok(record) => Ok(Some(record)),
        Err(error) => match serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line) {
            Ok(object) if object.keys().all(|kind| !KINDS.contains(&kind.as_str())) => Ok(None),
            _ => Err(error),
        },
    }
}

/// The lines of a file, with the checksum of those read so far.
struct Lines<'a, R> {
    file: &'a str,
    from: R,
    number: u64,
    crc: crc32fast::Hasher,
    /// Those of the traced calls so far, about.
    values: usize,
}

impl<R: BufRead> Lines<'_, R> {
    /// Returns the next line, and the checksum of those before it.
    fn next(&mut self) -> Result<Option<(Vec<u8>, End)>, SnapshotFileError> {
        let mut line = Vec::new();
        let read = (&mut self.from).take(MAX_LINE as u64 + 1).read_until(b'\n', &mut line);
        read.map_err(|error| SnapshotFileError::Read { file: self.file.to_owned(), error })?;
        if line.is_empty() {
            return Ok(None);
        }
        let before = End { lines: self.number, crc32: self.crc.clone().finalize() };
        self.number += 1;
        if line.len() > MAX_LINE {
            return Err(self.damaged(format!("it is longer than {} KiB", MAX_LINE >> 10)));
        }
        self.crc.update(&line);
        Ok(Some((line, before)))
    }

    /// Adds the record of a line.
    fn add(
        &mut self,
        snapshot: &mut ProcessSnapshot,
        record: Record,
        line: &[u8],
    ) -> Result<(), SnapshotFileError> {
        let full = match record {
            Record::Method(method) => {
                snapshot.methods.push(*method);
                snapshot.methods.len() > MAX_STATUS_ROWS
            }
            Record::Call(call) => {
                // Each value but the first follows one of these.
                self.values += line.iter().filter(|byte| b",[{".contains(byte)).count();
                snapshot.calls.push(call);
                snapshot.calls.len() > MAX_TRACED_CALLS || self.values > MAX_VALUES
            }
            Record::Order(order) => {
                snapshot.orders.push(order);
                snapshot.orders.len() > MAX_STANDING_ORDERS
            }
            Record::Change(change) => {
                snapshot.changes.push(change);
                snapshot.changes.len() > AUDIT_ENTRIES
            }
            Record::End(_) => false,
        };
        if full { Err(self.damaged("it has more records than a snapshot can".to_owned())) } else { Ok(()) }
    }

    fn damaged(&self, why: String) -> SnapshotFileError {
        SnapshotFileError::Damaged { file: self.file.to_owned(), line: self.number, why }
    }
}

#[cfg(test)]
#[path = "snapshot_file_tests.rs"]
mod tests;
