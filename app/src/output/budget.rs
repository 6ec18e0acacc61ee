//! The budget for what dials may cost, in words.
#![forbid(unsafe_code)]

use super::words;
use redial_protocol::cost::{CostBudget, SteppedDown};
use redial_protocol::level::Level;

/// What is said where none stands: what one would do, too.
const NONE: &str =
    "no budget: nothing limits what dials cost; with one, the agent turns the costliest down by itself";

/// What dials may cost, and do.
pub fn standing(budget: &CostBudget) -> String {
    let Some(limit) = budget.limit else {
        return NONE.to_owned();
    };
    let now = match budget.cost {
        Some(cost) => format!("they cost {cost}"),
        None => "cost: not known yet".to_owned(),
    };
    format!("budget: dials may cost {limit} of a processor together; {now}")
}

/// What became of it, a sentence each.
pub fn effects(budget: &CostBudget) -> Vec<String> {
    let mut lines = Vec::new();
    if budget.stepped > 0 {
        lines.push(format!(
            "{} stepped down by the budget: `redial status --all` says which and why, `redial undo` takes the last change \
             back",
            words::count(budget.stepped, "method is", "methods are")
        ));
    }
    if budget.spared > 0 {
        lines.push(format!(
            "{} left alone by it, turned up again after it stepped {} down: {} of that cost is not counted; set it anew to \
             end that",
            words::count(budget.spared, "method is", "methods are"),
            words::them(budget.spared),
            budget.spared_cost
        ));
    }
    lines.extend(budget.problem.as_ref().map(|why| format!("it cannot be kept: {}", words::one_line(why))));
    lines
}

/// Whether what it did last stands, by what the costliest method wants now: who undid it, or turned that dial since, wants
/// something else of it.
pub fn stands(last: &SteppedDown, wanted: Option<Level>) -> bool {
    wanted == Some(last.costliest.1)
}

/// Whether a row says that the budget stepped it down: with that its note on times begins.
pub fn is_stepped(times_note: Option<&str>) -> bool {
    times_note.is_some_and(|note| note.starts_with("stepped down to "))
}

/// What it did last; `name` is the costliest method's, where that is known.
pub fn stepped(last: &SteppedDown, name: Option<&str>) -> String {
    let (_, to, cost) = last.costliest;
    let turned = match to {
        Level::Off => "off".to_owned(),
        level => format!("down to {level}"),
    };
    let who = name.unwrap_or("the costliest method");
    let others = match last.copies.saturating_sub(1) {
        0 => String::new(),
        others => format!(", and {} more", words::grouped(others)),
    };
    format!(
        "the budget turned {who} {turned}{others}: it cost {cost} of a processor; all dials cost {}, and may cost {}",
        last.cost, last.limit
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::cost::Share;
    use redial_protocol::ids::RowId;

    fn budget() -> CostBudget {
        CostBudget { limit: Some(Share(500)), cost: Some(Share(130)), ..CostBudget::default() }
    }

    #[test]
    fn what_dials_may_cost_and_do_is_told() {
        assert_eq!(standing(&CostBudget::default()), NONE);
        assert_eq!(
            standing(&budget()),
            "budget: dials may cost 5 % of a processor together; they cost 1.3 %"
        );
        assert!(standing(&CostBudget { cost: None, ..budget() }).ends_with("together; cost: not known yet"));
        assert!(effects(&budget()).is_empty());
        let all = CostBudget {
            stepped: 1,
            spared: 2,
            spared_cost: Share(720),
            problem: Some("4096 orders stand".into()),
            ..budget()
        };
        let told = effects(&all);
        assert!(told[0].starts_with("1 method is stepped down by the budget"), "{told:#?}");
        assert!(told[1].starts_with("2 methods are left alone") && told[1].contains("7.2 %"), "{told:#?}");
        assert_eq!(told[2], "it cannot be kept: 4096 orders stand");
    }

    #[test]
    fn a_step_is_told_with_its_reason() {
        let last = SteppedDown {
            change: 7,
            copies: 1,
            cost: Share(720),
            limit: Share(500),
            costliest: (RowId(3), Level::Count, Share(700)),
        };
        assert_eq!(
            stepped(&last, Some("Shop!Shop.Cart.Add(int)")),
            "the budget turned Shop!Shop.Cart.Add(int) down to count: it cost 7 % of a processor; all dials cost 7.2 %, and \
             may cost 5 %"
        );
        let off = SteppedDown { copies: 3, costliest: (RowId(3), Level::Off, Share(700)), ..last };
        assert!(stepped(&off, None).starts_with("the budget turned the costliest method off, and 2 more: "));
    }
}
