//! `redial off`: every dial off, confirmed by the agent. Works with an agent of any version.

use super::{arguments, several};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::session::AllOff;
use crate::output::json::OffJson;
use crate::output::{Out, words};

/// Turns everything off.
pub fn run(arguments: &arguments::Off) -> Result<Exit, Failure> {
    several::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments.json, out))
}

fn one(pid: u32, json: bool, out: &mut Out) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial off")?;
    let AllOff { reverted, remaining, .. } = session.all_off()?;
    if json {
        out.json(&OffJson { pid, reverted, remaining })?;
    } else {
        out.line(&said(reverted, remaining))?;
    }
    Ok(if remaining == 0 { Exit::Done } else { Exit::Partly })
}

fn said(reverted: u64, remaining: u64) -> String {
    match (reverted, remaining) {
        (0, 0) => "no dial was on".to_owned(),
        (reverted, 0) => {
            format!("every dial is off: {} reverted to the original IL", words::methods(reverted))
        }
        (reverted, remaining) => format!(
            "{} reverted to the original IL, {} not (see `redial status`)",
            words::methods(reverted),
            words::methods(remaining)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_done_is_said_in_numbers() {
        assert_eq!(said(0, 0), "no dial was on");
        assert_eq!(said(1, 0), "every dial is off: 1 method reverted to the original IL");
        assert!(said(2, 1).starts_with("2 methods reverted to the original IL, 1 method not"));
    }
}
