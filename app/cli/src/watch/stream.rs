//! The stream of numbers from one process, until the watch ends.

use crate::output::sentence;
use crate::{arguments, duration, status};
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_model::dials::{DialledCopies, DialsUpdate};
use redial_protocol::limits::MAX_ANSWER;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_text::words::{self, printable};
use std::time::{Duration, Instant};

/// The name of this program for the agent.
pub(super) const PROGRAM: &str = "redial watch";

/// The longest interval, in milliseconds, for which `watch` does not announce the first numbers.
const LONG_MS: u32 = 2_000;

/// Announces the first numbers if they take a while.
pub(super) fn announce(interval_ms: u32) {
    if interval_ms > LONG_MS {
        let first = duration::words(interval_ms.into());
        sentence(format!("first numbers in {first}: a rate needs two snapshots"));
    }
}

/// Turns the end of a watch into the command's result.
pub(super) fn ended(outcome: Result<Exit, WatchEnd>) -> Result<Exit, Failure> {
    match outcome {
        Ok(exit) => Ok(exit),
        Err(WatchEnd::Link(LinkError::Interrupted)) => Ok(Exit::Done),
        Err(WatchEnd::Link(error)) => Err(error.into()),
        Err(WatchEnd::Output(failure)) => Err(failure),
    }
}

/// The reason that a watch stopped before its count.
pub(super) enum WatchEnd {
    Link(LinkError),
    Output(Failure),
}

impl From<LinkError> for WatchEnd {
    fn from(error: LinkError) -> Self {
        WatchEnd::Link(error)
    }
}

impl From<Failure> for WatchEnd {
    fn from(failure: Failure) -> Self {
        WatchEnd::Output(failure)
    }
}

/// Shows the numbers with `show` as they change, starting with the first that have rates. Passes remarks to `say`.
pub(super) fn watch(
    session: &mut Session,
    arguments: &arguments::WatchArguments,
    show: &mut dyn FnMut(&DialledCopies) -> Result<(), Failure>,
    say: &dyn Fn(String),
) -> Result<Exit, WatchEnd> {
    let interval = Duration::from_millis(arguments.interval.into());
    let mut dials = DialledCopies::default();
    if arguments.sum {
        dials.limit_memory(MEMORY_FOR_SUMS);
    }
    dials.calls_cost(status::ask_costs(session)?);
    session.execute(WireCommand::Subscribe {
        pattern: arguments.pattern.clone(),
        interval_ms: arguments.interval,
    })?;
    // The rows that came before the reply are queued. An agent that sends without end must not keep us here.
    let until = Instant::now() + interval;
    while let Some(event) = session.next(Some(Instant::now()))? {
        dials.apply(event);
        if Instant::now() >= until {
            break;
        }
    }
    let pattern = arguments.pattern.as_deref();
    if let Some(pattern) = pattern.filter(|_| dials.is_empty()) {
        let why = unmatched(session, pattern)?;
        say(why);
    }
    let mut pace = SnapshotTimer::new(interval);
    let mut left = arguments.count.unwrap_or(u64::MAX);
    let mut full = false;
    loop {
        let next = next_snapshot(session, &mut dials, &mut pace);
        if !std::mem::replace(&mut full, dials.is_full()) && full {
            say(FULL.to_owned());
        }
        match next {
            Ok(()) => show(&dials)?,
            // The last numbers came with the goodbye, or never arrive.
            Err(error @ LinkError::Ended(_)) => {
                show(&dials)?;
                return Err(error.into());
            }
            Err(error) => return Err(error.into()),
        }
        left -= 1;
        if left == 0 {
            return match pattern.filter(|_| dials.is_empty()) {
                Some(pattern) => {
                    let why = format!("no dialled method matched '{}' while watching", printable(pattern));
                    Err(Failure::new(Exit::NothingMatched, why).into())
                }
                None => Ok(Exit::Done),
            };
        }
    }
}

/// The memory for rows of a watch that also keeps their sums, bytes.
const MEMORY_FOR_SUMS: usize = MAX_ANSWER / 8 * 3;

/// Reports rows that do not fit into memory.
const FULL: &str =
    "more methods are dialled than fit into memory, so some are not shown; a PATTERN selects methods";

const GOES_ON: &str = "still watching for later dials";

/// Returns why a pattern matches no dialled method, with advice.
fn unmatched(session: &mut Session, pattern: &str) -> Result<String, WatchEnd> {
    let dialled = status::ask_rows(session, None)?;
    let command = WireCommand::Methods { pattern: Some(pattern.to_owned()), limit: 1 };
    let Reply::Methods { matched, suggestions } = session.ask(command, &mut |_| {})? else {
        return Err(session.wrong_reply().into());
    };
    let similar = (matched == 0).then_some(suggestions.as_slice());
    Ok(advice(session.pid(), pattern, &dialled, similar))
}

/// `similar` has suggestions for a pattern that matches no method at all.
fn advice(pid: u32, pattern: &str, dialled: &DialledCopies, similar: Option<&[String]>) -> String {
    let shown = printable(pattern);
    match similar {
        None => {
            let why = status::unmatched(pattern, dialled);
            format!("{why}; `redial dial {pid} '{shown}' count` dials matching methods; {GOES_ON}")
        }
        Some([]) => format!("no method matches '{shown}', dialled or not; {GOES_ON}"),
        Some(similar) => {
            let quoted: Vec<String> = similar.iter().map(|one| format!("'{}'", printable(one))).collect();
            let suggestions = words::either(&quoted);
            format!("no method matches '{shown}', dialled or not; {GOES_ON}; did you mean {suggestions}?")
        }
    }
}

/// Receives events until the next counter snapshot, or until it is overdue.
fn next_snapshot(
    session: &mut Session,
    dials: &mut DialledCopies,
    pace: &mut SnapshotTimer,
) -> Result<(), LinkError> {
    loop {
        match session.next(Some(pace.deadline))? {
            Some(event) => match pace.apply(dials, event) {
                DialsUpdate::Counters => {
                    pace.received();
                    return Ok(());
                }
                DialsUpdate::Ended => return Err(LinkError::Ended(session.pid())),
                DialsUpdate::Rows | DialsUpdate::None if pace.is_overdue() => {
                    pace.received();
                    return Ok(());
                }
                DialsUpdate::Rows | DialsUpdate::None => {}
            },
            None => {
                dials.silence(pace.silent());
                return Ok(());
            }
        }
    }
}

/// Tracks when the next counter snapshot is overdue.
struct SnapshotTimer {
    interval: Duration,
    /// The time up to which numbers are known.
    known: Instant,
    deadline: Instant,
}

impl SnapshotTimer {
    fn new(interval: Duration) -> SnapshotTimer {
        let now = Instant::now();
        SnapshotTimer { interval, known: now, deadline: now + interval + interval / 2 }
    }

    fn apply(&self, dials: &mut DialledCopies, event: Event) -> DialsUpdate {
        dials.first_interval_covers(self.known.elapsed().as_millis() as u64);
        dials.apply(event)
    }

    /// Returns whether a snapshot is long overdue though other events arrive.
    fn is_overdue(&self) -> bool {
        Instant::now() >= self.deadline + 4 * self.interval
    }

    fn received(&mut self) {
        *self = SnapshotTimer::new(self.interval);
    }

    /// Notes that the deadline passed and returns the milliseconds without a snapshot. The first deadline has half an
    /// interval of grace, so that a late snapshot does not count as silence.
    fn silent(&mut self) -> u64 {
        let passed = self.deadline.saturating_duration_since(self.known);
        self.known = self.deadline;
        self.deadline += self.interval;
        passed.as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_model::fixtures::row;

    #[test]
    fn an_unmatched_pattern_gets_advice() {
        let dials = |number: u32| {
            let mut dials = DialledCopies::default();
            dials.rows((0..number).map(|index| row(index, "A.C", 0)).collect());
            dials
        };
        assert_eq!(
            advice(9, "Shop.Cart.*", &dials(3), None),
            "none of the 3 dialled methods matches 'Shop.Cart.*'; `redial dial 9 'Shop.Cart.*' count` dials matching \
             methods; still watching for later dials"
        );
        assert_eq!(
            advice(9, "A.B", &dials(0), Some(&[])),
            "no method matches 'A.B', dialled or not; still watching for later dials"
        );
        let similar = ["A.C".to_owned(), "*.B".to_owned()];
        assert_eq!(
            advice(9, "A.B", &dials(1), Some(&similar)),
            "no method matches 'A.B', dialled or not; still watching for later dials; did you mean 'A.C' or '*.B'?"
        );
    }

    #[test]
    fn counts_silence_once() {
        let mut pace = SnapshotTimer::new(Duration::from_millis(200));
        assert_eq!([pace.silent(), pace.silent(), pace.silent()], [300, 200, 200]);
        pace.received();
        assert_eq!(pace.silent(), 300);
    }
}
