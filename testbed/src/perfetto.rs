//! Reads Perfetto traces with Perfetto's Python module.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;

use crate::{cache, host, layout, packages};

/// A Perfetto trace.
#[derive(Clone, Debug, Deserialize)]
pub struct PerfettoTrace {
    /// The processes with a track.
    pub processes: Vec<TraceProcess>,
    /// Slices and instants in the order of their beginnings.
    pub slices: Vec<TraceSlice>,
}

/// A process with a track.
#[derive(Clone, Debug, Deserialize)]
pub struct TraceProcess {
    /// Its id.
    pub pid: u32,
    /// Its name; empty if the trace has none.
    pub name: String,
}

/// A slice or an instant.
#[derive(Clone, Debug, Deserialize)]
pub struct TraceSlice {
    /// Its process.
    pub pid: u32,
    /// The name of its process.
    pub process: String,
    /// Its thread; 0 on the track of a process, and on that of an async call.
    pub thread: u32,
    /// Index of the slice around it.
    pub around: Option<usize>,
    /// Number of slices around it.
    pub depth: u32,
    /// Its name.
    pub name: String,
    /// Its categories.
    pub categories: Vec<String>,
    /// Unix time in nanoseconds.
    pub start: u64,
    /// Absent for an instant.
    pub end: Option<u64>,
    /// Its annotations by name. Dictionaries are objects.
    pub annotations: Value,
}

/// Fetches the Python module and its library for protobuf, unless the cache has them.
///
/// # Errors
/// The package manager's message.
pub fn ensure() -> Result<String> {
    let protobuf = layout::plain("tools/protobuf-6.33.0", &packages::PROTOBUF, ".", &[])?;
    let perfetto = layout::plain("tools/perfetto-0.59.1", &packages::PERFETTO, ".", &[])?;
    Ok(format!("{}:{}", perfetto.display(), protobuf.display()))
}

/// Reads a trace.
///
/// # Errors
/// When the file is not a valid trace, an event is on no track, or a slice has no end; the error has the reader's output.
pub fn read(file: &Path) -> Result<PerfettoTrace> {
    let mut reader = Command::new("python3");
    reader.env("PYTHONPATH", ensure()?).env("PYTHONDONTWRITEBYTECODE", "1");
    reader.arg(cache::checkout().join("testbed/src/perfetto_slices.py")).arg(file);
    let read = host::run(reader)?.ok().with_context(|| format!("{} is no trace", file.display()))?;
    Ok(serde_json::from_value(read.json()?)?)
}
