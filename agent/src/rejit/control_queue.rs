//! Changes that wait for control: two commands at the same moment do not conflict, one simply runs after the other.
//! They do not wait for a session with held dials.
#![forbid(unsafe_code)]

use super::change_state::{EnteredChange, QueuedChange, outdated};
use super::worker::Worker;
use crate::control::Lease;
use crate::guard;
use crate::inbox::{ChangeRequest, OrderChange, Responder};
use crate::planner::{OrderAuthor, SessionId};
use redial_protocol::cost::Share;
use redial_protocol::message::{Refusal, Reply};
use std::time::{Duration, Instant};

/// Longest wait. Changes of the same copies are 50 ms apart, so this allows for a hundred commands on one dial.
const MAX_WAIT: Duration = Duration::from_secs(5);

impl Worker {
    /// Begins a change, or lets it wait for control. A change that has begun goes to `begun`.
    pub(super) fn begin(
        &mut self,
        request: ChangeRequest,
        until: Option<Instant>,
        begun: &mut Vec<(EnteredChange, Responder)>,
    ) {
        // "All off" does not wait for changes that it makes void.
        if self.context.inbox.all_off_pending() {
            return request.answer.send(Err(outdated()));
        }
        // Take control away only for a change that succeeds: a failing one leaves control as it is.
        let lease = match request.claim.take {
            true => None,
            false => match self.context.control.acquire(&request.claim) {
                Ok(lease) => Some(lease),
                Err(taken) => {
                    let until = until.unwrap_or_else(|| Instant::now() + MAX_WAIT);
                    if request.progress.is_cancelled() {
                        request.answer.send(Err(Refusal::Cancelled));
                    } else if taken.passing && Instant::now() < until {
                        self.queued.push_back(QueuedChange { request, until });
                    } else {
                        request.answer.send(Err(Refusal::ControlHeld(taken.by)));
                    }
                    return;
                }
            },
        };
        if let OrderChange::Budget(limit) = request.change {
            return self.begin_budget(limit, request, lease);
        }
        let (result, answer) = self.enter_change(request, lease);
        match result {
            Ok(entered) => begun.push((entered, answer)),
            Err(refusal) => answer.send(Err(refusal)),
        }
    }

    /// Sets the budget at once, since that needs no request to the CLR.
    fn begin_budget(&mut self, limit: Option<Share>, request: ChangeRequest, lease: Option<Lease>) {
        let ChangeRequest { claim, user, answer, .. } = request;
        match lease.map_or_else(|| self.context.control.acquire(&claim), Ok) {
            Ok(lease) => {
                let by = OrderAuthor { user, program: claim.holder.program, pid: claim.holder.pid };
                let budget = self.set_budget(limit, &by);
                drop(lease);
                self.context.ledger.wake();
                answer.send(Ok(Reply::Budget(budget)));
            }
            Err(taken) => answer.send(Err(Refusal::ControlHeld(taken.by))),
        }
    }

    /// Runs the waiting changes, first come first served, as far as control is free by now.
    pub(super) fn resume_queued(&mut self) {
        for _ in 0..self.queued.len() {
            let Some(QueuedChange { request, until }) = self.queued.pop_front() else { return };
            let mut begun = Vec::new();
            guard::guard_always((), || self.begin(request, Some(until), &mut begun));
            for (entered, answer) in begun {
                guard::guard_always((), || self.carry_out(entered, answer));
            }
        }
    }

    /// Refuses the waiting changes; only those of one session, if given.
    pub(super) fn refuse_queued(&mut self, of: Option<SessionId>, refusal: &Refusal) {
        let (refused, rest) = std::mem::take(&mut self.queued)
            .into_iter()
            .partition(|queued| of.is_none_or(|session| queued.request.claim.session == session));
        self.queued = rest;
        for queued in Vec::from(refused) {
            queued.request.answer.send(Err(refusal.clone()));
        }
    }
}
