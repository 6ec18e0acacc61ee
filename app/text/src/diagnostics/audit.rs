//! Wording of the audit's entries.

use super::hresults;
use redial_protocol::diagnostics::{AuditAction, AuditedChange, AuditedOrder, OrderEnd};

/// Words an action. A change by one order is that order's line in a dial set.
pub fn action(action: &AuditAction) -> String {
    match action {
        AuditAction::Changed(one) => change(one),
        AuditAction::Refused(one) => format!("refused: {}", change(one)),
        AuditAction::Cancelled(one) => format!("cancelled: {}", change(one)),
        AuditAction::Undone(one) => format!("undo of {}", change(one)),
        AuditAction::UndoCancelled(one) => format!("cancelled: undo of {}", change(one)),
        AuditAction::MoreOrders { orders } => {
            format!("and {orders} more {} of the same set", if *orders == 1 { "line" } else { "lines" })
        }
        AuditAction::Ended { first, more, reason } => {
            let reason = match reason {
                OrderEnd::Expired => "it expired",
                OrderEnd::SessionEnded => "its session ended",
                OrderEnd::Released => "its controller released it",
            };
            format!("ended, {reason}: {first}{}", others(*more))
        }
        AuditAction::Budget { limit: Some(limit) } => format!("budget = {limit} of a processor"),
        AuditAction::Budget { limit: None } => "budget = off".to_owned(),
        AuditAction::AgentLoaded => "the agent was loaded into the running process".to_owned(),
        AuditAction::RuntimeError { token, hresult } => {
            format!("ReJITError for {:#010x}: {}", token.0, hresults::explanation(*hresult))
        }
    }
}

fn change(change: &AuditedChange) -> String {
    let (AuditedOrder { line, step }, more) = match change {
        AuditedChange::AllOff => return "all off".to_owned(),
        AuditedChange::Orders { first, more } => (first, *more),
    };
    let step =
        step.map(|step| format!(" (it cost {} of a processor; the budget is {})", step.cost, step.limit));
    format!("{line}{}{}", step.unwrap_or_default(), others(more))
}

fn others(more: u64) -> String {
    if more == 0 { String::new() } else { format!(" (and {more} more)") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::diagnostics::samples;

    #[test]
    fn words_each_action() {
        let words: Vec<String> = samples::audit_actions().iter().map(action).collect();
        assert_eq!(
            words,
            [
                "Shop.Cart.* = count",
                "all off",
                "Shop.Cart.* = count (it cost 7 % of a processor; the budget is 5 %) (and 2 more)",
                "refused: Shop.Cart.* = count",
                "cancelled: Shop.Cart.* = count",
                "undo of Shop.Cart.* = count",
                "cancelled: undo of all off",
                "and 1 more line of the same set",
                "and 16 more lines of the same set",
                "ended, it expired: Shop.Cart.* = count",
                "ended, its session ended: Shop.Cart.* = count (and 1 more)",
                "ended, its controller released it: Shop.Cart.* = count",
                "budget = 5 % of a processor",
                "budget = off",
                "the agent was loaded into the running process",
                "ReJITError for 0x06ffff00: the runtime rejected an argument (E_INVALIDARG), HRESULT 0x80070057",
            ]
        );
    }
}
