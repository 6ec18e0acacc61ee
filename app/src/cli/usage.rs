//! Reading the command line, and what is said where it is wrong.

use super::arguments::Arguments;
use crate::exit::{Exit, RUN_FAILED};
use clap::error::{ContextKind, ErrorKind};
use clap::{Arg, CommandFactory, Error, FromArgMatches};
use std::ffi::OsString;

/// Commands whose free words may begin with a hyphen: files, and another program's arguments.
const OF_FREE_WORDS: [&str; 3] = ["run", "apply", "save"];

/// Reads the words of a command line, the program's name first.
pub fn parse(words: &[OsString]) -> Result<Arguments, Error> {
    let command =
        Arguments::command().mut_args(with_negative).mut_subcommands(|one| one.mut_args(with_negative));
    let read = command.try_get_matches_from(words).and_then(|matches| Arguments::from_arg_matches(&matches));
    read.map_err(|error| without_misleading_tip(error, words))
}

/// `-1` and `-5s` are values, wrong ones: what is wrong with them is told by whoever reads them.
fn with_negative(arg: Arg) -> Arg {
    if arg.get_id() == "kept_for" {
        arg.allow_hyphen_values(true)
    } else if arg.is_last_set() || !arg.get_action().takes_values() {
        arg
    } else {
        arg.allow_negative_numbers(true)
    }
}

/// Where nothing that may be meant begins with a hyphen it is no use to say how it could.
fn without_misleading_tip(mut error: Error, words: &[OsString]) -> Error {
    let of_free_words = words.get(1).is_some_and(|command| OF_FREE_WORDS.iter().any(|one| command == *one));
    if error.kind() == ErrorKind::UnknownArgument && !of_free_words {
        error.remove(ContextKind::Suggested);
    }
    error
}

/// Prints what clap has to say: help and versions are no errors; `run` keeps the codes below 125 for its child.
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

    fn said(line: &str) -> String {
        let words: Vec<OsString> =
            std::iter::once("redial").chain(line.split_whitespace()).map(OsString::from).collect();
        parse(&words).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn the_agent_s_account_is_no_list_of_methods() {
        let told = said("status --agent 42 Shop!*");
        assert!(told.contains("cannot be used with '[PATTERN]'"), "{told}");
        assert!(
            told.contains("redial status --agent <PID>\n"),
            "what does not go together is not proposed: {told}"
        );
    }

    #[test]
    fn what_is_no_value_is_told_by_who_reads_it() {
        for (line, part) in [
            ("dial -1 A.B count", "a process is told by its id"),
            ("off -1", "a process is told by its id"),
            ("--pid -3", "a process id is a number from 1 on"),
            ("dial 1 -1 count", "'-1' for '<PATTERN>': no name begins with '-'"),
            ("methods 1 -2", "no name begins with '-'"),
            ("dial 1 A.B -1", "a level is off"),
            ("dial 1 A.B count --for -5s", "90s, 10m, 2h or 1d"),
            ("dial 1 A.B count --for=-5s", "90s, 10m, 2h or 1d"),
            ("methods 1 --limit -1", "invalid value '-1' for '--limit <N>'"),
            ("watch 1 --interval -5", "-5 is not in 10..=3600000"),
            ("attach 1 --timeout -1", "it is a whole number from 1 to 3600"),
            ("watch 1 --count 0", "it is a whole number from 1 on"),
        ] {
            let text = said(line);
            assert!(text.contains(part) && !text.contains("tip:"), "{line}: {text}");
        }
    }

    #[test]
    fn tips_are_given_where_they_help() {
        for (line, part) in [
            ("dial 1 -x count", ""),
            ("off 1 --al", ""),
            ("status 1 --al", "a similar argument exists: '--all'"),
            ("dial 1 A.B count --hol", "a similar argument exists: '--hold'"),
            ("save 1 -x", "use '-- -x'"),
            ("run -x", "use '-- -x'"),
        ] {
            let text = said(line);
            assert!(
                text.starts_with("error: unexpected argument '-") && text.contains(part),
                "{line}: {text}"
            );
            assert_eq!(text.contains("tip:"), !part.is_empty(), "{line}: {text}");
        }
        assert!(said("run --report --children -- x").contains("a value is required for '--report <FILE>'"));
    }
}
