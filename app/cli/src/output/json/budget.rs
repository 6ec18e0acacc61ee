//! The overhead budget as JSON.

use redial_protocol::cost::{BudgetStep, CostBudget, Share};
use redial_protocol::level::Level;
use redial_text::diagnostics::agent_notes;
use serde::Serialize;

/// The budget and the current cost, in percent of one processor.
#[derive(Debug, Serialize)]
pub struct CostBudgetJson {
    /// Null without a budget.
    budget_percent: Option<f64>,
    /// Null if no controller is connected or no dial is on.
    cost_percent: Option<f64>,
    /// The number of methods that the budget stepped down and nobody changed since.
    stepped_down: u64,
    /// The number of methods that the budget ignores because they were raised again.
    left_alone: u64,
    left_alone_cost_percent: f64,
    /// Why the budget cannot be kept.
    problem: Option<String>,
    /// The last step of the budget.
    last: Option<SteppedJson>,
}

#[derive(Debug, Serialize)]
struct SteppedJson {
    change: u64,
    methods: u64,
    /// The cost of all dials before the step.
    cost_percent: f64,
    budget_percent: f64,
    /// The new level of the costliest method.
    costliest_to: Level,
    costliest_cost_percent: f64,
}

impl From<&CostBudget> for CostBudgetJson {
    fn from(budget: &CostBudget) -> Self {
        let last = |last: &BudgetStep| SteppedJson {
            change: last.change,
            methods: last.copies,
            cost_percent: last.cost.percent(),
            budget_percent: last.limit.percent(),
            costliest_to: last.costliest.1,
            costliest_cost_percent: last.costliest.2.percent(),
        };
        CostBudgetJson {
            budget_percent: budget.limit.map(Share::percent),
            cost_percent: budget.cost.map(Share::percent),
            stepped_down: budget.stepped,
            left_alone: budget.spared,
            left_alone_cost_percent: budget.spared_cost.percent(),
            problem: budget.problem.as_ref().map(agent_notes::budget_problem),
            last: budget.last.as_ref().map(last),
        }
    }
}

/// `budget`.
#[derive(Debug, Serialize)]
pub struct BudgetJson {
    pid: u32,
    #[serde(flatten)]
    budget: CostBudgetJson,
}

impl BudgetJson {
    /// Makes the object for process `pid`.
    pub fn new(pid: u32, budget: &CostBudget) -> Self {
        BudgetJson { pid, budget: budget.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_json_has_the_documented_fields() {
        let budget = CostBudget { limit: Some(Share(250)), spared: 1, ..CostBudget::default() };
        assert_eq!(
            serde_json::to_value(BudgetJson::new(9, &budget)).expect("JSON"),
            json!({
                "pid": 9, "budget_percent": 2.5, "cost_percent": null, "stepped_down": 0, "left_alone": 1,
                "left_alone_cost_percent": 0.0, "problem": null, "last": null,
            })
        );
    }
}
