//! `redial trace`: holds dials at level trace and prints each call as it ends, or writes it to a file.

mod call_stream;
mod per_process;
mod perfetto;
mod printer;

use super::arguments;
use super::change::{self, ChangeRequest};
use crate::output::sentence;
use crate::traced_calls::CallLines;
use call_stream::CallStream;
use printer::{CallPrinter, PID_COLUMNS, call_lines};
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
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
    match &arguments.perfetto {
        Some(path) => perfetto::run(&wanted, arguments, path, &interrupts),
        None => print(&wanted, arguments, &interrupts),
    }
}

/// Prints the calls to stdout.
fn print(
    wanted: &ChangeRequest<'_>,
    arguments: &arguments::TraceArguments,
    interrupts: &Interrupts,
) -> Result<Exit, Failure> {
    let mut printer = CallPrinter::new(arguments);
    if let Some(pid) = arguments.target.only() {
        let lines = call_lines(pid, arguments, 0);
        let mut stream = CallStream::new(wanted, lines, &CallLines::line, &|text| sentence(text));
        return stream.run(pid, interrupts, &mut |lines| printer.print("", lines));
    }
    let members = arguments.target.find()?;
    let lines = |pid| call_lines(pid, arguments, PID_COLUMNS);
    per_process::run(wanted, &members, interrupts, (&lines, &CallLines::line), &mut |pid, lines| {
        let before = if arguments.json { String::new() } else { format!("{pid:>8}  ") };
        printer.print(&before, lines)
    })
}
