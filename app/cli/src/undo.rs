//! `redial undo`: undoes the last change of the orders, whoever made it.

use super::change::{ChangeTotals, catch_interrupts, outcome, release, wait};
use super::token_names::TokenNames;
use super::{arguments, multi_process};
use crate::output::json::UndoneJson;
use crate::output::{Out, changes};
use redial_link::connect;
use redial_link::discover::user_title;
use redial_link::exit::{Exit, Failure};
use redial_link::signals::Interrupts;
use redial_protocol::message::{AuditEntry, Reply, WireCommand};
use redial_text::diagnostics::{Reader, audit, change_warnings};
use redial_text::{programs, words};

/// Undoes the last change in each process.
pub fn run(arguments: &arguments::UndoArguments) -> Result<Exit, Failure> {
    let interrupts = catch_interrupts()?;
    multi_process::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments, &interrupts, out))
}

fn one(
    pid: u32,
    arguments: &arguments::UndoArguments,
    interrupts: &Interrupts,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial undo")?;
    interrupts.deliver_to(session.interrupter());
    let waited = wait(&mut session, WireCommand::Undo { take: arguments.take })?;
    let Reply::Undone { entry, report } = waited.reply else { return Err(session.wrong_reply().into()) };
    let warnings = change_warnings::sentences(&report.warnings, Reader::CommandLine);
    if arguments.json {
        out.json(&UndoneJson::new(pid, &entry, &report, &warnings))?;
    } else {
        out.line(&undone(&entry, &TokenNames::new(&mut session).readable(&audit::action(&entry.action))))?;
        for line in changes::done(&report, &warnings, None, false) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    if waited.interrupted {
        out.remark("the undo finished before it could be stopped");
    }
    release(session)?;
    // The previous orders are restored even if none of them matches anything.
    Ok(outcome(&ChangeTotals::of(&report), true))
}

/// Formats the undone change; `order` is its order with method names.
fn undone(what: &AuditEntry, order: &str) -> String {
    let program = programs::title(&what.program);
    let who = match what.user.as_str() {
        "" => program,
        user => format!("{program} of user {}", words::one_line(&user_title(user))),
    };
    format!("undone: {order} (by {who}, {})", words::utc(what.t_unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::diagnostics::{AuditAction, AuditedChange};
    use redial_protocol::reason::Reason;
    use redial_text::fixtures::report;
    use serde_json::json;

    fn what() -> AuditEntry {
        let (user, program) = ("www".into(), "redial app".into());
        AuditEntry {
            t_unix_ms: 0,
            user,
            program,
            action: AuditAction::Changed(AuditedChange::order("Shop.Cart.* = count")),
        }
    }

    #[test]
    fn reports_the_undone_change() {
        assert_eq!(
            undone(&what(), &audit::action(&what().action)),
            "undone: Shop.Cart.* = count (by the Redial window of user www, 1970-01-01 00:00:00Z)"
        );
        let launcher = AuditEntry { user: String::new(), ..what() };
        assert!(undone(&launcher, "").contains("(by the Redial window, "));
    }

    #[test]
    fn json_has_the_fields_of_a_dial_and_the_undone_change() {
        let (what, report) = (what(), report(2, 1, &[(Reason::Dynamic, 1)]));
        let value = serde_json::to_value(UndoneJson::new(9, &what, &report, &[])).expect("JSON");
        assert_eq!(
            value["undone"],
            json!({"t": 0, "user": "www", "user_name": "www", "program": "redial app", "order": "Shop.Cart.* = count"})
        );
        assert_eq!((&value["pid"], &value["matched"], &value["accepted"]), (&json!(9), &json!(2), &json!(1)));
    }
}
