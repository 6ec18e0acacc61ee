//! The pending changes of a session. The session keeps reading meanwhile, so that later changes can merge with
//! earlier ones and "all off" waits for none. Each answer goes out as soon as the ReJIT thread has it.
#![forbid(unsafe_code)]

use super::quota::Share;
use super::session::{Session, reply_frame};
use super::shared::ORDER_MEMORY;
use crate::control::Claim;
use crate::inbox::{ChangeRequest, ChangeResult, Job, OrderChange, PlanRequest, Progress, Responder};
use crate::planner::OrderLifetime;
use redial_protocol::cost;
use redial_protocol::diagnostics::{Limit, PatternProblem, Unavailable};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_FRAME, MAX_KEPT_FOR_MS, MAX_ORDERS, MAX_PATTERN, MAX_PENDING_CHANGES};
use redial_protocol::message::{Event, Refusal, Reply};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::packet::AgentPacket;
use redial_protocol::pattern::Pattern;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// A plan counts as this many bytes of orders, which limits a session to four pending plans: they take the ReJIT
/// thread's time.
const PLAN_WEIGHT: usize = MAX_FRAME / 4;
/// Longest wait for the CLR to accept a change, or the next part of it, before the session gets a refusal.
const CHANGE_WAIT: Duration = Duration::from_secs(30);

impl Session {
    /// Passes a change to the ReJIT thread, or refuses it. False ends the session.
    pub(super) fn change(&mut self, id: u32, change: OrderChange, take: bool) -> bool {
        let (orders, held) = match &change {
            OrderChange::Add { orders, lifetime, .. } => (orders.as_slice(), *lifetime == Lifetime::Held),
            OrderChange::Undo | OrderChange::TakeBack(_) | OrderChange::Budget(_) => (&[][..], false),
        };
        let checked = match &change {
            // Takes control without changing any dial.
            OrderChange::Add { orders, later: true, .. } if orders.is_empty() && take => Ok(()),
            OrderChange::Add { orders, lifetime, .. } => check(orders).and_then(|()| check_time(*lifetime)),
            OrderChange::Undo | OrderChange::TakeBack(_) => Ok(()),
            OrderChange::Budget(limit) => check_budget(*limit),
        };
        let begun = match checked.and_then(|()| self.begin(id, orders, 0, held)) {
            Ok(begun) => begun,
            Err(refusal) => return self.outbox.put(reply_frame(id, Reply::Refused(refusal))),
        };
        // Set before the change: without an answer in time, it may still take effect.
        self.holds |= held;
        let (outbox, changes, number) = (self.outbox.clone(), self.changes.clone(), begun.number);
        let tell = move |done, total| {
            changes.progressed(number);
            let frame = AgentPacket::Event(Event::Progress { id, done, total }).to_frame();
            outbox.put_at_once(frame.unwrap_or_default());
        };
        self.context.inbox.put(Job::ChangeRequest(ChangeRequest {
            change,
            claim: Claim { session: self.id, holder: self.holder(), take, sets_held_dials: held },
            user: self.user().to_owned(),
            progress: Progress::new(Arc::clone(&begun.cancelled), Box::new(tell)),
            answer: self.answer(id, begun),
        }));
        true
    }

    /// Has the ReJIT thread plan a change. False ends the session.
    pub(super) fn plan(&self, id: u32, orders: Vec<Order>, lifetime: Lifetime) -> bool {
        let checked = check(&orders).and_then(|()| check_time(lifetime));
        // Nobody needs a plan after the session's end.
        match checked.and_then(|()| self.begin(id, &orders, PLAN_WEIGHT, true)) {
            Ok(begun) => {
                let owner = OrderLifetime::of(lifetime, self.id, Instant::now());
                let expected = self.context.inbox.session_work.begin_plan();
                self.add_work(expected);
                self.context.inbox.put(Job::Plan(PlanRequest {
                    orders,
                    owner,
                    expected,
                    cancelled: Arc::clone(&begun.cancelled),
                    answer: self.answer(id, begun),
                }));
            }
            Err(refusal) => return self.outbox.put(reply_frame(id, Reply::Refused(refusal))),
        }
        true
    }

    /// Has the ReJIT thread end the orders that this session holds. False ends the session.
    pub(super) fn release_held(&mut self, id: u32) -> bool {
        match self.begin(id, &[], 0, false) {
            Ok(begun) => {
                // Its silence no longer matters.
                self.holds = false;
                self.context.inbox.put(Job::ReleaseHeld(self.id, self.answer(id, begun)));
            }
            Err(refusal) => return self.outbox.put(reply_frame(id, Reply::Refused(refusal))),
        }
        true
    }

    /// Records a pending command. `weight`: bytes beyond those of its orders. `held`: the effect ends with the
    /// session.
    fn begin(&self, id: u32, orders: &[Order], weight: usize, held: bool) -> Result<PendingCommand, Refusal> {
        let of_order = |order: &Order| {
            size_of::<Order>() + order.pattern.len() + order.domain.as_ref().map_or(0, String::len)
        };
        let bytes = orders.iter().map(of_order).sum::<usize>();
        // A client that does not read its answers gets no more of them.
        let Some(memory) = self.server.order_memory(bytes).filter(|_| !self.outbox.has_unread_answers())
        else {
            return Err(too_many_pending());
        };
        let (number, cancelled) =
            self.changes.begin(id, weight + bytes, held).ok_or_else(too_many_pending)?;
        Ok(PendingCommand { number, cancelled, memory })
    }

    fn answer(&self, id: u32, begun: PendingCommand) -> Responder {
        let (outbox, changes) = (self.outbox.clone(), self.changes.clone());
        let PendingCommand { number, memory, .. } = begun;
        Responder::new(move |result: ChangeResult| {
            drop(memory);
            if changes.end(number) {
                outbox.put_at_once(reply_frame(id, result.unwrap_or_else(Reply::Refused)));
            }
        })
    }

    /// Refuses changes that the CLR does not answer in time. False ends the session.
    pub(super) fn report_overdue_changes(&self) -> bool {
        let silent = Unavailable::RuntimeSilent { seconds: CHANGE_WAIT.as_secs() };
        self.changes
            .overdue(CHANGE_WAIT)
            .into_iter()
            .all(|id| self.send(Event::Reply { id, reply: Reply::Refused(Refusal::AgentOff(silent)) }))
    }
}

/// A recorded command that the ReJIT thread has not answered.
struct PendingCommand {
    number: u64,
    cancelled: Arc<AtomicBool>,
    memory: Share<ORDER_MEMORY>,
}

/// Returns the refusal of a command because too many others are pending.
pub(super) fn too_many_pending() -> Refusal {
    let (changes, bytes) = (MAX_PENDING_CHANGES as u64, MAX_FRAME as u64);
    Refusal::OverLimit(Limit::PendingChanges { changes, bytes })
}

/// Returns an `off` order for each pattern.
pub(super) fn off(patterns: Vec<String>) -> Vec<Order> {
    patterns.into_iter().map(|pattern| Order::new(pattern, Level::Off)).collect()
}

fn check(orders: &[Order]) -> Result<(), Refusal> {
    if orders.is_empty() {
        return Err(Refusal::BadPattern(PatternProblem::NoOrders));
    }
    if orders.len() > MAX_ORDERS {
        let (orders, limit) = (orders.len() as u64, MAX_ORDERS as u64);
        return Err(Refusal::OverLimit(Limit::Orders { orders, limit }));
    }
    let limit = MAX_PATTERN as u64;
    for order in orders {
        if order.pattern.len() > MAX_PATTERN {
            return Err(Refusal::OverLimit(Limit::PatternLength { limit }));
        }
        if order.domain.as_ref().is_some_and(|domain| domain.len() > MAX_PATTERN) {
            return Err(Refusal::OverLimit(Limit::DomainLength { limit }));
        }
        Pattern::parse(&order.pattern).map_err(|e| Refusal::BadPattern(e.into()))?;
    }
    Ok(())
}

fn check_budget(limit: Option<cost::Share>) -> Result<(), Refusal> {
    match limit {
        Some(limit) if limit == cost::Share(0) || limit > cost::Share::MAX => {
            Err(Refusal::OverLimit(Limit::Budget))
        }
        _ => Ok(()),
    }
}

fn check_time(lifetime: Lifetime) -> Result<(), Refusal> {
    match lifetime {
        Lifetime::KeptFor { ms } if ms == 0 || ms > MAX_KEPT_FOR_MS => {
            Err(Refusal::OverLimit(Limit::KeptFor { ms, limit: MAX_KEPT_FOR_MS }))
        }
        _ => Ok(()),
    }
}
