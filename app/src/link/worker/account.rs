//! What an agent was last told to say of itself: the same again is not told, for it would draw the window for nothing.

use crate::model::update::Told;
use redial_protocol::message::AgentStatus;
use redial_protocol::order::StandingOrder;
use std::time::{Duration, Instant};

/// How long a round trip that is much like the last told is kept back.
const LATENCY_STAYS: Duration = Duration::from_secs(15);
/// What a round trip differs by at least to be told at once: on a busy machine one of a millisecond takes ten now and then,
/// and a window drawn for that would never be idle.
const NOTABLE: Duration = Duration::from_millis(25);

/// What was told of the agent's account last. The same again is not told: it would draw the window for nothing.
#[derive(Default)]
pub struct Account {
    status: Option<AgentStatus>,
    latency: Option<(Duration, Instant)>,
    orders: Option<(Vec<StandingOrder>, u32)>,
    /// Whether the orders are asked for with the next account, too.
    orders_again: bool,
}

impl Account {
    /// The account, where it says something new.
    pub fn status(&mut self, status: AgentStatus) -> Option<Told> {
        if self.status.as_ref() == Some(&status) {
            return None;
        }
        self.status = Some(status.clone());
        Some(Told::AgentStatus(Box::new(status)))
    }

    /// A round trip, where it is not much like the last.
    pub fn latency(&mut self, latency: Duration, now: Instant) -> Option<Told> {
        if let Some((before, at)) = self.latency {
            let much = NOTABLE.max(before / 2);
            let alike = latency.abs_diff(before) < much;
            if alike && now.saturating_duration_since(at) < LATENCY_STAYS {
                return None;
            }
        }
        self.latency = Some((latency, now));
        Some(Told::Latency(latency))
    }

    /// Whether the orders are to be asked for with an account, by whether that says something new. The agent lists orders once what
    /// follows from them is done: so those of one account may be told with the next.
    pub fn wants_orders(&mut self, is_news: bool) -> bool {
        std::mem::replace(&mut self.orders_again, is_news) || is_news
    }

    /// The orders that stand, and how many changes can be taken back, where that is new.
    pub fn orders(&mut self, orders: Vec<StandingOrder>, undoable: u32) -> Option<Told> {
        let told = Some((orders.clone(), undoable));
        let before = std::mem::replace(&mut self.orders, told);
        (before != self.orders).then_some(Told::Orders(orders, undoable))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_told_when_it_says_something_new() {
        let mut account = Account::default();
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
        };
        assert!(account.status(status.clone()).is_some());
        assert!(account.status(status.clone()).is_none());
        assert!(account.status(AgentStatus { kept: 1, ..status.clone() }).is_some());
        assert!(account.status(status).is_some(), "back again is news too");
        let (began, ms) = (Instant::now(), Duration::from_millis);
        assert!(account.latency(ms(1), began).is_some());
        assert!(account.latency(ms(9), began).is_none());
        assert!(account.latency(ms(90), began).is_some());
        assert!(account.latency(ms(60), began).is_none());
        assert!(account.latency(ms(1), began).is_some(), "it was long once");
        assert!(account.latency(ms(8), began).is_none());
        assert!(account.latency(ms(8), began + LATENCY_STAYS).is_some());
        assert!(account.latency(ms(9), began + LATENCY_STAYS).is_none());
    }

    #[test]
    fn orders_are_asked_for_twice_and_told_once() {
        let mut account = Account::default();
        let wanted = [true, false, false, true, true, false].map(|is_news| account.wants_orders(is_news));
        assert_eq!(wanted, [true, true, false, true, true, true]);
        assert!(account.orders(Vec::new(), 0).is_some(), "that there are none is news once");
        assert!(account.orders(Vec::new(), 0).is_none());
        assert!(account.orders(Vec::new(), 1).is_some());
    }
}
