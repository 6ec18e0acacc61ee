//! Writes the calls of processes as a trace.

use super::packets;
use super::thread_order::{CallEvent, ThreadOrder};
use super::trace_file::TraceFile;
use crate::target::TargetProcess;
use redial_link::exit::{Exit, Failure};
use std::collections::{HashMap, HashSet};
use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

/// The most memory for beginnings that are held, bytes. Thousands of calls take a few MiB.
const MAX_HELD: usize = 16 << 20;
/// The most threads whose tracks are remembered. Describing a track again changes nothing.
const MAX_TRACKS: usize = 1 << 16;
/// Bits of a thread id in a track's id.
const THREAD_BITS: u32 = 32;
/// The tracks of async calls have this bit, and no process's number.
const ASYNC: u64 = 1 << 63;

/// A trace that is being written.
pub struct PerfettoWriter {
    file: TraceFile,
    /// Packets that are not in the file yet.
    out: Vec<u8>,
    /// The tracks of the processes by pid.
    processes: HashMap<u32, u64>,
    /// The tracks of threads in the file.
    described: HashSet<u64>,
    threads: HashMap<u64, ThreadOrder>,
    /// The memory of `threads`.
    held: usize,
    max_held: usize,
    /// Calls that are still wanted.
    left: u64,
    written: u64,
    /// Async calls so far.
    tracks: u64,
    /// Whether the file could not be written.
    failed: bool,
}

impl PerfettoWriter {
    /// Begins a trace of these processes with at most `count` calls.
    pub fn new(file: TraceFile, members: &[TargetProcess], count: Option<u64>) -> PerfettoWriter {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut out = packets::first(u64::try_from(now.as_nanos()).unwrap_or(u64::MAX));
        let mut processes = HashMap::new();
        for (number, member) in (1_u64..).zip(members) {
            let track = number << THREAD_BITS;
            out.extend(packets::process(track, member.key.pid, &member.name));
            processes.insert(member.key.pid, track);
        }
        PerfettoWriter {
            file,
            out,
            processes,
            described: HashSet::new(),
            threads: HashMap::new(),
            held: 0,
            max_held: MAX_HELD,
            left: count.unwrap_or(u64::MAX),
            written: 0,
            tracks: 0,
            failed: false,
        }
    }

    /// Writes calls of a process. Returns whether more are wanted.
    pub fn add(&mut self, pid: u32, calls: Vec<CallEvent>) -> Result<bool, Failure> {
        let process = self.processes.get(&pid).copied().unwrap_or_default();
        for call in calls {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            self.written += 1;
            self.add_call(pid, process, call);
        }
        self.flush()?;
        Ok(self.left > 0)
    }

    /// Writes a call to a track of its own. Perfetto shows all tracks of a process with the same name as one group.
    fn add_async(&mut self, process: u64, mut call: CallEvent, end: u64) {
        self.tracks += 1;
        let track = ASYNC | self.tracks;
        self.out.extend(packets::async_calls(track, process, call.event.name.as_deref().unwrap_or_default()));
        call.event.track_uuid = Some(track);
        self.out.extend(packets::event(call.start, call.event));
        self.out.extend(packets::end(end.max(call.start), Some(track)));
    }

    fn add_call(&mut self, pid: u32, process: u64, mut call: CallEvent) {
        if let Some(end) = call.end.filter(|_| call.is_async) {
            return self.add_async(process, call, end);
        }
        let track = process | u64::from(call.thread);
        call.event.track_uuid = Some(track);
        if call.thread != 0 && !self.described.contains(&track) {
            if self.described.len() == MAX_TRACKS {
                self.described.clear();
            }
            self.described.insert(track);
            self.out.extend(packets::thread(track, process, pid, call.thread));
        }
        let thread = self.threads.entry(track).or_default();
        let before = thread.bytes();
        thread.add(call, &mut self.out);
        let bytes = thread.bytes();
        self.held = self.held + bytes - before;
        if bytes == 0 {
            self.threads.remove(&track);
        }
        if self.held > self.max_held {
            self.make_room();
        }
    }

    /// Writes beginnings early. A caller that arrives later and began in the same nanosecond then appears inside its
    /// callee.
    fn make_room(&mut self) {
        self.threads.values_mut().for_each(|thread| thread.release_later(&mut self.out));
        self.held = self.threads.values().map(ThreadOrder::bytes).sum();
        if self.held > self.max_held / 2 {
            self.release();
        }
    }

    fn release(&mut self) {
        self.threads.drain().for_each(|(_, mut thread)| thread.release(&mut self.out));
        self.held = 0;
    }

    fn flush(&mut self) -> Result<(), Failure> {
        let written = self.file.write(&self.out);
        self.out.clear();
        written.map_err(|error| {
            self.failed = true;
            cannot("write", &self.file, &error)
        })
    }

    /// Writes what is left and returns the number of calls. Without calls, leaves the file as it was unless `keep`.
    pub fn finish(mut self, keep: bool) -> Result<Option<u64>, Failure> {
        if self.failed {
            return Ok(None);
        }
        if self.written == 0 && !keep {
            self.file.discard();
            return Ok(None);
        }
        self.release();
        self.flush()?;
        Ok(Some(self.written))
    }
}

fn cannot(what: &str, file: &TraceFile, error: &io::Error) -> Failure {
    Failure::new(Exit::Failed, format!("cannot {what} {}: {error}", file.path().display()))
}

#[cfg(test)]
#[path = "writer_tests.rs"]
mod tests;
