//! `redial dial`: turns the dials of matching methods, and says what became of each.

use super::arguments;
use super::completions;
use super::turn::{self, Wanted};
use crate::exit::{Exit, Failure};
use crate::output::table::printable;

/// Turns dials.
pub fn run(arguments: &arguments::Dial) -> Result<Exit, Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    let order = arguments.order().map_err(usage)?;
    arguments::check_pattern(&order.pattern).map_err(usage)?;
    let name = format!("'{}'", printable(&order.pattern));
    let along = arguments.completions.then(|| completions::along(&order)).transpose().map_err(usage)?;
    let orders = std::iter::once(order).chain(along).collect();
    turn::run(&Wanted {
        target: &arguments.target,
        program: "redial dial",
        name,
        orders,
        lines: vec![],
        options: &arguments.turn,
    })
}
