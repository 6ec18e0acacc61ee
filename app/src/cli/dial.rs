//! `redial dial`: turns the dials of matching methods, and says what became of each.

use super::arguments;
use super::turn::{self, Wanted};
use crate::exit::{Exit, Failure};
use crate::output::table::printable;

/// Turns dials.
pub fn run(arguments: &arguments::Dial) -> Result<Exit, Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    let order = arguments.order().map_err(usage)?;
    arguments::check_pattern(&order.pattern).map_err(usage)?;
    turn::run(&Wanted {
        target: &arguments.target,
        program: "redial dial",
        name: format!("'{}'", printable(&order.pattern)),
        orders: vec![order],
        lines: vec![],
        options: &arguments.turn,
    })
}
