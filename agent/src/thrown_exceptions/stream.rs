//! Thrown exceptions on their way to a session.

use super::names::TypeNames;
use crate::sync::lock;
use redial_protocol::exceptions::{ThrowingMethod, ThrownCount, ThrownException, ThrownRow, ThrownTotals};
use redial_protocol::limits::{EXCEPTIONS_PER_PAGE, MAX_THROWN_ROWS};
use redial_protocol::pattern::Pattern;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Exceptions that wait for a session.
const MAX_WAITING: usize = 1024;
/// New rows in a page: their names may be long.
const ROWS_PER_PAGE: usize = 64;
/// Time for which a rate holds.
const SECOND: Duration = Duration::from_secs(1);
/// Longest wait for the last page to be sent.
const LAST_WAIT: Duration = Duration::from_secs(2);

/// The exceptions that wait for a session, and the counts of its rows.
pub struct ExceptionStream {
    types: Option<Pattern>,
    rate: u32,
    queue: Mutex<Queue>,
    filled: Condvar,
}

/// The stream of a session, if it has one.
pub type SessionExceptions = Arc<Mutex<Option<Arc<ExceptionStream>>>>;

/// A row is of a type and a method, each if known.
type RowKey = (Option<Arc<str>>, Option<ThrowingMethod>);

#[derive(Default)]
struct Queue {
    numbers: HashMap<RowKey, u32>,
    rows: Vec<Row>,
    /// Rows that have been described.
    described: usize,
    exceptions: VecDeque<ThrownException>,
    totals: ThrownTotals,
    /// Exceptions taken or waiting.
    sent: u64,
    /// Exceptions that may still be added in the second that began then.
    left: u32,
    second: Option<Instant>,
    is_stopped: bool,
    /// Whether the sender has ended.
    is_sent: bool,
}

struct Row {
    key: RowKey,
    thrown: u64,
    rethrown: u64,
    /// Throws in the counts last taken.
    taken: u64,
    /// Whether one of its exceptions has been added.
    is_shown: bool,
}

/// A part of a stream.
#[derive(Debug, Default)]
pub struct StreamPage {
    /// New rows.
    pub rows: Vec<ThrownRow>,
    /// Counts that changed.
    pub counts: Vec<ThrownCount>,
    /// Exceptions, oldest first.
    pub exceptions: Vec<ThrownException>,
    /// The sums.
    pub totals: ThrownTotals,
    /// Whether the stream was stopped and everything is taken.
    pub is_over: bool,
}

impl ExceptionStream {
    /// Makes a stream of exceptions whose types match; without a pattern, of all. `rate`: single exceptions in a second.
    pub fn new(types: Option<Pattern>, rate: u32) -> ExceptionStream {
        ExceptionStream { types, rate, queue: Mutex::default(), filled: Condvar::new() }
    }

    pub(super) fn rate(&self) -> u32 {
        self.rate
    }

    /// Whether the stream counts exceptions of a type; None: its name is not known.
    pub(super) fn wants(&self, names: Option<&TypeNames>) -> bool {
        match &self.types {
            Some(types) => names.is_some_and(|names| names.matches(types)),
            None => true,
        }
    }

    /// Counts throws: all, and the rethrown ones.
    pub(super) fn count(
        &self,
        names: Option<&TypeNames>,
        method: Option<&ThrowingMethod>,
        (thrown, rethrown): (u64, u64),
    ) {
        let mut queue = lock(&self.queue);
        if queue.is_stopped {
            return;
        }
        queue.totals.thrown += thrown;
        queue.totals.rethrown += rethrown;
        match queue.row(names, method) {
            Some((_, row)) => {
                row.thrown += thrown;
                row.rethrown += rethrown;
            }
            None => queue.totals.others += thrown,
        }
    }

    /// Counts throws for which the agent had no room.
    pub(super) fn count_others(&self, (thrown, rethrown): (u64, u64)) {
        let mut queue = lock(&self.queue);
        if !queue.is_stopped {
            queue.totals.thrown += thrown;
            queue.totals.rethrown += rethrown;
            queue.totals.others += thrown;
        }
    }

    /// Adds an exception, unless there are too many. The first of each row is added in any case.
    pub(super) fn add(
        &self,
        names: Option<&TypeNames>,
        method: Option<&ThrowingMethod>,
        exception: &ThrownException,
    ) {
        let mut queue = lock(&self.queue);
        if queue.is_stopped || queue.exceptions.len() >= MAX_WAITING {
            return;
        }
        let may_add = queue.takes_one(self.rate);
        let Some((number, row)) = queue.row(names, method) else { return };
        if may_add || !row.is_shown {
            row.is_shown = true;
            queue.sent += 1;
            queue.exceptions.push_back(ThrownException { row: number, ..exception.clone() });
        }
    }

    /// Wakes the sender if there is anything to take.
    pub(super) fn wake(&self) {
        if !lock(&self.queue).exceptions.is_empty() {
            self.filled.notify_one();
        }
    }

    /// Takes a page, and waits for an exception for at most `wait`. Counts are part of it if they are `due`, or at the end.
    pub fn take(&self, wait: Duration, due: bool) -> StreamPage {
        let queue = lock(&self.queue);
        let is_empty = |queue: &mut Queue| queue.exceptions.is_empty() && !queue.is_stopped;
        let (mut queue, _) =
            self.filled.wait_timeout_while(queue, wait, is_empty).unwrap_or_else(PoisonError::into_inner);
        queue.page(due)
    }

    /// Ends the stream: it gets nothing more.
    pub fn stop(&self) {
        lock(&self.queue).is_stopped = true;
        self.filled.notify_all();
    }

    /// Records that nothing more will be taken from the stream.
    pub fn set_sent(&self) {
        lock(&self.queue).is_sent = true;
        self.filled.notify_all();
    }

    /// Waits until nothing more will be taken from the stream, within a bound.
    pub fn wait_until_sent(&self) {
        let queue = lock(&self.queue);
        let _ = self.filled.wait_timeout_while(queue, LAST_WAIT, |queue| !queue.is_sent);
    }
}

impl StreamPage {
    /// Whether it says nothing new.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.counts.is_empty() && self.exceptions.is_empty()
    }
}

impl Queue {
    /// Returns a row and its number; None if there are as many as there may be.
    fn row(&mut self, names: Option<&TypeNames>, method: Option<&ThrowingMethod>) -> Option<(u32, &mut Row)> {
        let key: RowKey = (names.map(|names| Arc::clone(&names.display)), method.cloned());
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.rows.len() >= MAX_THROWN_ROWS => return None,
            None => {
                let number = self.rows.len() as u32;
                self.numbers.insert(key.clone(), number);
                self.rows.push(Row { key, thrown: 0, rethrown: 0, taken: 0, is_shown: false });
                number
            }
        };
        self.rows.get_mut(number as usize).map(|row| (number, row))
    }

    /// Whether one more exception may be added in this second.
    fn takes_one(&mut self, rate: u32) -> bool {
        if self.second.is_none_or(|began| began.elapsed() >= SECOND) {
            self.second = Some(Instant::now());
            self.left = rate;
        }
        let may_add = self.left > 0;
        self.left = self.left.saturating_sub(1);
        may_add
    }

    fn page(&mut self, due: bool) -> StreamPage {
        let first = self.described;
        let new = self.rows.iter().zip(0..).skip(first).take(ROWS_PER_PAGE);
        let rows: Vec<ThrownRow> = new
            .map(|(row, number)| ThrownRow {
                row: number,
                type_name: row.key.0.as_ref().map(|name| name.to_string()),
                method: row.key.1.clone(),
            })
            .collect();
        self.described += rows.len();
        let is_last = self.is_stopped && self.described == self.rows.len();
        let mut exceptions = Vec::new();
        while exceptions.len() < EXCEPTIONS_PER_PAGE
            && let Some(next) = self.exceptions.pop_front_if(|next| (next.row as usize) < self.described)
        {
            exceptions.push(next);
        }
        let mut counts = Vec::new();
        if due || is_last {
            for (row, number) in self.rows.iter_mut().zip(0..).take(self.described) {
                if std::mem::replace(&mut row.taken, row.thrown) != row.thrown {
                    counts.push(ThrownCount { row: number, thrown: row.thrown, rethrown: row.rethrown });
                }
            }
        }
        let unsent = self.totals.thrown.saturating_sub(self.sent);
        let totals = ThrownTotals { unsent, ..self.totals };
        let is_over = is_last && self.exceptions.is_empty();
        StreamPage { rows, counts, exceptions, totals, is_over }
    }
}
