//! `redial trace`: holds dials at level trace and prints each call as it ends.

mod call_stream;
mod per_process;
mod printer;

use super::arguments;
use super::change::{self, ChangeRequest};
use crate::output::sentence;
use call_stream::CallStream;
use printer::{CallPrinter, call_lines};
use redial_link::exit::{Exit, Failure};
use redial_text::words::printable;

/// Traces until Ctrl-C, `--count`, a closed pipe, or the end of the process.
pub fn run(arguments: &arguments::TraceArguments) -> Result<Exit, Failure> {
    arguments::check_pattern(&arguments.pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
    let condition = arguments.when.as_deref();
    arguments::check_condition(condition).map_err(|why| Failure::new(Exit::Usage, why))?;
    let interrupts = change::catch_interrupts()?;
    let wanted = ChangeRequest {
        target: &arguments.target,
        program: "redial trace",
        name: format!("'{}'", printable(&arguments.pattern)),
        orders: vec![arguments.order()],
        lines: vec![],
        options: &arguments.change(),
    };
    let Some(pid) = arguments.target.only() else {
        return per_process::run(&wanted, arguments, &interrupts);
    };
    let mut printer = CallPrinter::new(arguments);
    let mut stream = CallStream::new(&wanted, call_lines(pid, arguments, 0), &|text| sentence(text));
    stream.run(pid, &interrupts, &mut |lines| printer.print("", lines))
}
