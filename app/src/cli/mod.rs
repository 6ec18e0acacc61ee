//! The command line: one file a command. Each turns arguments into requests and replies into text, and says with
//! its exit code what came of it.
#![forbid(unsafe_code)]

mod apply;
mod arguments;
mod attach;
mod beyond;
mod budget;
mod by_token;
mod completions;
mod dial;
mod doctor;
mod duration;
mod env;
mod il;
mod methods;
mod modules;
mod off;
mod order;
mod places;
mod ps;
mod run;
mod save;
mod several;
mod status;
mod sums;
mod target;
mod times;
mod turn;
mod undo;
mod usage;
mod watch;
mod whole_file;

use crate::exit::{Exit, Failure};
use crate::link::discover;
use crate::link::error::LinkError;
use crate::output;
use arguments::Command;
use std::ffi::OsString;

/// Runs the program with its arguments; the exit code.
pub fn main() -> i32 {
    let words: Vec<OsString> = std::env::args_os().collect();
    let arguments = match usage::parse(&words) {
        Ok(arguments) => arguments,
        Err(error) => return usage::explain(&error, &words),
    };
    let Some(command) = arguments.command else {
        return window(arguments.pid, arguments.dialled);
    };
    let outcome = match command {
        Command::Run(arguments) => return run::run(&arguments),
        Command::Ps(arguments) => ps::run(&arguments),
        Command::Attach(arguments) => attach::run(&arguments),
        Command::Modules(arguments) => modules::run(&arguments),
        Command::Methods(arguments) => methods::run(&arguments),
        Command::Il(arguments) => il::run(&arguments),
        Command::Dial(arguments) => dial::run(&arguments),
        Command::Apply(arguments) => apply::run(&arguments),
        Command::Save(arguments) => save::run(&arguments),
        Command::Undo(arguments) => undo::run(&arguments),
        Command::Budget(arguments) => budget::run(&arguments),
        Command::Status(arguments) => status::run(&arguments),
        Command::Watch(arguments) => watch::run(&arguments),
        Command::Off(arguments) => off::run(&arguments),
        Command::Env(arguments) => env::run(&arguments),
        Command::Doctor(arguments) => doctor::run(&arguments),
    };
    code(outcome)
}

/// Opens the window, on a process if one is named, which has to be there.
fn window(pid: Option<u32>, dialled: bool) -> i32 {
    match pid.filter(|pid| discover::one(*pid).is_none()) {
        Some(nobody) => code(Err(LinkError::NoProcess(nobody).into())),
        None => crate::desktop::open(pid, dialled),
    }
}

/// Says a failure on stderr; the exit code.
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
