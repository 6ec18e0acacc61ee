//! The truth: call counts that test programs print about themselves. It consists of `truth METHOD CALLS` lines,
//! ended by `end` if the host continues afterwards.

use std::collections::BTreeMap;

use anyhow::{Context, Result};

use crate::host::Host;

/// Calls by method. Names have the form of patterns (`Shop.Cart.Add(int)`, or `Lib0!Lib0.Worker.First(int)`).
pub type Truth = BTreeMap<String, u64>;

/// Returns the truth lines of a whole output and skips all others.
///
/// # Errors
/// When a number cannot be parsed; the error contains the line.
pub fn read(output: &str) -> Result<Truth> {
    output.lines().filter_map(|line| line.strip_prefix("truth ")).map(entry).collect()
}

/// Sends `command` (`truth`, or `loop off`) and reads the answer up to its `end`.
///
/// # Errors
/// Fails like [`Host::say`] and [`Host::next_line`], or when a line is not a truth line.
pub fn ask(host: &mut Host, command: &str) -> Result<Truth> {
    host.say(command)?;
    let mut truth = Truth::new();
    loop {
        let line = host.next_line()?;
        if line == "end" {
            return Ok(truth);
        }
        let rest = line.strip_prefix("truth ").with_context(|| format!("{command}: answered {line:?}"))?;
        truth.extend([entry(rest)?]);
    }
}

/// Parses `METHOD CALLS`. The method may contain spaces between its parameters.
fn entry(text: &str) -> Result<(String, u64)> {
    let (method, calls) = text.rsplit_once(' ').with_context(|| format!("not METHOD CALLS: {text:?}"))?;
    let calls = calls.parse().with_context(|| format!("not a number of calls: {text:?}"))?;
    Ok((method.to_owned(), calls))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_methods_with_spaces_and_skips_other_lines() {
        let truth = read("hello\ntruth A.B.C(int, long) 12\nresult 1\ntruth A.B.D() 0\n").unwrap();
        assert_eq!(truth, Truth::from([("A.B.C(int, long)".into(), 12), ("A.B.D()".into(), 0)]));
    }

    #[test]
    fn rejects_lines_without_a_number() {
        assert!(read("truth A.B.C() many").unwrap_err().to_string().contains("A.B.C() many"));
    }
}
