//! `redial budget`: what dials may cost together, shown or set.

use super::turn::{catch_interrupts, release, wait};
use super::{arguments, several, status};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::output::json::BudgetJson;
use crate::output::{Out, budget};
use crate::signals::Interrupts;
use redial_protocol::message::{Command, Reply};

/// Shows it, or sets it first.
pub fn run(arguments: &arguments::Budget) -> Result<Exit, Failure> {
    let interrupts = catch_interrupts()?;
    several::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments, &interrupts, out))
}

fn one(
    pid: u32,
    arguments: &arguments::Budget,
    interrupts: &Interrupts,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial budget")?;
    interrupts.deliver_to(session.interrupter());
    let stands = match arguments.percent {
        Some(arguments::Wanted(limit)) => {
            let waited = wait(&mut session, Command::SetBudget { limit, take: arguments.take })?;
            let Reply::Budget(stands) = waited.reply else { return Err(session.wrong_reply().into()) };
            stands
        }
        None => status::ask_agent(&mut session)?.cost_budget,
    };
    if arguments.json {
        out.json(&BudgetJson::new(pid, &stands))?;
    } else {
        out.line(&budget::standing(&stands))?;
        for line in budget::effects(&stands) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    if arguments.percent.is_some() {
        release(session)?;
    }
    Ok(Exit::Done)
}
