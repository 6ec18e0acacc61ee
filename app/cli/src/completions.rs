//! `redial completions` and `redial manual`: files for packages, made from the command line's definition.

use super::arguments::{CompletionsArguments, ManualArguments};
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

/// Writes `redial.1` and one page per command into a folder.
pub fn write_manual(arguments: &ManualArguments, version: &'static str) -> Result<Exit, Failure> {
    let folder = &arguments.folder;
    clap_mangen::generate_to(usage::command(version), folder).map_err(|error| {
        Failure::new(Exit::Failed, format!("the manual cannot be written to {}: {error}", folder.display()))
    })?;
    Ok(Exit::Done)
}
