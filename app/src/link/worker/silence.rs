//! An agent that says nothing, or nothing new: whether its process is stopped, when it is given up, and what of that is told.

use crate::link::connect;
use crate::link::discover;
use crate::link::error::LinkError;
use crate::model::update::Told;
use redial_protocol::message::Event;
use std::time::{Duration, Instant};

/// An agent that owes an answer, and sends nothing at all for so long, is gone: it sends counters four times a
/// second, from threads that wait for no managed code.
pub const PATIENCE: Duration = Duration::from_secs(10);
/// After so much silence one looks whether the process is stopped, and again and again from then on.
const PAUSE: Duration = Duration::from_secs(1);

/// What was heard last, and told of it.
#[derive(Default)]
pub struct Silence {
    /// When something was heard last.
    heard: Option<Instant>,
    /// Whether it was told that the process is stopped.
    paused: bool,
    /// Whether the counters told last were that nothing was called.
    quiet: bool,
    /// The last word of a quiet that goes on: told before the next thing that is news.
    last_word: Option<Told>,
}

/// The end of an agent that owed an answer for longer than `patience`.
///
/// # Errors
/// When it did.
pub fn end(pid: u32, unheard: Option<Duration>, patience: Duration) -> Result<(), LinkError> {
    match unheard {
        Some(silence) if silence > patience => Err(connect::silent(pid, patience)),
        _ => Ok(()),
    }
}

impl Silence {
    /// Notes a sign of life.
    pub fn heard(&mut self, now: Instant) {
        self.heard = Some(now);
    }

    /// For how long an agent has said nothing that was asked something then.
    pub fn since(&self, asked: Instant, now: Instant) -> Duration {
        now.saturating_duration_since(self.last(asked))
    }

    /// When it is to be looked next, whether an agent is paused that was asked something then.
    pub fn next_look(&self, asked: Instant, now: Instant) -> Instant {
        let first = self.last(asked) + PAUSE;
        if first > now { first } else { now + PAUSE }
    }

    fn last(&self, asked: Instant) -> Instant {
        self.heard.map_or(asked, |heard| heard.max(asked))
    }

    /// That a process whose agent said nothing for so long, though it was asked, is stopped; or that it goes on: once each.
    pub fn paused(&mut self, pid: u32, unheard: Option<Duration>) -> Option<Told> {
        match (self.paused, unheard.is_some_and(|silence| silence >= PAUSE)) {
            (false, true) => {
                let halt = discover::halted(pid)?;
                self.paused = true;
                Some(Told::Paused(Some(halt.to_string())))
            }
            (true, false) => {
                self.paused = false;
                Some(Told::Paused(None))
            }
            _ => None,
        }
    }

    /// Keeps back that there is still nothing to count, again and again: it would draw the window for nothing. The
    /// last such word goes before the next news, so that rates are measured from it.
    pub fn hold(&mut self, told: &mut Vec<Told>) {
        let empty = |one: &Told| match one {
            Told::Event(Event::Counters { delta, .. }) => Some(delta.rows.is_empty()),
            _ => None,
        };
        if self.quiet && told.iter().all(|one| empty(one) == Some(true)) {
            self.last_word = told.pop().or(self.last_word.take());
            told.clear();
            return;
        }
        self.quiet = told.iter().rev().find_map(empty).unwrap_or(self.quiet);
        if let Some(silence) = self.last_word.take() {
            told.insert(0, silence);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::counters::CounterDelta;
    use redial_protocol::ids::RowId;

    fn counters(t_ms: u64, calls: &[u64]) -> Told {
        let rows = (0..calls.len() as u32).map(RowId).collect();
        Told::Event(Event::Counters { delta: CounterDelta { t_ms, rows, calls: calls.to_vec() }, dropped: 0 })
    }

    fn times(told: &[Told]) -> Vec<u64> {
        let time = |one: &Told| match one {
            Told::Event(Event::Counters { delta, .. }) => Some(delta.t_ms),
            _ => None,
        };
        told.iter().filter_map(time).collect()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn that_a_silent_process_is_stopped_is_told_once_and_that_it_goes_on() {
        let why = |told: Option<Told>| match told {
            Some(Told::Paused(why)) => why.unwrap_or("it goes on".to_owned()),
            other => format!("{other:?}"),
        };
        let child = discover::Waiting::start();
        let mut silence = Silence::default();
        assert_eq!(why(silence.paused(child.pid(), Some(5 * PAUSE))), "None", "it runs, and may answer yet");
        child.stop();
        assert_eq!(why(silence.paused(child.pid(), Some(PAUSE / 2))), "None");
        assert!(why(silence.paused(child.pid(), Some(PAUSE))).contains("it is stopped by a signal"));
        assert_eq!(why(silence.paused(child.pid(), Some(2 * PAUSE))), "None", "once");
        assert_eq!(why(silence.paused(child.pid(), None)), "it goes on");
        assert_eq!(why(silence.paused(child.pid(), None)), "None");
    }

    #[test]
    fn a_silence_is_told_once_and_its_end_from_where_it_ends() {
        let mut silence = Silence::default();
        let mut heard = |told: Vec<Told>| {
            let mut told = told;
            silence.hold(&mut told);
            times(&told)
        };
        assert_eq!(heard(vec![counters(250, &[7])]), [250]);
        assert_eq!(heard(vec![counters(500, &[])]), [500], "that it stopped is news");
        assert_eq!(heard(vec![counters(750, &[]), counters(1000, &[])]), [0u64; 0]);
        assert_eq!(heard(vec![]), [0u64; 0]);
        assert_eq!(heard(vec![counters(1250, &[])]), [0u64; 0]);
        assert_eq!(heard(vec![counters(1500, &[3])]), [1250, 1500]);
        assert_eq!(heard(vec![counters(1750, &[])]), [1750]);
    }
}
