//! `redial completions`: scripts for shells, made from the command line's definition.

use super::arguments::CompletionsArguments;
use super::usage;
use crate::output::Out;
use clap::Command;
use clap::builder::PossibleValuesParser;
use redial_link::exit::{Exit, Failure};
use redial_link::setup::StartMethod;

/// The name under which shells complete the program.
const PROGRAM: &str = "redial";

/// Prints the completion script of a shell.
pub fn run(arguments: &CompletionsArguments, version: &'static str) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut definition(version), PROGRAM, &mut script);
    let mut out = Out::new();
    out.text(&String::from_utf8_lossy(&script))?;
    out.flush()?;
    Ok(Exit::Done)
}

/// Returns the definition of the command line with the values that a shell can offer.
fn definition(version: &'static str) -> Command {
    let means = PossibleValuesParser::new(StartMethod::WORDS);
    usage::command(version).mut_subcommand("env", |env| env.mut_arg("means", |arg| arg.value_parser(means)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap_complete::Shell;

    #[test]
    fn shells_offer_the_means_of_starting_a_program() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut definition("0.0.0"), PROGRAM, &mut script);
            let script = String::from_utf8(script).expect("text");
            assert!(script.contains("systemd"), "{shell}");
            assert!(script.contains("init-container"), "{shell}");
        }
    }

    #[test]
    fn every_keyword_is_accepted() {
        for word in StartMethod::WORDS {
            let named = if word.ends_with(':') { format!("{word}Name") } else { word.to_owned() };
            let parsed = StartMethod::parse(&named).expect("it is accepted");
            assert_eq!(parsed.word(), word.trim_end_matches(':'));
        }
    }
}
