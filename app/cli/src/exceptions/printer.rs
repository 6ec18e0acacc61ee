//! Prints exceptions of all processes, and their tables at the end.

use super::rows::heading;
use crate::arguments;
use crate::output::Out;
use redial_link::exit::Failure;

/// Prints lines to stdout until there are enough.
pub(super) struct ExceptionPrinter {
    left: u64,
    /// Whether there is nothing to print above the lines any more.
    headed: bool,
}

impl ExceptionPrinter {
    pub(super) fn new(arguments: &arguments::ExceptionsArguments) -> ExceptionPrinter {
        ExceptionPrinter { left: arguments.count.unwrap_or(u64::MAX), headed: arguments.json }
    }

    /// Prints lines, each behind `before`: exceptions, or the lines `at_end`. Returns whether more exceptions are wanted.
    pub(super) fn print(&mut self, before: &str, lines: Vec<String>, at_end: bool) -> Result<bool, Failure> {
        let mut out = Out::new();
        if !at_end && !lines.is_empty() && !std::mem::replace(&mut self.headed, true) {
            let pid = if before.is_empty() { String::new() } else { format!("{:>8}  ", "PID") };
            out.line(&format!("{pid}{}", heading()))?;
        }
        for line in lines {
            if !at_end {
                if self.left == 0 {
                    break;
                }
                self.left -= 1;
            }
            out.line(&format!("{before}{line}"))?;
        }
        out.flush()?;
        Ok(self.left > 0)
    }
}
