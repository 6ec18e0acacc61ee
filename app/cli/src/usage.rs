//! Parses the command line and reports wrong usage.

use super::arguments::Arguments;
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, Command, CommandFactory, Error, FromArgMatches};
use redial_link::exit::{Exit, RUN_FAILED};
use std::ffi::OsString;

/// Commands whose positional arguments may start with a hyphen: files, and another program's arguments.
const WITH_FREE_ARGUMENTS: [&str; 3] = ["run", "apply", "save"];

/// Returns the definition of the command line, with the answer to `--version`.
pub fn command(version: &'static str) -> Command {
    Arguments::command().version(version)
}

/// Parses a command line, starting with the program's name.
pub fn parse(words: &[OsString], version: &'static str) -> Result<Arguments, Error> {
    let command = command(version).mut_args(with_negative).mut_subcommands(|one| one.mut_args(with_negative));
    let read = command
        .try_get_matches_from(help_as_option(words))
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    read.map_err(|error| without_misleading_tip(error, words))
}

/// Reads `redial help COMMAND` as `redial COMMAND --help`.
fn help_as_option(words: &[OsString]) -> Vec<OsString> {
    match words {
        [program, help, command @ ..] if help == "help" => {
            [std::slice::from_ref(program), command, &["--help".into()]].concat()
        }
        _ => words.to_vec(),
    }
}

/// Accepts `-1` and `-5s` as values, so that the value parsers can explain the error.
fn with_negative(arg: Arg) -> Arg {
    if arg.get_id() == "kept_for" {
        arg.allow_hyphen_values(true)
    } else if arg.is_last_set() || !arg.get_action().takes_values() {
        arg
    } else {
        arg.allow_negative_numbers(true)
    }
}

/// Removes clap's `--` tip for commands that accept no argument with a leading hyphen.
fn without_misleading_tip(mut error: Error, words: &[OsString]) -> Error {
    let has_free = words.get(1).is_some_and(|command| WITH_FREE_ARGUMENTS.iter().any(|one| command == *one));
    if error.kind() == ErrorKind::UnknownArgument && !has_free {
        error.remove(ContextKind::Suggested);
    }
    error
}

/// Prints clap's message and returns the exit code: 0 for help and versions; `run` leaves codes below 125 to its child.
pub fn explain(error: &Error, words: &[OsString]) -> i32 {
    let _ = error.print();
    if !error.use_stderr() {
        return Exit::Done.code();
    }
    let is_run = words.get(1).is_some_and(|command| command == "run");
    if is_run { RUN_FAILED } else { Exit::Usage.code() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_a_command_too() {
        for (asked, usual) in [("help", "--help"), ("help attach", "attach --help")] {
            assert_eq!(error_text(asked), error_text(usual));
        }
        assert!(error_text("help attach").contains("redial attach"));
    }

    fn error_text(line: &str) -> String {
        let words: Vec<OsString> =
            std::iter::once("redial").chain(line.split_whitespace()).map(OsString::from).collect();
        parse(&words, "0.0.0").err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn status_agent_takes_no_pattern() {
        let text = error_text("status --agent 42 Shop!*");
        assert!(text.contains("cannot be used with '[PATTERN]'"), "{text}");
        assert!(
            text.contains("redial status --agent <PID>\n"),
            "the usage shows no invalid combination: {text}"
        );
    }

    #[test]
    fn value_parsers_explain_wrong_values() {
        for (line, part) in [
            ("dial -1 A.B count", "a process is an id"),
            ("off -1", "a process is an id"),
            ("--pid -3", "a process id is a number of at least 1"),
            ("dial 1 -1 count", "'-1' for '<PATTERN>': a pattern cannot start with '-'"),
            ("methods 1 -2", "a pattern cannot start with '-'"),
            ("dial 1 A.B -1", "a level is off"),
            ("dial 1 A.B count --for -5s", "90s, 10m, 2h or 1d"),
            ("dial 1 A.B count --for=-5s", "90s, 10m, 2h or 1d"),
            ("methods 1 --limit -1", "invalid value '-1' for '--limit <N>'"),
            ("watch 1 --interval -5", "-5 is not in 10..=3600000"),
            ("attach 1 --timeout -1", "expected a whole number from 1 to 3600"),
            ("watch 1 --count 0", "expected a whole number of at least 1"),
        ] {
            let text = error_text(line);
            assert!(text.contains(part) && !text.contains("tip:"), "{line}: {text}");
        }
    }

    #[test]
    fn gives_tips_only_where_they_help() {
        for (line, part) in [
            ("dial 1 -x count", ""),
            ("off 1 --al", ""),
            ("status 1 --al", "a similar argument exists: '--all'"),
            ("dial 1 A.B count --hol", "a similar argument exists: '--hold'"),
            ("save 1 -x", "use '-- -x'"),
            ("run -x", "use '-- -x'"),
        ] {
            let text = error_text(line);
            assert!(
                text.starts_with("error: unexpected argument '-") && text.contains(part),
                "{line}: {text}"
            );
            assert_eq!(text.contains("tip:"), !part.is_empty(), "{line}: {text}");
        }
        assert!(
            error_text("run --report --children -- x").contains("a value is required for '--report <FILE>'")
        );
    }
}
