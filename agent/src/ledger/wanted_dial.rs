//! The dial that the standing orders give a row.
#![forbid(unsafe_code)]

use crate::planner::{BudgetStepOrigin, OrderLifetime, OrderSeq};
use redial_protocol::condition::Condition;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use std::sync::Arc;

/// The dial that the standing orders give a row.
#[derive(Default)]
pub struct WantedDial {
    /// The latest order that matched the row when orders were last checked; the order may no longer stand. The
    /// other matching orders are not kept: there may be thousands, and they are found again when this one goes.
    pub deciding_order: Option<OrderSeq>,
    /// Whether that order matches the async method whose `MoveNext` the row is, and not the row itself.
    pub is_inherited: bool,
    /// The level that the user asked for.
    pub level: Level,
    /// The time options that the user asked for.
    pub options: TimeOptions,
    /// The condition on traced calls that the user asked for.
    pub condition: Option<Arc<Condition>>,
    /// The lifetime of the deciding order.
    pub owner: Option<OrderLifetime>,
    /// Why the budget set the deciding order, if it did.
    pub stepped: Option<BudgetStepOrigin>,
    /// A user raised it after the budget stepped it down: the budget leaves it alone.
    pub spared: bool,
}

impl WantedDial {
    /// Whether it is on.
    pub fn is_on(&self) -> bool {
        self.level > Level::Off
    }

    /// Whether calls shall be timed.
    pub fn is_timed(&self) -> bool {
        self.level >= Level::Time
    }
}
