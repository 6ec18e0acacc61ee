//! `redial off`: turns every dial off, confirmed by the agent. Works with an agent of any version.

use super::{arguments, multi_process};
use crate::output::Out;
use crate::output::json::OffJson;
use redial_link::connect;
use redial_link::error::LinkError;
use redial_link::exit::{Exit, Failure};
use redial_link::session::AllOffResult;
use redial_text::words;
use std::time::{Duration, Instant};

/// How long it tries again. An agent with too many sessions closes some, and other clients may connect without end.
const PERSISTENCE: Duration = Duration::from_secs(3);
/// Pause before it tries again.
const PAUSE: Duration = Duration::from_millis(20);

/// Turns everything off.
pub fn run(arguments: &arguments::OffArguments) -> Result<Exit, Failure> {
    multi_process::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments.json, out))
}

fn one(pid: u32, json: bool, out: &mut Out) -> Result<Exit, Failure> {
    let AllOffResult { reverted, remaining, .. } = all_off(pid)?;
    if json {
        out.json(&OffJson { pid, reverted, remaining })?;
    } else {
        out.line(&result_text(reverted, remaining))?;
    }
    Ok(if remaining == 0 { Exit::Done } else { Exit::Partly })
}

/// Turns everything off. Tries again while the agent closes its connections.
fn all_off(pid: u32) -> Result<AllOffResult, LinkError> {
    let deadline = Instant::now() + PERSISTENCE;
    loop {
        match connect::open(pid, "redial off").and_then(|mut session| session.all_off()) {
            Err(LinkError::Closed { .. }) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            result => return result,
        }
    }
}

fn result_text(reverted: u64, remaining: u64) -> String {
    match (reverted, remaining) {
        (0, 0) => "no dial was on".to_owned(),
        (reverted, 0) => {
            format!("every dial is off: {} reverted to the original IL", words::methods(reverted))
        }
        (reverted, remaining) => format!(
            "{} reverted to the original IL, {} not yet (see `redial status`)",
            words::methods(reverted),
            words::methods(remaining)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_how_many_methods_reverted() {
        assert_eq!(result_text(0, 0), "no dial was on");
        assert_eq!(result_text(1, 0), "every dial is off: 1 method reverted to the original IL");
        assert!(result_text(2, 1).starts_with("2 methods reverted to the original IL, 1 method not yet"));
    }
}
