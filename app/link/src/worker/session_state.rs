//! The state of a session: outstanding requests by id, the meaning of their answers, and reports to withhold.

use super::active_changes::{ActiveChanges, REPLY_PATIENCE};
use super::call_collector::CallCollector;
use super::error_text;
use super::silence_monitor::{self, SilenceMonitor};
use super::status_filter::StatusFilter;
use crate::discover::user_name;
use crate::error::LinkError;
use crate::session::Session;
use redial_model::changes::DialChange;
use redial_model::ids::{ConnectionId, Ticket};
use redial_model::update::{ConnectionUpdate, UndoneChange};
use redial_protocol::cost::Share;
use redial_protocol::ids::RowId;
use redial_protocol::message::{AuditEntry, Event, Reply, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use std::time::{Duration, Instant};

/// Milliseconds between counter snapshots.
const INTERVAL_MS: u32 = 250;
/// How often to request the agent's status, which also measures latency. Tests request it only for a reason.
const STATUS_EVERY: Duration = Duration::from_secs(if cfg!(test) { 3600 } else { 2 });

/// The state of a session.
#[derive(Default)]
pub struct SessionState {
    subscribed: Option<u32>,
    /// The outstanding status request: its id and time.
    status: Option<(u32, Instant)>,
    status_due: Option<Instant>,
    filter: StatusFilter,
    silence: SilenceMonitor,
    /// Active changes.
    pub changes: ActiveChanges,
    /// Traced calls.
    pub calls: CallCollector,
    /// Other outstanding requests by id.
    asked: Vec<(u32, PendingRequest)>,
    /// Outstanding requests about a visible row, by id.
    row_requests: Vec<(u32, RowRequest)>,
    /// Whether this session may have control.
    changed: bool,
}

/// A request about a visible row.
enum RowRequest {
    Histogram(RowId),
    SlowestCalls(RowId),
    Callers(RowId),
}

impl RowRequest {
    /// Converts the answer to an update; `None` if it answers something else.
    fn answered(self, reply: Reply) -> Option<ConnectionUpdate> {
        let why = |refusal| error_text::refused(&LinkError::Refused(refusal)).why;
        Some(match (self, reply) {
            (RowRequest::Histogram(row), Reply::Histogram(histogram)) if histogram.times.row == row => {
                ConnectionUpdate::Histogram(row, Ok(Box::new(histogram)))
            }
            (RowRequest::SlowestCalls(row), Reply::SlowestCalls(mut kept))
                if kept.iter().all(|one| one.row == row) =>
            {
                ConnectionUpdate::SlowestCalls(row, kept.pop().map(Box::new))
            }
            (RowRequest::SlowestCalls(row), Reply::Refused(_)) => ConnectionUpdate::SlowestCalls(row, None),
            (RowRequest::Callers(row), Reply::Callers(callers)) if callers.row == row => {
                ConnectionUpdate::Callers(row, Ok(Box::new(callers)))
            }
            (RowRequest::Histogram(row), Reply::Refused(refusal)) => {
                ConnectionUpdate::Histogram(row, Err(why(refusal)))
            }
            (RowRequest::Callers(row), Reply::Refused(refusal)) => {
                ConnectionUpdate::Callers(row, Err(why(refusal)))
            }
            _ => return None,
        })
    }
}

/// A request that makes no change to dials.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingRequest {
    /// The plan of a change.
    Plan(Ticket),
    /// Undoing the last change.
    Undo(Ticket),
    /// The standing orders.
    Orders,
    /// Setting the budget.
    Budget,
    /// Taking control.
    Control,
}

impl SessionState {
    /// Begins with a subscription to everything.
    pub fn begin(connection: ConnectionId, session: &mut Session) -> Result<SessionState, LinkError> {
        let subscribed = session.send(WireCommand::Subscribe { pattern: None, interval_ms: INTERVAL_MS })?;
        let calls = CallCollector::new(connection);
        Ok(SessionState { subscribed: Some(subscribed), calls, ..SessionState::default() })
    }

    /// Requests the agent's status if it is due.
    pub fn ask_status(&mut self, session: &mut Session, now: Instant) -> Result<(), LinkError> {
        if self.status.is_none() && self.status_due.is_none_or(|due| due <= now) {
            self.status = Some((session.send(WireCommand::AgentStatus)?, now));
            self.status_due = Some(now + STATUS_EVERY);
        }
        Ok(())
    }

    /// Makes the next status request due at once: the status shows whether to release control.
    pub fn want_status(&mut self, now: Instant) {
        self.status_due = Some(now);
    }

    /// Records a sign of life.
    pub fn note_activity(&mut self, now: Instant) {
        self.silence.note_activity(now);
    }

    /// Returns how long the agent has been silent since the last status request.
    fn silent_for(&self, now: Instant) -> Option<Duration> {
        self.status.map(|(_, asked)| self.silence.since(asked, now))
    }

    /// Returns an error if the agent has been silent for too long. It gets more time while its ReJIT thread
    /// has work to do, because that may hold locks.
    pub fn silent(&self, pid: u32, now: Instant) -> Result<(), LinkError> {
        let only_lists =
            self.changes.is_empty() && self.asked.iter().all(|(_, it)| *it == PendingRequest::Orders);
        silence_monitor::end(
            pid,
            self.silent_for(now),
            if only_lists { silence_monitor::PATIENCE } else { REPLY_PATIENCE },
        )
    }

    /// Reports once that a silent process is stopped, and once that it runs again.
    pub fn paused(&mut self, pid: u32, now: Instant) -> Option<ConnectionUpdate> {
        let silent_for = self.silent_for(now);
        self.silence.paused(pid, silent_for)
    }

    /// Withholds repeated empty counters.
    pub fn withhold_empty_counters(&mut self, updates: &mut Vec<ConnectionUpdate>) {
        self.silence.withhold(updates);
    }

    /// Returns when to act even if no event arrives.
    pub fn next_due(&self, now: Instant) -> Option<Instant> {
        match self.status {
            // Check for a stopped process and overdue changes.
            Some((_, asked)) => Some(self.silence.next_check(asked, now)),
            None => self.status_due,
        }
    }

    /// Sends a change, or its first part.
    pub fn change(&mut self, change: DialChange, session: &mut Session) -> Result<(), LinkError> {
        self.changed = true;
        self.changes.change(change, session)
    }

    /// Takes back a change of this session; returns an update if one is due at once.
    pub fn take_back(
        &mut self,
        ticket: Ticket,
        of: Ticket,
        session: &mut Session,
    ) -> Result<Option<ConnectionUpdate>, LinkError> {
        self.changed = true;
        self.changes.take_back(ticket, of, session)
    }

    /// Requests a plan.
    pub fn plan(
        &mut self,
        ticket: Ticket,
        orders: Vec<Order>,
        session: &mut Session,
    ) -> Result<(), LinkError> {
        self.asked.push((
            session.send(WireCommand::Plan { orders, lifetime: Lifetime::Held })?,
            PendingRequest::Plan(ticket),
        ));
        Ok(())
    }

    /// Undoes the change with that number, or the last one, whoever made it.
    pub fn undo(
        &mut self,
        ticket: Ticket,
        change: Option<u64>,
        session: &mut Session,
    ) -> Result<(), LinkError> {
        let undo = WireCommand::Undo { take: false };
        let command = change.map_or(undo, |change| WireCommand::UndoChange { change, take: false });
        self.asked.push((session.send(command)?, PendingRequest::Undo(ticket)));
        self.changed = true;
        Ok(())
    }

    /// Sets the overhead budget. The agent sends the new budget to all subscribers.
    pub fn set_budget(&mut self, limit: Option<Share>, session: &mut Session) -> Result<(), LinkError> {
        self.asked
            .push((session.send(WireCommand::SetBudget { limit, take: false })?, PendingRequest::Budget));
        Ok(())
    }

    /// Takes control without changing dials. The agent sends the new holder to all subscribers.
    pub fn take_control(&mut self, session: &mut Session) -> Result<(), LinkError> {
        let (orders, lifetime) = (Vec::new(), Lifetime::Kept);
        let take = WireCommand::RequestReJit { orders, later: true, take: true, lifetime };
        self.asked.push((session.send(take)?, PendingRequest::Control));
        self.changed = true;
        Ok(())
    }

    /// Requests a row's histogram and its slowest calls. The agent answers at once or not at all.
    pub fn histogram(&mut self, row: RowId, session: &mut Session) -> Result<(), LinkError> {
        self.row_requests.push((session.send(WireCommand::Histogram { row })?, RowRequest::Histogram(row)));
        // The kept calls change only when calls end, and then the histogram changes too.
        let rows = vec![row];
        self.row_requests
            .push((session.send(WireCommand::SlowestCalls { rows })?, RowRequest::SlowestCalls(row)));
        Ok(())
    }

    /// Requests the histograms of rows; see `histogram`.
    pub fn histograms(&mut self, rows: &[RowId], session: &mut Session) -> Result<(), LinkError> {
        for row in rows {
            let id = session.send(WireCommand::Histogram { row: *row })?;
            self.row_requests.push((id, RowRequest::Histogram(*row)));
        }
        Ok(())
    }

    /// Requests the callers of a row's method; see `histogram`.
    pub fn callers(&mut self, row: RowId, session: &mut Session) -> Result<(), LinkError> {
        self.row_requests.push((session.send(WireCommand::Callers { row })?, RowRequest::Callers(row)));
        Ok(())
    }

    fn answered(
        &mut self,
        asked: PendingRequest,
        reply: Reply,
        session: &Session,
    ) -> Result<Option<ConnectionUpdate>, LinkError> {
        if matches!(asked, PendingRequest::Undo(_) | PendingRequest::Control) {
            self.want_status(Instant::now());
        }
        Ok(Some(match (asked, reply) {
            (PendingRequest::Plan(ticket), Reply::Plan(plan)) => {
                ConnectionUpdate::Plan(ticket, Ok(Box::new(plan)))
            }
            (PendingRequest::Undo(ticket), Reply::Undone { entry, report }) => {
                let entry = AuditEntry { user: user_name(&entry.user), ..entry };
                ConnectionUpdate::Undone(ticket, Ok(Box::new(UndoneChange { what: entry, report })))
            }
            (PendingRequest::Control, Reply::Dialled(_)) => {
                ConnectionUpdate::Notice("this window took control".to_owned())
            }
            (PendingRequest::Budget, Reply::Budget(budget)) => ConnectionUpdate::Event(Event::Budget(budget)),
            (PendingRequest::Orders, Reply::Orders { orders, undoable }) => {
                return Ok(self.filter.orders(error_text::orders(orders), undoable));
            }
            (asked, Reply::Refused(refusal)) => {
                let refused = error_text::refused(&LinkError::Refused(refusal));
                match asked {
                    PendingRequest::Plan(ticket) => ConnectionUpdate::Plan(ticket, Err(refused.why)),
                    PendingRequest::Undo(ticket) => ConnectionUpdate::Undone(ticket, Err(refused)),
                    PendingRequest::Budget => ConnectionUpdate::BudgetRefused(refused),
                    PendingRequest::Control => {
                        ConnectionUpdate::Notice(format!("control was not taken: {}", refused.why))
                    }
                    PendingRequest::Orders => ConnectionUpdate::Notice(format!(
                        "the standing orders cannot be listed: {}",
                        refused.why
                    )),
                }
            }
            _ => return Err(session.wrong_reply()),
        }))
    }

    pub fn reply(
        &mut self,
        id: u32,
        reply: Reply,
        session: &mut Session,
        updates: &mut Vec<ConnectionUpdate>,
    ) -> Result<(), LinkError> {
        if self.subscribed == Some(id) {
            self.subscribed = None;
            if let Reply::Refused(refusal) = reply {
                return Err(LinkError::Refused(refusal));
            }
        } else if self.status.is_some_and(|(of, _)| of == id) {
            if let Some((_, asked)) = self.status.take() {
                updates.extend(self.filter.latency(asked.elapsed(), Instant::now()));
            }
            if let Reply::AgentStatus(status) = reply {
                // Only a session with dials needs control.
                if status.held == 0 && self.changes.is_empty() && std::mem::take(&mut self.changed) {
                    session.send(WireCommand::ReleaseControl)?;
                }
                let update = self.filter.status(error_text::status_with_user_names(status));
                let is_asked = self.asked.iter().any(|(_, asked)| *asked == PendingRequest::Orders);
                if self.filter.wants_orders(update.is_some()) && !is_asked {
                    self.asked.push((session.send(WireCommand::Orders)?, PendingRequest::Orders));
                }
                updates.extend(update);
            }
        } else if let Some(answer) = self.calls.answered(id, &reply) {
            updates.extend(answer.into_iter().map(ConnectionUpdate::Events));
        } else if let Some(at) = self.row_requests.iter().position(|(of, _)| *of == id) {
            updates
                .push(self.row_requests.remove(at).1.answered(reply).ok_or_else(|| session.wrong_reply())?);
        } else if let Some(at) = self.asked.iter().position(|(of, _)| *of == id) {
            let (_, asked) = self.asked.remove(at);
            updates.extend(self.answered(asked, reply, session)?);
        } else {
            match self.changes.answered(id, reply, session) {
                Ok(Some((update, ended))) => {
                    updates.extend(update);
                    if ended {
                        self.want_status(Instant::now());
                    }
                }
                Ok(None) => {}
                Err(error) => return Err(error.unwrap_or_else(|| session.wrong_reply())),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_agent_that_owes_an_answer_is_silent() {
        let begin = Instant::now();
        let at = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut state = SessionState::default();
        assert!(state.silent(7, at(1_000)).is_ok(), "nothing was asked");
        state.status = Some((1, at(0)));
        assert!(state.silent(7, at(10)).is_ok());
        let why = state.silent(7, at(11)).expect_err("nothing was heard").to_string();
        assert_eq!(why, "the agent in process 7 did not answer within 10 s");
        state.note_activity(at(5));
        assert!(state.silent(7, at(11)).is_ok(), "counters are a sign of life");
        assert!(state.silent(7, at(16)).is_err());
        struct Nobody;
        impl crate::worker::active_changes::CommandSink for Nobody {
            fn send(&mut self, _: WireCommand) -> Result<u32, LinkError> {
                Ok(2)
            }
        }
        state.asked.push((3, PendingRequest::Orders));
        assert!(state.silent(7, at(16)).is_err(), "a list takes no time");
        state.asked.push((4, PendingRequest::Plan(Ticket(9))));
        assert!(state.silent(7, at(16)).is_ok(), "a plan may take long");
        state.asked.clear();
        let orders = vec![Order::new("A.B", redial_protocol::level::Level::Count)];
        let change =
            DialChange { connection: ConnectionId(1), ticket: Ticket(1), orders, take: false, later: false };
        state.changes.change(change, &mut Nobody).expect("sent");
        assert!(state.silent(7, at(16)).is_ok(), "a change may take long");
        assert!(state.silent(7, at(46)).is_err(), "not for ever");
    }

    #[test]
    fn checks_for_a_pause_soon_after_the_last_event() {
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut state = SessionState { status_due: Some(at(2_000)), ..SessionState::default() };
        assert_eq!(state.next_due(at(0)), Some(at(2_000)));
        (state.status, state.status_due) = (Some((1, at(2_000))), Some(at(4_000)));
        state.note_activity(at(2_250));
        assert_eq!(state.next_due(at(2_300)), Some(at(3_250)));
        assert_eq!(state.next_due(at(3_250)), Some(at(4_250)), "and each second from then on");
    }
}
