//! `redial completions`: scripts for shells, made from the command line's definition.

use super::arguments::CompletionsArguments;
use super::usage;
use crate::output::Out;
use redial_link::exit::{Exit, Failure};

/// The name under which shells complete the program.
const PROGRAM: &str = "redial";

/// Prints the completion script of a shell.
pub fn run(arguments: &CompletionsArguments, version: &'static str) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut usage::command(version), PROGRAM, &mut script);
    let mut out = Out::new();
    out.text(&String::from_utf8_lossy(&script))?;
    out.flush()?;
    Ok(Exit::Done)
}
