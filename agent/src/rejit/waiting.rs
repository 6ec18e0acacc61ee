//! Turns that wait for control: two commands at the same moment are no conflict, the one is done a moment after the
//! other. Who holds dials is waited for by nobody.
#![forbid(unsafe_code)]

use super::inbox::{Answer, Turn, Wish};
use super::thread::Worker;
use super::turning::{Finish, outdated};
use crate::guard;
use crate::planner::{SessionId, SetBy};
use crate::server::control::Lease;
use redial_protocol::cost::Share;
use redial_protocol::message::{Refusal, Reply};
use std::time::{Duration, Instant};

/// Longest wait. Turns of the same copies are 50 ms apart, so this is a hundred commands that pull at one dial.
const LONGEST: Duration = Duration::from_secs(5);

/// A turn that waits for another session's turns to end.
pub(super) struct Waiting {
    turn: Turn,
    pub(super) until: Instant,
}

impl Worker {
    /// Begins a turn, or lets it wait for control; what is begun goes to `begun` to be carried out.
    pub(super) fn begin(&mut self, turn: Turn, until: Option<Instant>, begun: &mut Vec<(Finish, Answer)>) {
        // Nobody waits with "all off" for what it makes void.
        if self.agent.inbox.off_waits() {
            return turn.answer.give(Err(outdated()));
        }
        // Taken away only for something that is done: a turn that fails leaves control where it is.
        let lease = match turn.claim.take {
            true => None,
            false => match self.agent.server.control.acquire(&turn.claim) {
                Ok(lease) => Some(lease),
                Err(taken) => {
                    let until = until.unwrap_or_else(|| Instant::now() + LONGEST);
                    if turn.progress.is_cancelled() {
                        turn.answer.give(Err(Refusal::Cancelled));
                    } else if taken.passing && Instant::now() < until {
                        self.waiting.push_back(Waiting { turn, until });
                    } else {
                        turn.answer.give(Err(Refusal::ControlHeld(taken.by)));
                    }
                    return;
                }
            },
        };
        if let Wish::Budget(limit) = turn.change {
            return self.begin_budget(limit, turn, lease);
        }
        let (result, answer) = self.take_in(turn, lease);
        match result {
            Ok(finish) => begun.push((finish, answer)),
            Err(refusal) => answer.give(Err(refusal)),
        }
    }

    /// Sets the budget at once: nothing has to be asked of the CLR for that.
    fn begin_budget(&mut self, limit: Option<Share>, turn: Turn, lease: Option<Lease>) {
        let Turn { claim, user, answer, .. } = turn;
        match lease.map_or_else(|| self.agent.server.control.acquire(&claim), Ok) {
            Ok(lease) => {
                let by = SetBy { user, program: claim.who.program, pid: claim.who.pid };
                let told = self.set_budget(limit, &by);
                drop(lease);
                self.agent.ledger.wake();
                answer.give(Ok(Reply::Budget(told)));
            }
            Err(taken) => answer.give(Err(Refusal::ControlHeld(taken.by))),
        }
    }

    /// Carries out what waits, first come first served, as far as control is free by now.
    pub(super) fn resume_waiting(&mut self) {
        for _ in 0..self.waiting.len() {
            let Some(Waiting { turn, until }) = self.waiting.pop_front() else { return };
            let mut begun = Vec::new();
            guard::guard_always((), || self.begin(turn, Some(until), &mut begun));
            for (finish, answer) in begun {
                guard::guard_always((), || self.carry_out(finish, answer));
            }
        }
    }

    /// Answers what waits with this refusal; only what that session asked for, if one is given.
    pub(super) fn refuse_waiting(&mut self, of: Option<SessionId>, refusal: &Refusal) {
        let (refused, rest) = std::mem::take(&mut self.waiting)
            .into_iter()
            .partition(|waiting| of.is_none_or(|session| waiting.turn.claim.session == session));
        self.waiting = rest;
        for waiting in Vec::from(refused) {
            waiting.turn.answer.give(Err(refusal.clone()));
        }
    }
}
