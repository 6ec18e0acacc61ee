//! Estimates the cost of an order from the rates of its methods that are already counted.

use super::request::ChangeRequest;
use crate::output::changes;
use crate::status;
use redial_link::exit::Failure;
use redial_link::session::Session;
use redial_model::cost::CostEstimate;
use redial_model::dials::{DialledCopies, DialsUpdate};
use redial_protocol::level::Level;
use redial_protocol::message::WireCommand;
use redial_protocol::order::Order;
use redial_protocol::state::CopyState;
use std::time::{Duration, Instant};

/// The time between counter snapshots; a rate needs two of them.
const INTERVAL: Duration = Duration::from_millis(300);
/// How long to wait for two snapshots.
const PATIENCE: Duration = Duration::from_millis(1_500);

impl ChangeRequest<'_> {
    /// Returns a warning if raising the dials above count will be expensive at the current call rates.
    pub(super) fn costly(&self, session: &mut Session) -> Result<Option<String>, Failure> {
        let raises = |order: &Order| order.level > Level::Count;
        if !self.orders.first().is_some_and(raises) {
            return Ok(None);
        }
        let estimate = self.estimate_cost(session)?;
        session.execute(WireCommand::Unsubscribe)?;
        let much = estimate.filter(|estimate| estimate.then >= CostEstimate::MUCH);
        Ok(much.map(|much| changes::costly(&much, session.pid())))
    }

    /// Estimates the cost of a single order, or returns `None` if that is impossible. Takes some hundred milliseconds
    /// if some of its methods are counted, otherwise none.
    pub(super) fn estimate_cost(&self, session: &mut Session) -> Result<Option<CostEstimate>, Failure> {
        let [order] = self.orders.as_slice() else { return Ok(None) };
        // The matching rows would include other copies and AppDomains.
        let is_limited = order.copy.is_some() || order.domain.is_some();
        if order.level == Level::Off || is_limited {
            return Ok(None);
        }
        let pattern = Some(order.pattern.clone());
        let counted = status::ask_rows(session, pattern.clone())?;
        if !counted.iter().any(|dial| dial.row.state == CopyState::Live) {
            return Ok(None);
        }
        let mut dials = DialledCopies::default();
        dials.calls_cost(status::ask_costs(session)?);
        let interval_ms = INTERVAL.as_millis() as u32;
        session.execute(WireCommand::Subscribe { pattern, interval_ms })?;
        let until = Instant::now() + PATIENCE;
        let mut snapshots = 0_u32;
        while snapshots < 2 && Instant::now() < until {
            match session.next(Some(until))? {
                Some(event) => snapshots += u32::from(dials.apply(event) == DialsUpdate::Counters),
                None => break,
            }
        }
        Ok(dials.estimate_cost(order.level))
    }
}
