//! Limits the processor time that the commands of all sessions take from a busy host. A command by itself is never
//! delayed; clients that ask without a pause wait for their turns.
#![forbid(unsafe_code)]

use crate::planner::SessionId;
use crate::platform;
use crate::sync::lock;
use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Processor time for commands that need no turn, for example to fill a window's tables.
const BURST: Duration = Duration::from_secs(2);
/// The part of the machine's processors that commands take in the long run.
const PART: f64 = 0.04;
/// Longest wait for a turn, so that a session that has worked much is served at all.
const TURN_WAIT: Duration = Duration::from_secs(5);
/// How often a waiting session checks whether it is over.
const TICK: Duration = Duration::from_millis(200);

/// The processor time of all sessions' commands.
#[derive(Default)]
pub struct SessionWork {
    state: Mutex<WorkState>,
    changed: Condvar,
}

#[derive(Default)]
struct WorkState {
    /// Nanoseconds taken and not paid back yet.
    debt: u64,
    /// The moment up to which `debt` is paid back.
    paid: Option<Instant>,
    /// The sessions that wait, each with its work so far. The one with the least comes first.
    waiting: BTreeSet<(Duration, SessionId)>,
    /// The work so far of the session that had the last turn. A new session begins with as much: otherwise a client
    /// that connects for each command would always be first.
    last_turn: Duration,
    /// The last plan's processor time, as the estimate for the next.
    plan: Duration,
}

impl WorkState {
    fn pay_back(&mut self, now: Instant) {
        let since = now.saturating_duration_since(self.paid.unwrap_or(now));
        self.paid = Some(now);
        self.debt = self.debt.saturating_sub((nanoseconds(since) as f64 * rate()) as u64);
    }

    /// Returns the time until there is a turn.
    fn next_turn(&self) -> Duration {
        Duration::from_nanos((self.debt.saturating_sub(nanoseconds(BURST)) as f64 / rate()) as u64)
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the processor time per elapsed time.
fn rate() -> f64 {
    static PROCESSORS: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
    PART * PROCESSORS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from) as f64)
}

impl SessionWork {
    /// Waits until a session with this work so far gets a turn, at most five seconds; false if it got none. Those
    /// with less work go first. Raises `used` to that of the session before, if it is less.
    pub fn wait_for_turn(&self, session: SessionId, used: &mut Duration, is_over: impl Fn() -> bool) -> bool {
        let deadline = Instant::now() + TURN_WAIT;
        let place = Place { work: self, entry: self.enter(session, used) };
        loop {
            let mut state = lock(&self.state);
            let now = Instant::now();
            state.pay_back(now);
            let next = state.next_turn();
            if next.is_zero() && state.waiting.first() == Some(&place.entry) {
                state.last_turn = state.last_turn.max(place.entry.0);
                return true;
            }
            if now >= deadline {
                return false;
            }
            // Behind another, wait for that one's turn to end.
            let wait = if next.is_zero() { TICK } else { next.min(TICK) }.min(deadline - now);
            drop(self.changed.wait_timeout(state, wait));
            if is_over() {
                return false;
            }
        }
    }

    fn enter(&self, session: SessionId, used: &mut Duration) -> (Duration, SessionId) {
        let mut state = lock(&self.state);
        *used = state.last_turn.max(*used);
        state.waiting.insert((*used, session));
        (*used, session)
    }

    /// Adds processor time that a session has taken.
    pub fn charge(&self, time: Duration) {
        if !time.is_zero() {
            let mut state = lock(&self.state);
            state.pay_back(Instant::now());
            state.debt = state.debt.saturating_add(nanoseconds(time));
        }
    }

    /// Adds the expected time of a plan, and returns it for [`SessionWork::finish_plan`]. Otherwise sessions would
    /// queue plans before the first is paid for.
    pub fn begin_plan(&self) -> Duration {
        let expected = lock(&self.state).plan;
        self.charge(expected);
        expected
    }

    /// Replaces the expected time of a plan by the time that it took; `None`: it was not made.
    pub fn finish_plan(&self, expected: Duration, took: Option<Duration>) {
        let mut state = lock(&self.state);
        state.pay_back(Instant::now());
        state.debt = state.debt.saturating_sub(nanoseconds(expected));
        if let Some(took) = took {
            state.debt = state.debt.saturating_add(nanoseconds(took));
            state.plan = took;
        }
    }
}

/// An entry among the waiting sessions, removed with this.
struct Place<'a> {
    work: &'a SessionWork,
    entry: (Duration, SessionId),
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        lock(&self.work.state).waiting.remove(&self.entry);
        self.work.changed.notify_all();
    }
}

/// Measures the processor time of the calling thread in which it competed with others.
#[derive(Clone, Copy, Debug)]
pub struct WorkTimer {
    begun: Instant,
    processor: Duration,
}

impl WorkTimer {
    /// Starts.
    pub fn start() -> WorkTimer {
        WorkTimer { begun: Instant::now(), processor: platform::thread_time() }
    }

    /// Returns the processor time since the start, without that in which the thread had a processor for itself: time
    /// that nobody else wants is free. `waited`: time in which the thread wanted none.
    pub fn contended(&self, waited: Duration) -> Duration {
        let took = platform::thread_time().saturating_sub(self.processor);
        let elapsed = self.begun.elapsed().saturating_sub(waited);
        took.min(elapsed.saturating_sub(took))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks for a turn, and waits at most once.
    fn turn(work: &SessionWork, session: u64, used: u64) -> bool {
        work.wait_for_turn(SessionId(session), &mut Duration::from_secs(used), || true)
    }

    #[test]
    fn the_burst_is_free_and_debt_is_paid_back() {
        let work = SessionWork::default();
        work.charge(BURST);
        assert!(turn(&work, 1, 9));
        work.charge(BURST);
        assert!(!turn(&work, 1, 9));
        let mut state = lock(&work.state);
        state.pay_back(Instant::now() + Duration::from_secs_f64(BURST.as_secs_f64() / rate()));
        assert_eq!(state.next_turn(), Duration::ZERO);
    }

    #[test]
    fn the_session_with_the_least_work_goes_first() {
        let work = SessionWork::default();
        lock(&work.state).waiting.insert((Duration::from_secs(2), SessionId(7)));
        assert!(!turn(&work, 1, 3));
        assert!(turn(&work, 1, 1));
        assert_eq!(lock(&work.state).waiting.len(), 1);
    }

    #[test]
    fn a_new_session_begins_with_the_work_of_the_last() {
        let work = SessionWork::default();
        assert!(turn(&work, 1, 3));
        let mut new = Duration::ZERO;
        assert!(work.wait_for_turn(SessionId(2), &mut new, || false));
        assert_eq!(new, Duration::from_secs(3));
        lock(&work.state).waiting.insert((Duration::from_secs(3), SessionId(7)));
        assert!(!turn(&work, 8, 0), "before the session that waits");
    }

    #[test]
    fn a_panic_leaves_no_place_behind() {
        let work = SessionWork::default();
        lock(&work.state).waiting.insert((Duration::ZERO, SessionId(0)));
        let wait = || work.wait_for_turn(SessionId(1), &mut Duration::default(), || panic!("as planned"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(wait)).is_err());
        assert_eq!(lock(&work.state).waiting.len(), 1);
    }

    #[test]
    fn pending_plans_count_before_they_are_made() {
        let work = SessionWork::default();
        let first = work.begin_plan();
        work.finish_plan(first, Some(BURST));
        let second = work.begin_plan();
        assert_eq!(second, BURST);
        assert!(!turn(&work, 1, 0));
        work.finish_plan(second, None);
        assert!(turn(&work, 1, 0));
    }
}
