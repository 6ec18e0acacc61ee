//! A watcher's thread: sends rows, transitions and counter deltas of one session as they change. It keeps what it
//! sent last, so a slow peer delays numbers and never loses them; what is dropped are only updates in between.
#![forbid(unsafe_code)]

use super::outbox::Outbox;
use super::rows;
use super::times::send_times;
use super::watched::{Watched, WatchedTimes};
use crate::agent::Agent;
use crate::probes::blocks::{self, Slot};
use crate::rejit::slots::Counted;
use crate::sync::lock;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::limits::MAX_COUNTER_ROWS;
use redial_protocol::message::Event;
use redial_protocol::packet::FromAgent;
use redial_protocol::pattern::Pattern;
use redial_protocol::state::State;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Transitions in one go.
const MAX_TRANSITIONS: usize = 512;
/// A burst of changes goes out in a few passes, then what came within this time together: a thousand methods that go
/// live are not a thousand wake-ups, paid for by the host's threads.
const PACE: Duration = Duration::from_millis(1);
/// Passes before that: what a user does to one method is told at once.
const AT_ONCE: u32 = 4;
/// The part of an interval that may go into reading times.
const TIMES_SHARE: u32 = 8;
/// Longest the thread lingers at shutdown for its last frames.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Ends a subscription from another thread.
#[derive(Debug, Default)]
pub struct Stop {
    asked: AtomicBool,
    /// Held over each pass of the watcher.
    pass: Mutex<()>,
}

impl Stop {
    /// Asks the watcher to end and waits for the pass it is in: nothing of it is sent afterwards.
    pub fn stop(&self, agent: &Agent) {
        self.asked.store(true, Ordering::Release);
        agent.ledger.wake();
        drop(lock(&self.pass));
    }

    fn is_asked(&self) -> bool {
        self.asked.load(Ordering::Acquire)
    }
}

/// What one session watches.
pub struct Subscription {
    agent: &'static Agent,
    outbox: Arc<Outbox>,
    stop: Arc<Stop>,
    pattern: Option<Pattern>,
    interval: Duration,
    /// Rows whose `StatusRow` was sent.
    sent: HashMap<RowId, Sent>,
    /// Those of them that have counters, as of `counted_revision`.
    counted: Vec<Counted>,
    counted_revision: u64,
    times: WatchedTimes,
    /// Revision of the counters, and end of the rows, that its rows are of.
    times_of: (u64, usize),
    /// Rows lost since the last fold, with their final number.
    lost: Vec<(RowId, u64)>,
    rows_seen: usize,
    ring_seen: u64,
    control_seen: u64,
    catalogue_seen: u64,
    budget_seen: u64,
    dropped: u64,
    served: bool,
}

/// What of a row was sent last.
struct Sent {
    calls: u64,
    /// Number of the first transition that its `StatusRow` did not tell of: the earlier ones are not sent after it.
    told: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.agent.server.unsubscribed(self.served);
    }
}

impl Subscription {
    /// A subscription; `pattern` absent means every row.
    pub fn new(
        agent: &'static Agent,
        outbox: Arc<Outbox>,
        stop: Arc<Stop>,
        pattern: Option<Pattern>,
        interval: Duration,
    ) -> Subscription {
        agent.server.subscribed();
        let ring_seen = agent.ledger.book().ring_end();
        Subscription {
            agent,
            outbox,
            stop,
            pattern,
            interval,
            sent: HashMap::new(),
            counted: Vec::new(),
            counted_revision: 0,
            times: WatchedTimes::default(),
            times_of: (0, 0),
            lost: Vec::new(),
            rows_seen: 0,
            ring_seen,
            control_seen: agent.server.control.changes(),
            catalogue_seen: agent.modules.revision(),
            budget_seen: 0,
            dropped: 0,
            served: false,
        }
    }

    /// Sends the rows there are. Call once before [`Subscription::run`].
    pub fn begin(&mut self) -> bool {
        self.new_rows()
    }

    /// Runs until the session ends, it is stopped, or the process ends.
    pub fn run(mut self) {
        let stop = Arc::clone(&self.stop);
        let mut next_fold = Instant::now() + self.interval;
        let mut in_a_row = 0;
        loop {
            if in_a_row >= AT_ONCE {
                std::thread::sleep(PACE);
                in_a_row = 0;
            }
            let waiting = Instant::now();
            let left = next_fold.saturating_duration_since(waiting);
            let server = &self.agent.server;
            let other = || {
                let told = (server.control.changes(), server.budget.changes());
                stop.is_asked() || told != (self.control_seen, self.budget_seen)
            };
            self.agent.ledger.wait(self.ring_seen, left, other);
            in_a_row = if waiting.elapsed() < PACE { in_a_row + 1 } else { 0 };
            let _pass = lock(&stop.pass);
            if stop.is_asked() {
                return;
            }
            let stopping = self.agent.ledger.book().stopping();
            let fold = stopping || Instant::now() >= next_fold;
            if fold {
                next_fold = Instant::now() + self.interval;
            }
            if self.outbox.is_backed_up() && !stopping {
                self.dropped += u64::from(fold);
                std::thread::sleep(self.interval.min(Duration::from_millis(10)));
                continue;
            }
            let alive = self.new_rows()
                && self.transitions()
                && self.control()
                && self.budget()
                && (!fold || self.catalogue() && self.counters(stopping));
            if stopping {
                self.served = alive && self.goodbye() && self.outbox.drain(LAST_WORDS);
            }
            if stopping || !alive {
                return;
            }
        }
    }

    fn send(&self, event: Event) -> bool {
        FromAgent::Event(event).to_frame().is_ok_and(|frame| self.outbox.put(frame))
    }

    /// Rows that are new, or whose first page this is. Rows are only ever added at the end.
    fn new_rows(&mut self) -> bool {
        let total = self.agent.ledger.book().rows().end();
        if total == self.rows_seen {
            return true;
        }
        let mut alive = true;
        let mut sent = Vec::new();
        // Not those that are added meanwhile: a row that is sent twice hides the transitions between.
        rows::send_rows(self.agent, self.rows_seen..total, self.pattern.as_ref(), |page| {
            sent.extend(page.rows.iter().map(|row| (row.row, Sent { calls: row.calls, told: page.told })));
            alive = self.send(Event::Rows { id: None, rows: page.rows });
            alive
        });
        self.sent.extend(sent);
        self.rows_seen = total;
        alive
    }

    fn transitions(&mut self) -> bool {
        loop {
            let (transitions, lost) = self.agent.ledger.book().transitions(self.ring_seen, MAX_TRANSITIONS);
            let first = self.ring_seen + lost;
            self.ring_seen = first + transitions.len() as u64;
            self.dropped += lost;
            if lost > 0 {
                // What was missed is replaced by the present state of every row.
                self.rows_seen = 0;
                if !self.new_rows() {
                    return false;
                }
            }
            if transitions.is_empty() {
                return true;
            }
            for (number, transition) in (first..).zip(transitions) {
                // At once: the ledger forgets rows of modules long gone.
                let last = (transition.state == State::Lost)
                    .then(|| Some(self.agent.ledger.book().row(transition.row)?.final_calls))
                    .flatten();
                self.lost.extend(last.map(|calls| (transition.row, calls)));
                let is_news = self.sent.get(&transition.row).is_some_and(|sent| number >= sent.told);
                if is_news && !self.send(Event::Transition(transition)) {
                    return false;
                }
            }
        }
    }

    fn goodbye(&self) -> bool {
        let missed_deadlines = self.agent.missed_deadlines.load(Ordering::Relaxed);
        self.send(Event::Goodbye { missed_deadlines })
    }

    fn control(&mut self) -> bool {
        let (changes, seen) = self.agent.server.control.since(self.control_seen);
        self.control_seen = seen;
        changes.into_iter().all(|holder| self.send(Event::Control(holder)))
    }

    fn budget(&mut self) -> bool {
        let changes = self.agent.server.budget.changes();
        std::mem::replace(&mut self.budget_seen, changes) == changes
            || self.send(Event::Budget(self.agent.server.budget.get()))
    }

    fn catalogue(&mut self) -> bool {
        let revision = self.agent.modules.revision();
        std::mem::replace(&mut self.catalogue_seen, revision) == revision
            || self.send(Event::Catalogue { revision })
    }

    /// The times that changed, of those rows that have some, as far as there is time to read them.
    fn times(&mut self, until: Option<Instant>) -> bool {
        let of = (self.counted_revision, self.rows_seen);
        if std::mem::replace(&mut self.times_of, of) != of {
            let timed =
                self.counted.iter().filter(|counted| counted.timed && self.sent.contains_key(&counted.row));
            self.times.watch(timed.flat_map(Watched::of).collect());
        }
        let mut times = std::mem::take(&mut self.times);
        let alive =
            times.send(&self.agent.ledger, until, |times| self.send(Event::Times { id: None, times }));
        self.times = times;
        alive
    }

    fn counters(&mut self, stopping: bool) -> bool {
        self.look_for_counters();
        // The last ones are told whatever it takes.
        let until = (!stopping).then(|| Instant::now() + self.interval / TIMES_SHARE);
        if !self.times(until) {
            return false;
        }
        let slots: Vec<Slot> = self.counted.iter().map(|counted| counted.slot).collect();
        let mut sums = Vec::new();
        blocks::sum(&slots, &mut sums);
        let each = self
            .counted
            .iter()
            .zip(sums)
            .map(|(counted, sum)| (counted.row, sum.saturating_sub(counted.start)));
        let lost = std::mem::take(&mut self.lost);
        let gone = self
            .agent
            .ledger
            .book()
            .slots
            .lost_since(self.counted_revision, self.counted.iter().map(|counted| counted.row));
        let each = each.filter(|(row, _)| !gone.contains(row));
        let mut delta = CounterDelta { t_ms: self.agent.age_ms(), ..CounterDelta::default() };
        for (row, calls) in each.chain(lost.iter().copied()) {
            let Some(sent) = self.sent.get_mut(&row) else { continue };
            // What does not fit goes with the next fold: a delta is against what was sent.
            if calls > sent.calls && delta.rows.len() < MAX_COUNTER_ROWS {
                delta.rows.push(row);
                delta.calls.push(calls - sent.calls);
                sent.calls = calls;
            }
        }
        let lost_rows: Vec<RowId> =
            lost.iter().map(|(row, _)| *row).filter(|row| self.sent.contains_key(row)).collect();
        if !lost_rows.is_empty() {
            send_times(self.agent, &lost_rows, |times| self.send(Event::Times { id: None, times }));
        }
        // Nothing more will be told of them.
        for (row, _) in lost {
            self.sent.remove(&row);
        }
        self.send(Event::Counters { delta, dropped: self.dropped })
    }

    /// Reads anew which rows have counters, where that changed.
    fn look_for_counters(&mut self) {
        let changed = self.agent.ledger.book().slots.since(self.counted_revision);
        if let Some((revision, counted)) = changed {
            self.counted = counted;
            self.counted_revision = revision;
        }
    }
}
