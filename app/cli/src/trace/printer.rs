//! Prints the lines of traced calls.

use crate::arguments;
use crate::output::{Out, terminal_columns};
use crate::traced_calls::{CallFormat, CallLines, heading};
use redial_link::exit::Failure;

/// Columns of the process id and its gap.
pub(super) const PID_COLUMNS: usize = 10;

/// Makes the lines of process `pid`, each behind `before` columns of other text.
pub(super) fn call_lines(pid: u32, arguments: &arguments::TraceArguments, before: usize) -> CallLines {
    let columns = terminal_columns().filter(|_| !arguments.wide);
    let format = match arguments.json {
        true => CallFormat::Json,
        false => CallFormat::Text(columns.map(|columns| columns.saturating_sub(before))),
    };
    CallLines::new(pid, format, shown_domain(arguments))
}

/// Returns the prefix of the AppDomains to show.
pub(super) fn shown_domain(arguments: &arguments::TraceArguments) -> Option<String> {
    // Copies that AppDomains share have a domain of their own.
    arguments.domain.clone().filter(|_| !arguments.all_domains)
}

/// Prints lines to stdout until there are enough.
pub(super) struct CallPrinter {
    left: u64,
    /// Whether there is nothing to print above the lines any more.
    headed: bool,
}

impl CallPrinter {
    pub(super) fn new(arguments: &arguments::TraceArguments) -> CallPrinter {
        CallPrinter { left: arguments.count.unwrap_or(u64::MAX), headed: arguments.json }
    }

    /// Prints lines, each behind `before`. Returns whether more are wanted.
    pub(super) fn print(&mut self, before: &str, lines: Vec<String>) -> Result<bool, Failure> {
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
