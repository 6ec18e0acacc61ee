//! The budget limits the cost of all dials together. While one stands, the ReJIT thread, which wakes once a second
//! anyway, checks their present cost. It steps the costliest dials down through orders, as a user would, so that
//! ledger, transitions, audit and undo treat both alike. It never steps up, and leaves dials that a user raises
//! again alone until a new budget is set.
#![forbid(unsafe_code)]

use super::cost_meter::{ActiveDial, CostMeter};
use super::worker::Worker;
use crate::audit;
use crate::inbox::{Progress, Responder};
use crate::ledger::copy_identity::CopyIdentity;
use crate::ledger::row::Row;
use crate::ledger::state::LedgerState;
use crate::planner::budget::{Costs, Step};
use crate::planner::{BudgetStepOrigin, NewOrder, OrderAuthor, OrderSeq};
use crate::probes::call_cost;
use redial_protocol::cost::{BudgetStep, CostBudget, Share};
use redial_protocol::diagnostics::{AuditAction, AuditedOrder, BudgetProblem, Limit, SteppedDown};
use redial_protocol::dialset::print_order;
use redial_protocol::ids::RowId;
use redial_protocol::limits::{MAX_PATTERN, MAX_STANDING_ORDERS};
use redial_protocol::message::Refusal;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two checks.
const PERIOD: Duration = Duration::from_secs(1);
/// Its name in the audit and in the list of orders.
const PROGRAM: &str = "the budget";

impl Worker {
    /// Sets the budget, which ends the exemption of spared dials.
    pub(super) fn set_budget(&mut self, limit: Option<Share>, by: &OrderAuthor) -> CostBudget {
        self.meter = CostMeter::new(limit);
        self.context.ledger.change(|ledger, now| {
            for id in rows_that(ledger, |row| row.wanted.spared) {
                if let Some(row) = ledger.row_mut(id) {
                    row.wanted.spared = false;
                }
                ledger.record_transition(id, now);
            }
        });
        self.context.audit.note(&by.user, &by.program, AuditAction::Budget { limit });
        // Checks present dials from now on.
        self.check_costs();
        self.publish_budget()
    }

    /// Checks the cost of dials, if it is time, and steps some down if they are too costly.
    pub(super) fn check_costs(&mut self) {
        let now = Instant::now();
        let Some(limit) = self.meter.budget.limit().filter(|_| now >= self.meter.due) else { return };
        self.meter.due = now + PERIOD;
        let running: Vec<ActiveDial> = {
            let ledger = self.context.ledger.lock();
            ledger.rows().iter().filter_map(ActiveDial::of).collect()
        };
        if running.is_empty() {
            (self.meter.last_snapshot, self.meter.costs) = (None, None);
            self.publish_budget();
            return;
        }
        let is_first = self.meter.last_snapshot.is_none();
        let dialled = self.meter.read(&running);
        if is_first {
            return;
        }
        let calls = call_cost::per_call(self.context.settings.highest_level());
        let (costs, steps) = self.meter.budget.check(&calls, &dialled);
        self.meter.costs = Some(costs);
        if !steps.is_empty() {
            self.step_down(&steps, limit, costs);
            // Their cost from now on differs.
            self.meter.last_snapshot = None;
        } else if costs.all <= limit {
            self.meter.problem = None;
        }
        self.publish_budget();
    }

    fn step_down(&mut self, steps: &[Step], limit: Share, costs: Costs) {
        let begun = Instant::now();
        let by = OrderAuthor {
            user: audit::own_user().to_owned(),
            program: PROGRAM.into(),
            pid: std::process::id(),
        };
        let by = Arc::new(by);
        let room = MAX_STANDING_ORDERS.saturating_sub(self.orders.len());
        let stepped: Vec<(Step, NewOrder)> = steps
            .iter()
            .filter_map(|step| Some((*step, self.stepped(step, limit, &by)?)))
            .take(room)
            .collect();
        let Some((first, _)) = stepped.first() else {
            let limit = MAX_STANDING_ORDERS as u64;
            self.meter.problem = Some(BudgetProblem::NoRoomForOrder { limit });
            return;
        };
        let (costliest, copies) = ((first.row, first.to, first.cost.rounded()), stepped.len() as u64);
        let audited = |(step, new): &(Step, NewOrder)| {
            let step = SteppedDown { to: step.to, cost: step.cost.rounded(), limit };
            AuditedOrder { line: print_order(&new.order), step: Some(step) }
        };
        let audited = stepped.iter().map(audited).collect();
        let before = self.orders.clone();
        let new = stepped.into_iter().map(|(_, new)| new).collect();
        match self.add(new, audited, true, &Progress::silent()) {
            Ok(entered) => {
                let entered = self.record(entered, before, None, by, Progress::silent(), begun);
                let cost = costs.all.rounded();
                self.meter.last =
                    entered.made().map(|change| BudgetStep { change, copies, cost, limit, costliest });
                self.meter.problem = None;
                self.carry_out(entered, Responder::new(drop));
            }
            Err(refusal) => {
                self.orders.replace_by(before);
                self.context.orders.anticipate(&self.orders);
                self.meter.problem = Some(problem(&refusal));
            }
        }
    }

    /// Returns the order that steps a row down, with the lifetime of its present order; None if the row has no
    /// standing order any more.
    fn stepped(&self, step: &Step, limit: Share, by: &Arc<OrderAuthor>) -> Option<NewOrder> {
        let (identity, deciding_order): (Arc<CopyIdentity>, OrderSeq) = {
            let ledger = self.context.ledger.lock();
            let row = ledger.row(step.row)?;
            (Arc::clone(&row.identity), row.wanted.deciding_order?)
        };
        let standing = self.orders.get(deciding_order)?;
        let of_person = standing.stepped.map_or(deciding_order, |stepped| stepped.of);
        let is_it = |text: &String| Pattern::parse(text).is_ok_and(|pattern| identity.matches(&pattern));
        let name = Some(identity.full_name()).filter(|name| name.len() <= MAX_PATTERN).filter(is_it);
        let several =
            self.context.modules.all().iter().filter(|one| one.name == identity.module.name).count() > 1;
        // A token is only valid in one module.
        let key = (several || name.is_none()).then_some(identity.module.key);
        let text = name.unwrap_or_else(|| format!("{}!0x{:08x}", identity.module.name, identity.token));
        let pattern = Pattern::parse(&text).ok()?;
        let order = Order { copy: key.map(|key| key.module_id), ..Order::new(text, step.to) };
        Some(NewOrder {
            pattern: Arc::new(pattern),
            order,
            copy: key,
            owner: standing.owner,
            by: Arc::clone(by),
            stepped: Some(BudgetStepOrigin { of: of_person, cost: step.cost.rounded(), limit }),
        })
    }
}

fn rows_that(ledger: &LedgerState, are: impl Fn(&Row) -> bool) -> Vec<RowId> {
    ledger.rows().iter().filter(|row| are(row)).map(|row| row.id).collect()
}

/// Returns the problem behind a refusal of the orders.
fn problem(refusal: &Refusal) -> BudgetProblem {
    match refusal {
        Refusal::OverLimit(Limit::StandingOrders { limit }) => {
            BudgetProblem::NoRoomForOrder { limit: *limit }
        }
        _ => BudgetProblem::OrdersRefused,
    }
}
