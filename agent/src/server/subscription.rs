//! A subscription's thread: sends rows, transitions and counter deltas to one session as they change. It remembers
//! what it sent last, so that a slow peer delays numbers but never loses them; it drops only intermediate updates.
#![forbid(unsafe_code)]

use super::outbox::Outbox;
use super::rows;
use super::shared::Server;
use super::times::send_times;
use super::watched_times::{WatchedRow, WatchedTimes};
use crate::context::Context;
use crate::inbox::WorkTimer;
use crate::ledger::row_filter::RowFilter;
use crate::ledger::slots::CountedRow;
use crate::probes::blocks::{self, Slot};
use crate::sync::lock;
use crate::thrown_exceptions::SessionExceptions;
use crate::traces::SessionCalls;
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::limits::MAX_COUNTER_ROWS;
use redial_protocol::message::Event;
use redial_protocol::packet::AgentPacket;
use redial_protocol::state::CopyState;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Most transitions read at a time.
const MAX_TRANSITIONS: usize = 512;
/// A burst of changes goes out in a few passes, then everything within this time together: a thousand methods that
/// go live are not a thousand wake-ups, which the host's threads would pay for.
const BURST_INTERVAL: Duration = Duration::from_millis(1);
/// Passes before that: a change of a single method is sent at once.
const IMMEDIATE_PASSES: u32 = 4;
/// The fraction of an interval that may be spent on reading times.
const TIMES_SHARE: u32 = 8;
/// On a busy machine, all subscriptions together aim at this fraction of one processor for their snapshots: a pause is
/// this many times the work, for each subscription. It has a limit.
const SNAPSHOT_SHARE: u32 = 16;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Longest wait of the thread at shutdown for its last frames.
const LAST_FRAMES_WAIT: Duration = Duration::from_secs(2);

/// Ends a subscription from another thread.
#[derive(Debug, Default)]
pub struct StopSignal {
    requested: AtomicBool,
    /// Held during each pass of the thread.
    pass: Mutex<()>,
}

impl StopSignal {
    /// Asks the thread to end and waits for its present pass: afterwards it sends nothing.
    pub fn stop(&self, context: &Context) {
        self.requested.store(true, Ordering::Release);
        context.ledger.wake();
        drop(lock(&self.pass));
    }

    fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }
}

/// The subscription of one session.
pub struct Subscription {
    context: &'static Context,
    server: &'static Server,
    outbox: Arc<Outbox>,
    /// The session's streams, which end before a goodbye.
    streams: (SessionCalls, SessionExceptions),
    stop: Arc<StopSignal>,
    filter: Option<RowFilter>,
    interval: Duration,
    /// Rows whose `StatusRow` was sent.
    sent: HashMap<RowId, SentRow>,
    /// Those of them that have counters, as of `counted_revision`.
    counted: Vec<CountedRow>,
    counted_revision: u64,
    times: WatchedTimes,
    /// Revision of the counters and end of the rows that `times` is based on.
    times_of: (u64, RowId),
    /// Rows lost since the last counter snapshot, with their final number.
    lost: Vec<(RowId, u64)>,
    /// Rows before this one were sent.
    rows_seen: RowId,
    ring_seen: u64,
    control_seen: u64,
    catalogue_seen: u64,
    budget_seen: u64,
    dropped: u64,
    served: bool,
}

/// The last sent state of a row.
struct SentRow {
    calls: u64,
    /// Number of the first transition that its `StatusRow` did not include; earlier ones are not sent after it.
    next_transition: u64,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        self.server.unsubscribed(self.served);
    }
}

impl Subscription {
    /// Makes a subscription; without a filter it has every row.
    pub fn new(
        context: &'static Context,
        server: &'static Server,
        outbox: Arc<Outbox>,
        streams: (SessionCalls, SessionExceptions),
        stop: Arc<StopSignal>,
        filter: Option<RowFilter>,
        interval: Duration,
    ) -> Subscription {
        server.subscribed();
        let ring_seen = context.ledger.lock().ring_end();
        Subscription {
            context,
            server,
            outbox,
            streams,
            stop,
            filter,
            interval,
            sent: HashMap::new(),
            counted: Vec::new(),
            counted_revision: 0,
            times: WatchedTimes::default(),
            times_of: (0, RowId(0)),
            lost: Vec::new(),
            rows_seen: RowId(0),
            ring_seen,
            control_seen: context.control.changes(),
            catalogue_seen: context.modules.revision(),
            budget_seen: 0,
            dropped: 0,
            served: false,
        }
    }

    /// Sends the present rows. Call it once before [`Subscription::run`].
    pub fn begin(&mut self) -> bool {
        self.new_rows()
    }

    /// Runs until the session ends, it is stopped, or the process ends.
    pub fn run(mut self) {
        let stop = Arc::clone(&self.stop);
        let mut next_snapshot = Instant::now() + self.interval;
        let mut passes = 0;
        loop {
            if passes >= IMMEDIATE_PASSES {
                std::thread::sleep(BURST_INTERVAL);
                passes = 0;
            }
            let waiting = Instant::now();
            let left = next_snapshot.saturating_duration_since(waiting);
            let context = self.context;
            let other = || {
                let now = (context.control.changes(), context.cost_budget.changes());
                stop.is_requested() || now != (self.control_seen, self.budget_seen)
            };
            self.context.ledger.wait(self.ring_seen, left, other);
            passes = if waiting.elapsed() < BURST_INTERVAL { passes + 1 } else { 0 };
            let _pass = lock(&stop.pass);
            if stop.is_requested() {
                return;
            }
            let stopping = self.context.ledger.lock().stopping();
            let snapshot_due = stopping || Instant::now() >= next_snapshot;
            if snapshot_due {
                next_snapshot = Instant::now() + self.interval;
            }
            if self.outbox.is_backed_up() && !stopping {
                self.dropped += u64::from(snapshot_due);
                std::thread::sleep(self.interval.min(Duration::from_millis(10)));
                continue;
            }
            let (timer, waited) = (WorkTimer::start(), self.outbox.waited());
            let alive = self.new_rows()
                && self.transitions()
                && self.control()
                && self.budget()
                && (!snapshot_due || self.catalogue() && self.counters(stopping));
            if snapshot_due {
                let work = timer.contended(self.outbox.waited().saturating_sub(waited));
                let pause = pause_after(work, self.server.subscriptions());
                next_snapshot = next_snapshot.max(Instant::now() + pause);
            }
            if stopping {
                self.wait_for_streams();
                self.served = alive && self.send_goodbye() && self.outbox.drain(LAST_FRAMES_WAIT);
            }
            if stopping || !alive {
                return;
            }
        }
    }

    fn send(&self, event: Event) -> bool {
        AgentPacket::Event(event).to_frame().is_ok_and(|frame| self.outbox.put(frame))
    }

    /// Sends new rows, or all on the first call. Rows are only ever added at the end.
    fn new_rows(&mut self) -> bool {
        let total = self.context.ledger.lock().rows().end();
        if total == self.rows_seen {
            return true;
        }
        let mut alive = true;
        let mut sent = Vec::new();
        // Exclude rows added meanwhile: sending a row twice would hide the transitions in between.
        rows::send_rows(self.context, self.rows_seen..total, self.filter.as_ref(), |page| {
            sent.extend(
                page.rows.iter().map(|row| {
                    (row.row, SentRow { calls: row.calls, next_transition: page.next_transition })
                }),
            );
            alive = self.send(Event::Rows { id: None, rows: page.rows });
            alive
        });
        self.sent.extend(sent);
        self.rows_seen = total;
        alive
    }

    fn transitions(&mut self) -> bool {
        loop {
            let (transitions, lost) = self.context.ledger.lock().transitions(self.ring_seen, MAX_TRANSITIONS);
            let first = self.ring_seen + lost;
            self.ring_seen = first + transitions.len() as u64;
            self.dropped += lost;
            if lost > 0 {
                // The present state of every row replaces the missed transitions.
                self.rows_seen = RowId(0);
                if !self.new_rows() {
                    return false;
                }
            }
            if transitions.is_empty() {
                return true;
            }
            for (number, transition) in (first..).zip(transitions) {
                // Read it now: the ledger forgets rows of modules long gone.
                let last = (transition.state == CopyState::Lost)
                    .then(|| Some(self.context.ledger.lock().row(transition.row)?.counters.final_calls()))
                    .flatten();
                self.lost.extend(last.map(|calls| (transition.row, calls)));
                let unsent =
                    self.sent.get(&transition.row).is_some_and(|sent| number >= sent.next_transition);
                if unsent && !self.send(Event::Transition(transition)) {
                    return false;
                }
            }
        }
    }

    /// Waits until the session's streams of traced calls and exceptions have sent the last: nothing follows a goodbye.
    fn wait_for_streams(&self) {
        let (calls, exceptions) = &self.streams;
        let calls = lock(calls).clone();
        if let Some(stream) = calls {
            stream.wait_until_sent();
        }
        let exceptions = lock(exceptions).clone();
        if let Some(stream) = exceptions {
            stream.wait_until_sent();
        }
    }

    fn send_goodbye(&self) -> bool {
        let missed_deadlines = self.context.missed_deadlines.load(Ordering::Relaxed);
        self.send(Event::Goodbye { missed_deadlines })
    }

    fn control(&mut self) -> bool {
        let (changes, seen) = self.context.control.since(self.control_seen);
        self.control_seen = seen;
        changes.into_iter().all(|holder| self.send(Event::Control(holder)))
    }

    fn budget(&mut self) -> bool {
        let changes = self.context.cost_budget.changes();
        std::mem::replace(&mut self.budget_seen, changes) == changes
            || self.send(Event::Budget(self.context.cost_budget.get()))
    }

    fn catalogue(&mut self) -> bool {
        let revision = self.context.modules.revision();
        std::mem::replace(&mut self.catalogue_seen, revision) == revision
            || self.send(Event::Catalogue { revision })
    }

    /// Sends the changed times, as far as there is time to read them.
    fn times(&mut self, until: Option<Instant>) -> bool {
        let of = (self.counted_revision, self.rows_seen);
        if std::mem::replace(&mut self.times_of, of) != of {
            let timed =
                self.counted.iter().filter(|counted| counted.timed && self.sent.contains_key(&counted.row));
            self.times.watch(timed.flat_map(WatchedRow::of).collect());
        }
        let mut times = std::mem::take(&mut self.times);
        let alive =
            times.send(&self.context.ledger, until, |times| self.send(Event::Times { id: None, times }));
        self.times = times;
        alive
    }

    fn counters(&mut self, stopping: bool) -> bool {
        self.refresh_counted_rows();
        // The last ones are sent regardless of the time it takes.
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
            .context
            .ledger
            .lock()
            .slots
            .lost_since(self.counted_revision, self.counted.iter().map(|counted| counted.row));
        let each = each.filter(|(row, _)| !gone.contains(row));
        let mut delta = CounterDelta { t_ms: self.context.ledger.now_ms(), ..CounterDelta::default() };
        for (row, calls) in each.chain(lost.iter().copied()) {
            let Some(sent) = self.sent.get_mut(&row) else { continue };
            // Rows that do not fit go with the next snapshot: a delta is relative to what was sent.
            if calls > sent.calls && delta.rows.len() < MAX_COUNTER_ROWS {
                delta.rows.push(row);
                delta.calls.push(calls - sent.calls);
                sent.calls = calls;
            }
        }
        let lost_rows: Vec<RowId> =
            lost.iter().map(|(row, _)| *row).filter(|row| self.sent.contains_key(row)).collect();
        if !lost_rows.is_empty() {
            send_times(self.context, &lost_rows, |times| self.send(Event::Times { id: None, times }));
        }
        // Nothing more will be sent about them.
        for (row, _) in lost {
            self.sent.remove(&row);
        }
        self.send(Event::Counters { delta, dropped: self.dropped })
    }

    /// Reads which rows have counters, if that changed.
    fn refresh_counted_rows(&mut self) {
        let changed = self.context.ledger.lock().slots.since(self.counted_revision);
        if let Some((revision, counted)) = changed {
            self.counted = counted;
            self.counted_revision = revision;
        }
    }
}

/// Returns the pause of one of several subscriptions after this work for a snapshot.
fn pause_after(work: Duration, subscriptions: u32) -> Duration {
    work.saturating_mul(SNAPSHOT_SHARE.saturating_mul(subscriptions)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_keep_all_subscriptions_within_their_share() {
        let work = Duration::from_millis(1);
        for subscriptions in 1..100 {
            let round = work + pause_after(work, subscriptions);
            let together = work.as_secs_f64() * f64::from(subscriptions) / round.as_secs_f64();
            assert!(together < 1.0 / f64::from(SNAPSHOT_SHARE), "{subscriptions}: {together}");
        }
        assert_eq!(pause_after(Duration::ZERO, 9), Duration::ZERO);
        assert_eq!(pause_after(Duration::from_secs(1), u32::MAX), LONGEST_PAUSE);
    }
}
