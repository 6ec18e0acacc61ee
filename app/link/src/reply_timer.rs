//! The time that an agent has for an answer.
#![forbid(unsafe_code)]

use super::error::LinkError;
use super::silent::silent;
use std::time::{Duration, Instant};

/// Decides when to give up on an answer: after a step without progress, or after a total that no progress
/// extends. Check it after each packet: an agent that sends without end never lets a wait reach its deadline.
#[derive(Debug)]
pub struct ReplyTimer {
    step: Duration,
    total: Duration,
    /// Time that earlier answers took of the total.
    spent: Duration,
    begun: Instant,
    last_step: Instant,
}

impl ReplyTimer {
    /// Starts now.
    pub fn start(step: Duration, total: Duration) -> ReplyTimer {
        ReplyTimer::resume(step, total, Duration::ZERO)
    }

    /// Starts now, after earlier answers took a part of the total.
    pub fn resume(step: Duration, total: Duration, spent: Duration) -> ReplyTimer {
        let now = Instant::now();
        ReplyTimer { step, total, spent, begun: now, last_step: now }
    }

    /// Returns the time spent, with that of earlier answers.
    pub fn spent(&self) -> Duration {
        self.spent + self.begun.elapsed()
    }

    /// Grants another step.
    pub fn progress(&mut self) {
        self.last_step = Instant::now();
    }

    /// Returns when to give up.
    pub fn deadline(&self) -> Instant {
        (self.last_step + self.step).min(self.last())
    }

    fn last(&self) -> Instant {
        self.begun + self.total.saturating_sub(self.spent)
    }

    /// Returns an error once the deadline has passed.
    pub fn check(&self, pid: u32) -> Result<(), LinkError> {
        if Instant::now() < self.deadline() { Ok(()) } else { Err(self.expired(pid)) }
    }

    /// Returns the error for an agent that missed the deadline.
    pub fn expired(&self, pid: u32) -> LinkError {
        match self.last_step + self.step > self.last() {
            true => LinkError::Unfinished { pid, seconds: self.total.as_secs() },
            false => silent(pid, self.step),
        }
    }
}
