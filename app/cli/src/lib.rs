//! The command line: one file per command. Each turns arguments into requests, prints the replies and returns an exit
//! code.
#![forbid(unsafe_code)]

mod apply;
mod arguments;
mod async_completions;
mod attach;
mod budget;
mod change;
mod completions;
mod copy_locations;
mod dial;
mod doctor;
mod duration;
mod env;
mod events;
mod exceptions;
mod hot;
mod il;
mod manual;
mod method_source;
mod method_totals;
mod methods;
mod modules;
mod multi_process;
mod number_cells;
mod off;
mod output;
mod ps;
#[cfg(test)]
mod reference_tests;
mod row_order;
mod run;
mod save;
mod snapshot;
mod status;
mod target;
mod time_options;
mod times;
mod token_names;
mod trace;
mod traced_calls;
mod undo;
mod usage;
mod watch;

use arguments::CliCommand;
use redial_link::discover;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use std::ffi::OsString;

/// Runs the program with its arguments and returns the exit code. `version` is the answer to `--version`. Without a
/// command, `open_window` opens the window: on a process if a process id is given, with its dialled methods first if the
/// flag is set.
pub fn main(version: &'static str, open_window: impl FnOnce(Option<u32>, bool) -> i32) -> i32 {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match usage::parse(&words, version) {
        Ok(arguments) => arguments,
        Err(error) => return usage::explain(&error, &words),
    };
    let Some(command) = arguments.command else {
        return window(arguments.pid, arguments.dialled, open_window);
    };
    let outcome = match command {
        CliCommand::Run(arguments) => return run::run(&arguments),
        CliCommand::Ps(arguments) => ps::run(&arguments),
        CliCommand::Attach(arguments) => attach::run(&arguments),
        CliCommand::Modules(arguments) => modules::run(&arguments),
        CliCommand::Methods(arguments) => methods::run(&arguments),
        CliCommand::Il(arguments) => il::run(&arguments),
        CliCommand::Dial(arguments) => dial::run(&arguments),
        CliCommand::Apply(arguments) => apply::run(&arguments),
        CliCommand::Save(arguments) => save::run(&arguments),
        CliCommand::Undo(arguments) => undo::run(&arguments),
        CliCommand::Budget(arguments) => budget::run(&arguments),
        CliCommand::Status(arguments) => status::run(&arguments),
        CliCommand::Watch(arguments) => watch::run(&arguments),
        CliCommand::Hot(arguments) => hot::run(&arguments),
        CliCommand::Trace(arguments) => trace::run(&arguments),
        CliCommand::Events(arguments) => events::run(&arguments),
        CliCommand::Exceptions(arguments) => exceptions::run(&arguments),
        CliCommand::Snapshot(arguments) => snapshot::run(&arguments),
        CliCommand::Diff(arguments) => snapshot::diff(&arguments),
        CliCommand::Off(arguments) => off::run(&arguments),
        CliCommand::Env(arguments) => env::run(&arguments),
        CliCommand::Doctor(arguments) => doctor::run(&arguments),
        CliCommand::Completions(arguments) => completions::run(&arguments, version),
        CliCommand::Manual(arguments) => manual::run(&arguments, version),
    };
    code(outcome)
}

/// Opens the window, on a process if `pid` is given. That process must exist.
fn window(pid: Option<u32>, dialled: bool, open: impl FnOnce(Option<u32>, bool) -> i32) -> i32 {
    match pid.filter(|pid| discover::find(*pid).is_none()) {
        Some(missing) => code(Err(LinkError::NoProcess(missing).into())),
        None => open(pid, dialled),
    }
}

/// Prints a failure on stderr and returns the exit code.
fn code(outcome: Result<Exit, Failure>) -> i32 {
    match outcome {
        Ok(exit) => exit.code(),
        Err(failure) => {
            if matches!(failure, Failure::Sentence { .. }) {
                output::sentence(&failure);
            }
            failure.exit().code()
        }
    }
}
