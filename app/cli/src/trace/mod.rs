//! `redial trace`: holds dials at level trace and prints each call as it ends.

mod call_stream;
mod per_process;

use super::arguments;
use super::change::{self, ChangeRequest};
use super::traced_calls::{CallFormat, CallLines, heading};
use crate::output::{Out, sentence, terminal_columns};
use call_stream::CallStream;
use redial_link::exit::{Exit, Failure};
use redial_text::words::printable;

/// Traces until Ctrl-C, `--count`, a closed pipe, or the end of the process.
pub fn run(arguments: &arguments::TraceArguments) -> Result<Exit, Failure> {
    arguments::check_pattern(&arguments.pattern).map_err(|why| Failure::new(Exit::Usage, why))?;
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

/// Makes the lines of process `pid`, each behind `before` columns of other text.
fn call_lines(pid: u32, arguments: &arguments::TraceArguments, before: usize) -> CallLines {
    let columns = terminal_columns().filter(|_| !arguments.wide);
    let format = match arguments.json {
        true => CallFormat::Json,
        false => CallFormat::Text(columns.map(|columns| columns.saturating_sub(before))),
    };
    // Copies that AppDomains share have a domain of their own.
    let domain = arguments.domain.clone().filter(|_| !arguments.all_domains);
    CallLines::new(pid, format, domain)
}

/// Prints lines to stdout until there are enough.
struct CallPrinter {
    left: u64,
    /// Whether there is nothing to print above the lines any more.
    headed: bool,
}

impl CallPrinter {
    fn new(arguments: &arguments::TraceArguments) -> CallPrinter {
        CallPrinter { left: arguments.count.unwrap_or(u64::MAX), headed: arguments.json }
    }

    /// Prints lines, each behind `before`. Returns whether more are wanted.
    fn print(&mut self, before: &str, lines: Vec<String>) -> Result<bool, Failure> {
        let mut out = Out::new();
        if !lines.is_empty() && !std::mem::replace(&mut self.headed, true) {
            let pid = if before.is_empty() { String::new() } else { format!("{:>8}  ", "PID") };
            out.line(&format!("{pid}{}", heading(false)))?;
        }
        for line in lines {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            out.line(&format!("{before}{line}"))?;
        }
        out.flush()?;
        Ok(self.left > 0)
    }
}
