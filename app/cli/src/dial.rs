//! `redial dial`: turns the dials of matching methods and reports the result.

use super::arguments;
use super::async_completions;
use super::change::{self, ChangeRequest};
use redial_link::exit::{Exit, Failure};
use redial_text::words::printable;

/// Turns dials.
pub fn run(arguments: &arguments::DialArguments) -> Result<Exit, Failure> {
    let usage = |why: String| Failure::new(Exit::Usage, why);
    let order = arguments.order().map_err(usage)?;
    arguments::check_pattern(&order.pattern).map_err(usage)?;
    let name = format!("'{}'", printable(&order.pattern));
    let along = arguments
        .completions
        .then(|| async_completions::with_async_bodies(&order))
        .transpose()
        .map_err(usage)?;
    let orders = std::iter::once(order).chain(along).collect();
    change::run(&ChangeRequest {
        target: &arguments.target,
        program: "redial dial",
        name,
        orders,
        lines: vec![],
        options: &arguments.change,
    })
}
