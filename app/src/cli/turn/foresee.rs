//! What an order would cost, by how often those of its methods that are counted already are called.

use super::Wanted;
use crate::cli::status;
use crate::exit::Failure;
use crate::link::session::Session;
use crate::model::cost::Foreseen;
use crate::model::dials::{Change, Dials};
use crate::output::turns;
use redial_protocol::level::Level;
use redial_protocol::message::Command;
use redial_protocol::order::Order;
use redial_protocol::state::State;
use std::time::{Duration, Instant};

/// How often numbers are asked for: a rate lies between two of them.
const INTERVAL: Duration = Duration::from_millis(300);
/// How long they are waited for.
const PATIENCE: Duration = Duration::from_millis(1_500);

impl Wanted<'_> {
    /// What is said of a turn to a level above count that will cost much, by how often its methods are called now.
    pub(super) fn costly(&self, session: &mut Session) -> Result<Option<String>, Failure> {
        let raises = |order: &Order| order.level > Level::Count;
        if !self.orders.first().is_some_and(raises) {
            return Ok(None);
        }
        let foreseen = self.foresee(session)?;
        session.tell(Command::Unsubscribe)?;
        let much = foreseen.filter(|foreseen| foreseen.then >= Foreseen::MUCH);
        Ok(much.map(|much| turns::costly(&much, session.pid())))
    }

    /// What the one order that is planned would cost; None where that cannot be told. Takes some hundred milliseconds
    /// where methods of it are counted, else none.
    pub(super) fn foresee(&self, session: &mut Session) -> Result<Option<Foreseen>, Failure> {
        let [order] = self.orders.as_slice() else { return Ok(None) };
        // Rows of other copies, and of other AppDomains, would be among those that match.
        let is_limited = order.copy.is_some() || order.domain.is_some();
        if order.level == Level::Off || is_limited {
            return Ok(None);
        }
        let pattern = Some(order.pattern.clone());
        let counted = status::ask_rows(session, pattern.clone())?;
        if !counted.iter().any(|dial| dial.row.state == State::Live) {
            return Ok(None);
        }
        let mut dials = Dials::default();
        dials.calls_cost(status::ask_costs(session)?);
        let interval_ms = INTERVAL.as_millis() as u32;
        session.tell(Command::Subscribe { pattern, interval_ms })?;
        let until = Instant::now() + PATIENCE;
        let mut folds = 0_u32;
        while folds < 2 {
            match session.next(Some(until))? {
                Some(event) => folds += u32::from(dials.apply(event) == Change::Fold),
                None => break,
            }
        }
        Ok(dials.foresee(order.level))
    }
}
