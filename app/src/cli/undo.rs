//! `redial undo`: takes the last change of the orders back, whoever made it.

use super::by_token::Names;
use super::turn::{Sums, catch_interrupts, outcome, release, wait};
use super::{arguments, several};
use crate::exit::{Exit, Failure};
use crate::link::connect;
use crate::link::discover::user_title;
use crate::output::json::UndoneJson;
use crate::output::{Out, turns, words};
use crate::signals::Interrupts;
use redial_protocol::message::{AuditEntry, Command, Reply};

/// Undoes.
pub fn run(arguments: &arguments::Undo) -> Result<Exit, Failure> {
    let interrupts = catch_interrupts()?;
    several::each(&arguments.target, arguments.json, |pid, out| one(pid, arguments, &interrupts, out))
}

fn one(
    pid: u32,
    arguments: &arguments::Undo,
    interrupts: &Interrupts,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let mut session = connect::open(pid, "redial undo")?;
    interrupts.deliver_to(session.interrupter());
    let waited = wait(&mut session, Command::Undo { take: arguments.take })?;
    let Reply::Undone { what, report } = waited.reply else { return Err(session.wrong_reply().into()) };
    if arguments.json {
        out.json(&UndoneJson::new(pid, &what, &report))?;
    } else {
        out.line(&undone(&what, &Names::new(&mut session).readable(&what.order)))?;
        for line in turns::done(&report, None, false) {
            out.line(&line)?;
        }
    }
    out.flush()?;
    if waited.interrupted {
        out.remark("it was done before it could be stopped");
    }
    release(session)?;
    // The orders are as they were, even where none of them matches anything.
    Ok(outcome(&Sums::of(&report), true))
}

/// `order` is that of `what`, in words.
fn undone(what: &AuditEntry, order: &str) -> String {
    let line = |text: &str| words::one_line(text);
    let who = match what.user.as_str() {
        "" => line(&what.program),
        user => format!("{} of user {}", line(&what.program), line(&user_title(user))),
    };
    format!("undone: {order} (by {who}, {})", words::utc(what.t_unix_ms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::turns::tests::report;
    use redial_protocol::reason::Reason;
    use serde_json::json;

    fn what() -> AuditEntry {
        let (user, program) = ("www".into(), "redial app".into());
        AuditEntry { t_unix_ms: 0, user, program, order: "Shop.Cart.* = count".into() }
    }

    #[test]
    fn what_was_undone_is_said() {
        assert_eq!(
            undone(&what(), &what().order),
            "undone: Shop.Cart.* = count (by redial app of user www, 1970-01-01 00:00:00Z)"
        );
        let launcher = AuditEntry { user: String::new(), ..what() };
        assert!(undone(&launcher, "").contains("(by redial app, "));
    }

    #[test]
    fn the_json_has_the_fields_of_a_dial_and_what_was_undone() {
        let (what, report) = (what(), report(2, 1, &[(Reason::Dynamic, 1)]));
        let value = serde_json::to_value(UndoneJson::new(9, &what, &report)).expect("JSON");
        assert_eq!(
            value["undone"],
            json!({"t": 0, "user": "www", "user_name": "www", "program": "redial app", "order": "Shop.Cart.* = count"})
        );
        assert_eq!((&value["pid"], &value["matched"], &value["accepted"]), (&json!(9), &json!(2), &json!(1)));
    }
}
