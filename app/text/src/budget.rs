//! Wording of the overhead budget.

use super::diagnostics::{Reader, agent_notes};
use super::words;
use redial_protocol::cost::{BudgetStep, CostBudget};
use redial_protocol::diagnostics::TimesNote;
use redial_protocol::level::Level;

/// The sentence without a budget.
const NONE: &str = "no budget is set; with one, the agent automatically lowers the costliest dials";

/// Returns the sentence about the budget and the current cost.
pub fn summary(budget: &CostBudget) -> String {
    let Some(limit) = budget.limit else {
        return NONE.to_owned();
    };
    let now = match budget.cost {
        Some(cost) => format!("they cost {cost}"),
        None => "their cost is not known yet".to_owned(),
    };
    format!("budget: all dials together may cost {limit} of a processor; {now}")
}

/// Returns the effects of the budget, one sentence each.
pub fn effects(budget: &CostBudget, reader: Reader) -> Vec<String> {
    let mut lines = Vec::new();
    if budget.stepped > 0 {
        let methods = words::count(budget.stepped, "method is", "methods are");
        let look = reader.choose(
            "`redial status --all` shows which and why, `redial undo` undoes the last change",
            "the details of each say why, and “Undo the budget's last step” undoes the last change",
        );
        lines.push(format!("{methods} stepped down by the budget; {look}"));
    }
    if budget.spared > 0 {
        lines.push(format!(
            "{} exempt from the budget after being raised again; {} of cost is not counted; set the budget again to \
             include {}",
            words::count(budget.spared, "method is", "methods are"),
            budget.spared_cost,
            words::them(budget.spared)
        ));
    }
    lines.extend(
        budget
            .problem
            .as_ref()
            .map(|problem| format!("the budget cannot be kept: {}", agent_notes::budget_problem(problem))),
    );
    lines
}

/// Returns whether the budget's last step still applies: the wanted level of its costliest method is unchanged.
pub fn still_applies(last: &BudgetStep, wanted: Option<Level>) -> bool {
    wanted == Some(last.costliest.1)
}

/// Returns whether the note of a row says that the budget stepped it down.
pub fn is_stepped(times_note: Option<&TimesNote>) -> bool {
    times_note.is_some_and(|note| note.stepped_down.is_some())
}

/// Returns the sentence about the budget's last step; `name` is that of the costliest method, if known.
pub fn stepped(last: &BudgetStep, name: Option<&str>) -> String {
    let (_, to, cost) = last.costliest;
    let turned = match to {
        Level::Off => "off".to_owned(),
        level => format!("down to {level}"),
    };
    let method = name.unwrap_or("the costliest method");
    let others = match last.copies.saturating_sub(1) {
        0 => String::new(),
        others => format!(", and {} more", words::grouped(others)),
    };
    format!(
        "the budget turned {method} {turned}{others}: it cost {cost} of a processor; all dials cost {}, the limit is {}",
        last.cost, last.limit
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::cost::Share;
    use redial_protocol::diagnostics::BudgetProblem;
    use redial_protocol::ids::RowId;

    fn budget() -> CostBudget {
        CostBudget { limit: Some(Share(500)), cost: Some(Share(130)), ..CostBudget::default() }
    }

    #[test]
    fn describes_the_budget_and_its_effects() {
        assert_eq!(summary(&CostBudget::default()), NONE);
        assert_eq!(
            summary(&budget()),
            "budget: all dials together may cost 5 % of a processor; they cost 1.3 %"
        );
        assert!(
            summary(&CostBudget { cost: None, ..budget() })
                .ends_with("of a processor; their cost is not known yet")
        );
        assert!(effects(&budget(), Reader::Window).is_empty());
        let all = CostBudget {
            stepped: 1,
            spared: 2,
            spared_cost: Share(720),
            problem: Some(BudgetProblem::NoRoomForOrder { limit: 4096 }),
            ..budget()
        };
        let lines = effects(&all, Reader::Window);
        assert!(lines[0].starts_with("1 method is stepped down by the budget"), "{lines:#?}");
        assert!(!lines[0].contains("redial"), "the window names no commands: {lines:#?}");
        assert!(lines[1].starts_with("2 methods are exempt") && lines[1].contains("7.2 %"), "{lines:#?}");
        assert!(lines[2].starts_with("the budget cannot be kept: 4096 orders already stand"), "{lines:#?}");
    }

    #[test]
    fn describes_a_step_with_its_reason() {
        let last = BudgetStep {
            change: 7,
            copies: 1,
            cost: Share(720),
            limit: Share(500),
            costliest: (RowId(3), Level::Count, Share(700)),
        };
        assert_eq!(
            stepped(&last, Some("Shop!Shop.Cart.Add(int)")),
            "the budget turned Shop!Shop.Cart.Add(int) down to count: it cost 7 % of a processor; all dials cost 7.2 %, the \
             limit is 5 %"
        );
        let off = BudgetStep { copies: 3, costliest: (RowId(3), Level::Off, Share(700)), ..last };
        assert!(stepped(&off, None).starts_with("the budget turned the costliest method off, and 2 more: "));
    }
}
