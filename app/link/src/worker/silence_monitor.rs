//! Handles silent agents: detects stopped processes, gives up on agents that do not answer, and withholds
//! empty counter events.

use crate::connect;
use crate::discover;
use crate::error::LinkError;
use redial_model::update::ConnectionUpdate;
use redial_protocol::message::Event;
use std::time::{Duration, Instant};

/// An agent that owes an answer and sends nothing for this long is gone. It sends counters four times a
/// second, from threads that do not wait for managed code.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// After this much silence, check whether the process is stopped; also the interval between checks.
const PAUSE: Duration = Duration::from_secs(1);

/// The last sign of life, and the reports made about silence.
#[derive(Default)]
pub struct SilenceMonitor {
    /// When the agent last sent something.
    last_event: Option<Instant>,
    /// Whether the process was reported as stopped.
    paused: bool,
    /// Whether the last reported counters were empty.
    quiet: bool,
    /// The latest withheld empty counters; reported before the next real update.
    withheld: Option<ConnectionUpdate>,
}

/// Checks an agent that owes an answer.
///
/// # Errors
/// If it has been silent for longer than `patience`.
pub fn end(pid: u32, silent_for: Option<Duration>, patience: Duration) -> Result<(), LinkError> {
    match silent_for {
        Some(silence) if silence > patience => Err(connect::silent(pid, patience)),
        _ => Ok(()),
    }
}

impl SilenceMonitor {
    /// Records a sign of life.
    pub fn note_activity(&mut self, now: Instant) {
        self.last_event = Some(now);
    }

    /// Returns how long an agent that was asked something at `asked` has been silent.
    pub fn since(&self, asked: Instant, now: Instant) -> Duration {
        now.saturating_duration_since(self.last(asked))
    }

    /// Returns when to check next whether an agent that was asked something at `asked` is stopped.
    pub fn next_check(&self, asked: Instant, now: Instant) -> Instant {
        let first = self.last(asked) + PAUSE;
        if first > now { first } else { now + PAUSE }
    }

    fn last(&self, asked: Instant) -> Instant {
        self.last_event.map_or(asked, |at| at.max(asked))
    }

    /// Reports once that a silent process is stopped, and once that it runs again.
    pub fn paused(&mut self, pid: u32, silent_for: Option<Duration>) -> Option<ConnectionUpdate> {
        match (self.paused, silent_for.is_some_and(|silence| silence >= PAUSE)) {
            (false, true) => {
                let halt = discover::halted(pid)?;
                self.paused = true;
                Some(ConnectionUpdate::Paused(Some(halt.to_string())))
            }
            (true, false) => {
                self.paused = false;
                Some(ConnectionUpdate::Paused(None))
            }
            _ => None,
        }
    }

    /// Withholds repeated empty counters to avoid needless repaints. Inserts the last of them before the next
    /// real update, so that rates are measured from it.
    pub fn withhold(&mut self, updates: &mut Vec<ConnectionUpdate>) {
        let empty = |one: &ConnectionUpdate| match one {
            ConnectionUpdate::Event(Event::Counters { delta, .. }) => Some(delta.rows.is_empty()),
            _ => None,
        };
        if self.quiet && updates.iter().all(|one| empty(one) == Some(true)) {
            self.withheld = updates.pop().or(self.withheld.take());
            updates.clear();
            return;
        }
        self.quiet = updates.iter().rev().find_map(empty).unwrap_or(self.quiet);
        if let Some(silence) = self.withheld.take() {
            updates.insert(0, silence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::counters::CounterDelta;
    use redial_protocol::ids::RowId;

    fn counters(t_ms: u64, calls: &[u64]) -> ConnectionUpdate {
        let rows = (0..calls.len() as u32).map(RowId).collect();
        ConnectionUpdate::Event(Event::Counters {
            delta: CounterDelta { t_ms, rows, calls: calls.to_vec() },
            dropped: 0,
        })
    }

    fn times(updates: &[ConnectionUpdate]) -> Vec<u64> {
        let time = |one: &ConnectionUpdate| match one {
            ConnectionUpdate::Event(Event::Counters { delta, .. }) => Some(delta.t_ms),
            _ => None,
        };
        updates.iter().filter_map(time).collect()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn reports_once_that_a_process_stopped_and_resumed() {
        let why = |updates: Option<ConnectionUpdate>| match updates {
            Some(ConnectionUpdate::Paused(why)) => why.unwrap_or("continues".to_owned()),
            other => format!("{other:?}"),
        };
        let child = discover::WaitingProgram::start();
        let mut silence = SilenceMonitor::default();
        assert_eq!(why(silence.paused(child.pid(), Some(5 * PAUSE))), "None", "it runs and may still answer");
        child.stop();
        assert_eq!(why(silence.paused(child.pid(), Some(PAUSE / 2))), "None");
        assert!(why(silence.paused(child.pid(), Some(PAUSE))).contains("it is stopped by a signal"));
        assert_eq!(why(silence.paused(child.pid(), Some(2 * PAUSE))), "None", "once");
        assert_eq!(why(silence.paused(child.pid(), None)), "continues");
        assert_eq!(why(silence.paused(child.pid(), None)), "None");
    }

    #[test]
    fn withholds_repeated_empty_counters() {
        let mut silence = SilenceMonitor::default();
        let mut reported = |updates: Vec<ConnectionUpdate>| {
            let mut updates = updates;
            silence.withhold(&mut updates);
            times(&updates)
        };
        assert_eq!(reported(vec![counters(250, &[7])]), [250]);
        assert_eq!(reported(vec![counters(500, &[])]), [500], "the first empty counters are reported");
        assert_eq!(reported(vec![counters(750, &[]), counters(1000, &[])]), [0u64; 0]);
        assert_eq!(reported(vec![]), [0u64; 0]);
        assert_eq!(reported(vec![counters(1250, &[])]), [0u64; 0]);
        assert_eq!(reported(vec![counters(1500, &[3])]), [1250, 1500]);
        assert_eq!(reported(vec![counters(1750, &[])]), [1750]);
    }
}
