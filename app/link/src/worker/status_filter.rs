//! Remembers what was last reported about an agent, and drops unchanged reports to avoid needless repaints.

use redial_model::update::ConnectionUpdate;
use redial_protocol::message::AgentStatus;
use redial_protocol::order::StandingOrder;
use std::time::{Duration, Instant};

/// How long a round trip similar to the last reported one is withheld.
const LATENCY_HOLD: Duration = Duration::from_secs(15);
/// The least difference that is reported at once. On a busy machine, a round trip of 1 ms occasionally takes
/// 10 ms; repainting for that would never let the window idle.
const NOTABLE: Duration = Duration::from_millis(25);

/// The last reported status of an agent.
#[derive(Default)]
pub struct StatusFilter {
    status: Option<AgentStatus>,
    latency: Option<(Duration, Instant)>,
    orders: Option<(Vec<StandingOrder>, u32)>,
    /// Whether to request the orders with the next status, too.
    orders_again: bool,
}

impl StatusFilter {
    /// Returns an update if the status changed.
    pub fn status(&mut self, status: AgentStatus) -> Option<ConnectionUpdate> {
        if self.status.as_ref() == Some(&status) {
            return None;
        }
        self.status = Some(status.clone());
        Some(ConnectionUpdate::AgentStatus(Box::new(status)))
    }

    /// Returns an update unless the round trip is similar to the last reported one.
    pub fn latency(&mut self, latency: Duration, now: Instant) -> Option<ConnectionUpdate> {
        if let Some((before, at)) = self.latency {
            let much = NOTABLE.max(before / 2);
            let alike = latency.abs_diff(before) < much;
            if alike && now.saturating_duration_since(at) < LATENCY_HOLD {
                return None;
            }
        }
        self.latency = Some((latency, now));
        Some(ConnectionUpdate::Latency(latency))
    }

    /// Returns whether to request the orders along with a status, given whether that status changed. The
    /// agent lists orders only after it has carried them out, so changes may first appear with the next
    /// status.
    pub fn wants_orders(&mut self, has_changed: bool) -> bool {
        std::mem::replace(&mut self.orders_again, has_changed) || has_changed
    }

    /// Returns an update if the standing orders, or the number of changes that can be undone, differ from
    /// before.
    pub fn orders(&mut self, orders: Vec<StandingOrder>, undoable: u32) -> Option<ConnectionUpdate> {
        let now = Some((orders.clone(), undoable));
        let before = std::mem::replace(&mut self.orders, now);
        (before != self.orders).then_some(ConnectionUpdate::Orders(orders, undoable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_a_status_only_if_it_changed() {
        let mut filter = StatusFilter::default();
        let status = AgentStatus {
            control: None,
            held: 0,
            kept: 0,
            memory_bytes: 1,
            budgets: Vec::new(),
            clr_kept_bytes: 0,
            missed_deadlines: 0,
            guard_trips: 0,
            audit: Vec::new(),
            remains: Vec::new(),
            costs: Vec::new(),
            cost_budget: Default::default(),
            callers_picoseconds: None,
            exceptions_reported: false,
        };
        assert!(filter.status(status.clone()).is_some());
        assert!(filter.status(status.clone()).is_none());
        assert!(filter.status(AgentStatus { kept: 1, ..status.clone() }).is_some());
        assert!(filter.status(status).is_some(), "changing back is a change too");
        let (began, ms) = (Instant::now(), Duration::from_millis);
        assert!(filter.latency(ms(1), began).is_some());
        assert!(filter.latency(ms(9), began).is_none());
        assert!(filter.latency(ms(90), began).is_some());
        assert!(filter.latency(ms(60), began).is_none());
        assert!(filter.latency(ms(1), began).is_some(), "the last one was long");
        assert!(filter.latency(ms(8), began).is_none());
        assert!(filter.latency(ms(8), began + LATENCY_HOLD).is_some());
        assert!(filter.latency(ms(9), began + LATENCY_HOLD).is_none());
    }

    #[test]
    fn requests_orders_twice_and_reports_them_once() {
        let mut filter = StatusFilter::default();
        let wanted =
            [true, false, false, true, true, false].map(|has_changed| filter.wants_orders(has_changed));
        assert_eq!(wanted, [true, true, false, true, true, true]);
        assert!(filter.orders(Vec::new(), 0).is_some(), "an empty list is reported once");
        assert!(filter.orders(Vec::new(), 0).is_none());
        assert!(filter.orders(Vec::new(), 1).is_some());
    }
}
