//! Limits for the answer to one command. Without them, a faulty or hostile agent could send until our memory
//! or the user's patience ends.
#![forbid(unsafe_code)]

use super::error::LinkError;
use redial_protocol::exceptions::{ThrownCount, ThrownException, ThrownRow};
use redial_protocol::ids::{ModuleKey, RowId};
use redial_protocol::limits::{
    MAX_ANSWER, MAX_CATALOGUE_METHODS, MAX_IL_CODE, MAX_STATUS_ROWS, MAX_TRACED_CALLS, ROW_MEMORY,
};
use redial_protocol::message::{Event, Instance, WireCommand};
use redial_protocol::trace::{
    DroppedCalls, InnerException, TracedCall, TracedMethod, TracedParameter, Value,
};
use redial_text::words;
use std::time::Duration;

/// What an agent may take for an answer.
#[derive(Clone, Copy, Debug)]
pub struct ReplyLimits {
    /// Until the next page. Dialling a whole large program may wait for the runtime to suspend. An agent gives
    /// up after 30 s and says so; longer than this is a hang.
    pub page: Duration,
    /// Until the replies to all commands of a session that belong together.
    pub total: Duration,
    /// Bytes of all answers that belong together, and bytes of all events that wait for `Session::next`.
    pub bytes: usize,
}

impl Default for ReplyLimits {
    fn default() -> ReplyLimits {
        ReplyLimits { page: Duration::from_secs(40), total: Duration::from_secs(5 * 60), bytes: MAX_ANSWER }
    }
}

/// Memory of an instruction, bytes, without its texts.
const LINE_MEMORY: usize = 160;

/// The part of the limits that earlier answers of a session used. Without it, an agent could answer each of many small
/// commands with as much as one answer may have.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsedLimits {
    /// Bytes of pages and replies.
    pub bytes: usize,
    /// Time until the replies.
    pub time: Duration,
}

/// Counts what an agent sends in answer to one command.
pub struct ReplyMeter {
    pid: u32,
    left: usize,
    limit: usize,
    methods: ItemCount,
    rows: ItemCount,
    times: ItemCount,
    lines: ItemCount,
    calls: ItemCount,
}

impl ReplyMeter {
    /// Starts after earlier answers of `used` bytes.
    pub fn new(pid: u32, limit: usize, used: usize, command: &WireCommand) -> ReplyMeter {
        let methods = match command {
            WireCommand::Methods { limit, .. } => usize::try_from(*limit).unwrap_or(usize::MAX),
            _ => 0,
        };
        ReplyMeter {
            pid,
            left: limit.saturating_sub(used),
            limit,
            methods: ItemCount::new(methods.min(MAX_CATALOGUE_METHODS), "methods"),
            rows: ItemCount::new(MAX_STATUS_ROWS, "dialled methods"),
            times: ItemCount::new(MAX_STATUS_ROWS, "times of methods"),
            lines: ItemCount::new(MAX_IL_CODE, "lines of IL"),
            calls: ItemCount::new(MAX_TRACED_CALLS, "calls"),
        }
    }

    /// Returns the bytes received, with those of earlier answers.
    pub fn used(&self) -> usize {
        self.limit - self.left
    }

    /// Counts a page.
    pub fn count(&mut self, page: &Event, bytes: usize) -> Result<(), LinkError> {
        match page {
            Event::Methods { page, .. } => self.methods.add(self.pid, page.token.len())?,
            Event::Rows { rows, .. } => self.rows.add(self.pid, rows.len())?,
            Event::Times { times, .. } => self.times.add(self.pid, times.len())?,
            Event::Il { page, .. } => self.lines.add(self.pid, page.lines.len())?,
            Event::Calls { calls, .. } => self.calls.add(self.pid, calls.len())?,
            _ => {}
        }
        let too_much = || too_many_bytes(self.pid, self.limit);
        self.left = self.left.checked_sub(memory(page, bytes)).ok_or_else(too_much)?;
        Ok(())
    }
}

/// Items of one kind.
struct ItemCount {
    left: usize,
    limit: usize,
    name: &'static str,
}

impl ItemCount {
    fn new(limit: usize, name: &'static str) -> ItemCount {
        ItemCount { left: limit, limit, name }
    }

    fn add(&mut self, pid: u32, items: usize) -> Result<(), LinkError> {
        let limit = || format!("{} {}", words::grouped(self.limit as u64), self.name);
        self.left = self.left.checked_sub(items).ok_or_else(|| LinkError::TooMuch { pid, limit: limit() })?;
        Ok(())
    }
}

/// Returns the error for an agent that sends more than `limit` bytes.
pub fn too_many_bytes(pid: u32, limit: usize) -> LinkError {
    LinkError::TooMuch { pid, limit: format!("{} MiB", limit >> 20) }
}

/// Estimates the memory of an event that came in a frame of `bytes`. Small numbers take less space in a frame
/// than in memory.
pub fn memory(event: &Event, bytes: usize) -> usize {
    let decoded = match event {
        Event::Methods { page, .. } => {
            let numbers = page.module.len() + page.token.len() + page.type_index.len() + page.bodyless.len();
            numbers * size_of::<u32>() + page.modules.len() * size_of::<ModuleKey>()
        }
        Event::Rows { rows, .. } => {
            let instances: usize = rows.iter().map(|row| row.instances.len()).sum();
            // Listings copy the texts.
            2 * bytes + rows.len() * ROW_MEMORY + instances * size_of::<Instance>()
        }
        Event::Transition(transition) => transition.instances.len() * size_of::<Instance>(),
        // A row's memory includes its times. Others are dropped.
        Event::Times { .. } => bytes,
        Event::Counters { delta, .. } => {
            delta.rows.len() * size_of::<RowId>() + delta.calls.len() * size_of::<u64>()
        }
        Event::Calls { methods, calls, dropped, .. } => {
            let parameters: usize = methods.iter().map(|method| method.parameters.len()).sum();
            let values: usize = calls.iter().map(TracedCall::values).sum();
            // Strings have two bytes for each unit.
            2 * bytes
                + methods.len() * size_of::<TracedMethod>()
                + parameters * size_of::<TracedParameter>()
                + calls.len() * size_of::<TracedCall>()
                + values * size_of::<(String, Value)>()
                + dropped.len() * size_of::<DroppedCalls>()
        }
        Event::Exceptions { rows, counts, exceptions, .. } => {
            let inner: usize = exceptions.iter().map(|one| one.inner.len()).sum();
            let values: usize = exceptions.iter().map(ThrownException::values).sum();
            2 * bytes
                + rows.len() * size_of::<ThrownRow>()
                + counts.len() * size_of::<ThrownCount>()
                + exceptions.len() * size_of::<ThrownException>()
                + inner * size_of::<InnerException>()
                + values * size_of::<(String, Value)>()
        }
        Event::Il { page, .. } => (bytes * 4).max(bytes + page.lines.len() * LINE_MEMORY),
        Event::Reply { .. } | Event::Budget(_) => bytes * 4,
        Event::Control(_) | Event::Progress { .. } | Event::Catalogue { .. } | Event::Goodbye { .. } => 0,
    };
    decoded.max(bytes).max(size_of::<Event>())
}
