//! `redial budget`: shows or sets the overhead budget of all dials.

use super::change::{catch_interrupts, release, wait};
use super::{arguments, multi_process, status};
use crate::output::Out;
use crate::output::json::BudgetJson;
use redial_link::connect;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_protocol::message::{Reply, WireCommand};
use redial_text::budget;
use redial_text::diagnostics::Reader;

/// Sets the budget if one is given, then shows it.
pub fn run(arguments: &arguments::BudgetArguments) -> Result<Exit, Failure> {
    let interrupts = catch_interrupts()?;
    multi_process::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments, &interrupts, out))
}

fn one(
    pid: u32,
    arguments: &arguments::BudgetArguments,
    interrupts: &Interrupts,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial budget")?;
    interrupts.deliver_to(session.interrupter());
    let state = match arguments.percent {
        Some(arguments::BudgetLimit(limit)) => {
            let waited = wait(&mut session, WireCommand::SetBudget { limit, take: arguments.take })?;
            let Reply::Budget(state) = waited.reply else { return Err(session.wrong_reply().into()) };
            state
        }
        None => status::ask_agent(&mut session)?.cost_budget,
    };
    if arguments.json {
        out.json(&BudgetJson::new(pid, &state))?;
    } else {
        out.line(&budget::summary(&state))?;
        for line in budget::effects(&state, Reader::CommandLine) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    if arguments.percent.is_some() {
        release(session)?;
    }
    Ok(Exit::Done)
}
