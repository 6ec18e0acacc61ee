//! `redial dial`: turns the dials of matching methods, and says what became of each.

use super::arguments;
use super::turn::{self, Wanted};
use crate::exit::{Exit, Failure};
use crate::output::table::printable;

/// Turns dials.
pub fn run(arguments: &arguments::Dial) -> Result<Exit, Failure> {
    arguments::check_pattern(&arguments.pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    turn::run(&Wanted {
        target: &arguments.target,
        program: "redial dial",
        orders: vec![arguments.order()],
        lines: vec![],
        name: format!("'{}'", printable(&arguments.pattern)),
        options: &arguments.turn,
    })
}
