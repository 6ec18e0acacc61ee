//! `redial env`: prints how to start a program with the agent without `redial run`.

use super::arguments;
use crate::output::Out;
use crate::output::json::EnvJson;
use redial_link::exit::{Exit, Failure};
use redial_link::setup::{recipe, variables};

/// Prints the recipe.
pub fn run(arguments: &arguments::EnvArguments) -> Result<Exit, Failure> {
    let means = &arguments.means;
    let recipe = recipe(means).map_err(|why| Failure::new(Exit::NoAgent, why))?;
    let mut out = Out::new();
    if arguments.json {
        out.json(&EnvJson {
            means: means.word(),
            variables: variables(&recipe.library, recipe.windows),
            lines: &recipe.lines,
            restart: &recipe.restart,
            undo: &recipe.undo,
            notes: &recipe.notes,
            tested: recipe.tested,
        })?;
    } else {
        for line in recipe.text() {
            out.line(&line)?;
        }
    }
    out.flush()?;
    Ok(Exit::Done)
}
