//! `redial status --agent`: the agent's own status, the standing orders and the recent changes.

use super::queries::ask_agent;
use super::wording::{control_line, kept_line};
use crate::output::json::AgentJson;
use crate::output::table::{Table, text, wide};
use crate::output::{Out, terminal_columns};
use crate::token_names::TokenNames;
use crate::{arguments, save};
use redial_link::discover::user_title;
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_protocol::cost::Cost;
use redial_protocol::dialset::print_order;
use redial_protocol::message::{AgentStatus, AuditEntry};
use redial_protocol::order::StandingOrder;
use redial_text::budget;
use redial_text::diagnostics::{Reader, agent_notes, audit};
use redial_text::{programs, words};

/// Shows the status of the agent.
pub fn show(
    session: &mut Session,
    arguments: &arguments::StatusArguments,
    out: &mut Out,
) -> Result<Exit, Failure> {
    let status = ask_agent(session)?;
    let (orders, undoable) = save::ask(session)?;
    if arguments.json {
        out.json(&AgentJson::new(session.pid(), &status, &orders, undoable))?;
    } else {
        let live = session.facts().live;
        let mut names = TokenNames::new(session);
        let mut readable = |order: &str| names.readable(order);
        for line in lines(&status, &orders, undoable, live, terminal_columns(), &mut readable) {
            out.line(&line)?;
        }
    }
    Ok(Exit::Done)
}

fn lines(
    status: &AgentStatus,
    orders: &[StandingOrder],
    undoable: u32,
    live: u64,
    columns: Option<usize>,
    readable: &mut impl FnMut(&str) -> String,
) -> Vec<String> {
    let mut lines = vec![
        control_line(status),
        kept_line(status),
        format!("live: {}", words::methods(live)),
        format!("changes that `undo` can revert: {undoable}"),
        format!("memory of the agent: about {}", words::bytes(status.memory_bytes)),
    ];
    for budget in &status.budgets {
        let name = agent_notes::resource(budget.resource);
        lines.push(format!(
            "capacity used for {name}: {} of {}",
            words::grouped(budget.used),
            words::grouped(budget.limit)
        ));
    }
    if status.budgets.iter().any(|budget| budget.used > 0) {
        lines.push(
            "methods keep their capacity after their dials go off, until their module is unloaded".to_owned(),
        );
    }
    lines.push(format!(
        "modules whose first calls may be missing: {}",
        words::grouped(status.missed_deadlines)
    ));
    let faults = words::grouped(status.guard_trips);
    lines.push(format!("internal errors of the agent, caught before they reached the program: {faults}"));
    lines.extend(agent_notes::switched_off(status.guard_trips));
    lines.extend(costs(&status.costs));
    lines.extend(status.callers_picoseconds.map(callers));
    if status.exceptions_reported {
        lines.push("the runtime reports exceptions, so each one costs a little more".to_owned());
    }
    lines.push(budget::summary(&status.cost_budget));
    lines.extend(budget::effects(&status.cost_budget, Reader::CommandLine));
    lines.extend(agent_notes::remainders(&status.remains));
    if !orders.is_empty() {
        lines.push(String::new());
        let mut table = Table::new(&[wide("ORDER"), text("LIFETIME"), wide("SET BY")]);
        for standing in orders {
            let order = readable(&print_order(&standing.order));
            table.row(vec![order, save::lifetime(standing.lifetime), save::author(standing)]);
        }
        lines.extend(table.lines(columns));
    }
    if !status.audit.is_empty() {
        lines.push(String::new());
        lines.extend(audit(status, readable).lines(columns));
    }
    lines
}

/// Formats the cost of a call at each level.
fn costs(costs: &[Cost]) -> Option<String> {
    let each = |cost: &Cost| format!("{} at {}", words::picoseconds(cost.picoseconds), cost.level);
    let each: Vec<String> = costs.iter().map(each).collect();
    (!each.is_empty())
        .then(|| format!("a dialled call costs about {}, measured in this process", words::all(&each)))
}

/// Formats the extra cost of counting callers.
fn callers(picoseconds: u64) -> String {
    format!("a timed call costs about {} more if its callers are counted", words::picoseconds(picoseconds))
}

/// Makes the table of recent changes, oldest first.
fn audit(status: &AgentStatus, readable: &mut impl FnMut(&str) -> String) -> Table {
    let mut table = Table::new(&[text("WHEN"), text("USER"), text("PROGRAM"), wide("ORDER")]);
    for entry in &status.audit {
        let AuditEntry { t_unix_ms, user, program, action } = entry;
        let order = readable(&audit::action(action));
        table.row(vec![words::utc(*t_unix_ms), user_title(user), programs::title(program), order]);
    }
    table
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::save::tests::standing;
    use redial_protocol::cost::CostBudget;
    use redial_protocol::diagnostics::{AuditAction, AuditedChange, Remainder, Resource};
    use redial_protocol::level::Level;
    use redial_protocol::message::{Holder, ResourceUsage};
    use serde_json::json;

    /// Returns a status with values in every field.
    pub fn agent_status() -> AgentStatus {
        AgentStatus {
            control: Some(Holder { pid: 7, program: "redial app".into() }),
            held: 0,
            kept: 2,
            memory_bytes: 3 << 20,
            budgets: vec![ResourceUsage { resource: Resource::DialledMethods, used: 2, limit: 65_536 }],
            clr_kept_bytes: 2_500,
            missed_deadlines: 0,
            guard_trips: 0,
            audit: vec![AuditEntry {
                t_unix_ms: 0,
                user: "www".into(),
                program: "redial run".into(),
                action: AuditAction::Changed(AuditedChange::order("Shop.Cart.* = count")),
            }],
            remains: vec![Remainder::RecompiledCallers { methods: 1 }],
            costs: vec![Cost { level: Level::Count, picoseconds: 640 }],
            cost_budget: CostBudget::default(),
            callers_picoseconds: Some(3_200),
            exceptions_reported: false,
        }
    }

    #[test]
    fn json_has_the_documented_fields() {
        let (status, orders) = (agent_status(), standing());
        let value = serde_json::to_value(AgentJson::new(9, &status, &orders, 3)).expect("JSON");
        for field in [
            "control",
            "kept",
            "held",
            "memory",
            "budgets",
            "clr_kept_bytes",
            "audit",
            "pid",
            "undoable",
            "costs",
            "cost_budget",
            "callers_ns",
        ] {
            assert!(value.get(field).is_some(), "{field} is missing in {value}");
        }
        assert_eq!(value["audit"][0]["order"], "Shop.Cart.* = count");
        assert_eq!(
            value["orders"][1],
            json!({
                "pattern": "Shop.Order.*", "level": "count", "domain": null, "copy": null, "all_domains": false,
                "slower_than_ns": null, "failed_only": false, "callers": false, "rate": null, "depth": null, "stack": false,
                "when": null, "stand": "kept", "remaining_ms": 90_000, "user": "www",
                "user_name": "www", "by": {"pid": 7, "program": "redial\ndial"},
            })
        );
        assert_eq!(
            (&value["orders"][2]["stand"], &value["orders"][2]["remaining_ms"]),
            (&json!("held"), &json!(null))
        );
    }

    #[test]
    fn lists_orders_and_changes_with_their_authors() {
        let mut readable = |order: &str| order.replace("0x06000001", "Shop.Main");
        let lines = lines(&agent_status(), &standing(), 3, 2, None, &mut readable);
        let has = |part: &str| lines.iter().any(|line| line.contains(part));
        assert!(
            has("www   redial run  Shop.Cart.*") && has("changes that `undo` can revert: 3"),
            "{lines:#?}"
        );
        assert!(has("a dialled call costs about 0.64 ns at count, measured in this process"), "{lines:#?}");
        assert!(has("a timed call costs about 3.20 ns more"), "{lines:#?}");
        let mut by_number = agent_status();
        by_number.audit[0].user = "0".into();
        by_number.audit[0].action = AuditAction::Changed(AuditedChange::order("Shop!0x06000001 = count"));
        let audit = audit(&by_number, &mut readable).lines(None);
        assert!(audit.iter().any(|line| line.contains("Shop!Shop.Main = count")), "{audit:#?}");
        #[cfg(unix)]
        assert!(audit.iter().any(|line| line.contains("root (0)  redial run")), "{audit:#?}");
        #[cfg(not(unix))]
        assert!(audit.iter().any(|line| line.contains("0     redial run")), "{audit:#?}");
        let order = lines.iter().find(|line| line.starts_with("Shop.Order.*")).expect("a row");
        let cells: Vec<&str> = order.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(
            cells,
            ["Shop.Order.* = count", "kept for another 1m 30s", "redial dial (pid 7, user www)"]
        );
    }
}
