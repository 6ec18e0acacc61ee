//! `redial watch`: shows live numbers. It changes no dial.

mod notes;
mod per_process;
pub mod screen;
mod stream;
mod sum;
mod threads;

use super::arguments;
use crate::output::sentence;
use redial_link::connect;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use screen::Screen;
use stream::{PROGRAM, announce, ended, watch};

/// Watches until Ctrl-C, `--count`, a closed pipe, or the end of the process.
pub fn run(arguments: &arguments::WatchArguments) -> Result<Exit, Failure> {
    if let Some(pattern) = &arguments.pattern {
        arguments::check_pattern(pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    }
    let interrupts = Interrupts::catch().map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    match arguments.target.only() {
        _ if arguments.sum => sum::run(arguments, &interrupts),
        Some(pid) => {
            let mut screen = Screen::new(pid, arguments);
            let mut session = connect::open(pid, PROGRAM)?;
            interrupts.deliver_to(session.interrupter());
            announce(arguments.interval);
            ended(watch(&mut session, arguments, &mut |dials| screen.show(dials), &|text| sentence(text)))
        }
        None => per_process::run(arguments, &interrupts),
    }
}
