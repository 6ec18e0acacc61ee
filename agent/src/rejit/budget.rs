//! The budget: what dials may cost the program. The ReJIT thread, which wakes once a second anyway, looks at what they do
//! cost while one stands, and steps the costliest down by orders, as a person would: ledger, transitions, audit ring and undo
//! know no difference. It never steps up; what a person turns up again it leaves alone until the budget is set anew.
#![forbid(unsafe_code)]

use super::inbox::{Answer, Progress};
use super::ledger::Book;
use super::row::{Identity, Row};
use super::thread::Worker;
use crate::planner::budget::{Budget, Costs, Dialled, Step};
use crate::planner::{NewOrder, OrderSeq, SetBy, Stepped};
use crate::probes::blocks::{self, Slot};
use crate::probes::cost;
use crate::server::audit;
use redial_protocol::cost::{CostBudget, Share, SteppedDown};
use redial_protocol::dialset::print_order;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_PATTERN, MAX_STANDING_ORDERS};
use redial_protocol::message::Refusal;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two looks.
const PERIOD: Duration = Duration::from_secs(1);
/// What the audit ring and the list of orders call it.
const PROGRAM: &str = "the budget";

/// What dials may cost, and what they did at the last look.
pub(super) struct Meter {
    budget: Budget,
    /// When to look next, at the earliest.
    due: Instant,
    looked: Option<Looked>,
    costs: Option<Costs>,
    problem: Option<String>,
    last: Option<SteppedDown>,
}

/// Sums of the counters of dials that were on.
struct Looked {
    at: Instant,
    sums: HashMap<RowId, (Slot, u64)>,
}

/// A dial that is on.
struct Running {
    row: RowId,
    slot: Slot,
    runs: Level,
    spared: bool,
}

impl Running {
    fn of(row: &Row) -> Option<Running> {
        let slot = row.slot.filter(|_| row.is_on())?;
        // Some methods cannot be timed, and are counted.
        let runs = if row.timing.is_some() { row.asked } else { row.asked.min(Level::Count) };
        Some(Running { row: row.id, slot, runs, spared: row.spared })
    }
}

impl Meter {
    pub(super) fn new(limit: Option<Share>) -> Meter {
        let (budget, due) = (Budget::of(limit), Instant::now());
        Meter { budget, due, looked: None, costs: None, problem: None, last: None }
    }

    /// When there is something to look at.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.looked.as_ref().map(|_| self.due)
    }

    /// Reads the counters of what runs; what was called since the last time, where there was one.
    fn read(&mut self, running: &[Running]) -> Vec<Dialled> {
        let slots: Vec<Slot> = running.iter().map(|one| one.slot).collect();
        let mut sums = Vec::new();
        let at = Instant::now();
        blocks::sum(&slots, &mut sums);
        let sums: HashMap<RowId, (Slot, u64)> =
            running.iter().zip(sums).map(|(one, sum)| (one.row, (one.slot, sum))).collect();
        let before = self.looked.replace(Looked { at, sums });
        let (Some(before), Some(now)) = (before, &self.looked) else { return Vec::new() };
        let passed = at.saturating_duration_since(before.at).as_nanos().max(1);
        let dialled = running.iter().filter_map(|one| {
            let (slot, sum) = now.sums.get(&one.row)?;
            // What was turned on since then is looked at the next time.
            let (_, then) = before.sums.get(&one.row).filter(|(then, _)| then == slot)?;
            let rate = u128::from(sum.saturating_sub(*then)) * 1_000_000_000 / passed;
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            Some(Dialled { row: one.row, runs: one.runs, rate, spared: one.spared })
        });
        dialled.collect()
    }
}

impl Worker {
    /// Sets the budget; what was left alone is so no more.
    pub(super) fn set_budget(&mut self, limit: Option<Share>, by: &SetBy) -> CostBudget {
        self.meter = Meter::new(limit);
        self.agent.ledger.change(|book, now| {
            for id in rows_that(book, |row| row.spared) {
                if let Some(row) = book.row_mut(id) {
                    row.spared = false;
                }
                book.announce(id, now);
            }
        });
        let words = limit.map_or_else(|| "off".to_owned(), |limit| format!("{limit} of a processor"));
        self.agent.server.audit.note_text(&by.user, &by.program, format!("budget = {words}"));
        // What is on is looked at from now on.
        self.look_at_costs();
        self.tell_budget()
    }

    /// Looks what dials cost, if it is time to, and steps some down where they are too dear.
    pub(super) fn look_at_costs(&mut self) {
        let now = Instant::now();
        let Some(limit) = self.meter.budget.limit().filter(|_| now >= self.meter.due) else { return };
        self.meter.due = now + PERIOD;
        let running: Vec<Running> = {
            let book = self.agent.ledger.book();
            book.rows().iter().filter_map(Running::of).collect()
        };
        if running.is_empty() {
            (self.meter.looked, self.meter.costs) = (None, None);
            self.tell_budget();
            return;
        }
        let is_first = self.meter.looked.is_none();
        let dialled = self.meter.read(&running);
        if is_first {
            return;
        }
        let calls = cost::of_a_call(self.agent.max_level());
        let (costs, steps) = self.meter.budget.look(&calls, &dialled);
        self.meter.costs = Some(costs);
        if !steps.is_empty() {
            self.step_down(&steps, limit, costs);
            // What they cost from now on is another thing.
            self.meter.looked = None;
        } else if costs.all <= limit {
            self.meter.problem = None;
        }
        self.tell_budget();
    }

    fn step_down(&mut self, steps: &[Step], limit: Share, costs: Costs) {
        let begun = Instant::now();
        let by =
            SetBy { user: audit::own_user().to_owned(), program: PROGRAM.into(), pid: std::process::id() };
        let by = Arc::new(by);
        let room = MAX_STANDING_ORDERS.saturating_sub(self.orders.len());
        let stepped: Vec<(Step, NewOrder)> = steps
            .iter()
            .filter_map(|step| Some((*step, self.stepped(step, limit, &by)?)))
            .take(room)
            .collect();
        let Some((first, _)) = stepped.first() else {
            let why = format!(
                "{MAX_STANDING_ORDERS} orders stand already, and each dial that is stepped down needs one more; turn some \
                 off, or all"
            );
            self.meter.problem = Some(why);
            return;
        };
        let (costliest, copies) = ((first.row, first.to, first.cost.rounded()), stepped.len() as u64);
        let line = |(step, new): &(Step, NewOrder)| {
            let cost = step.cost.rounded();
            format!("{} (it cost {cost} of a processor; the budget is {limit})", print_order(&new.order))
        };
        let lines = stepped.iter().map(line).collect();
        let before = self.orders.clone();
        let new = stepped.into_iter().map(|(_, new)| new).collect();
        match self.add(new, lines, true) {
            Ok(entered) => {
                let finish = self.recorded(entered, before, None, by, Progress::silent(), begun);
                let cost = costs.all.rounded();
                self.meter.last =
                    finish.made().map(|change| SteppedDown { change, copies, cost, limit, costliest });
                self.meter.problem = None;
                self.carry_out(finish, Answer::new(drop));
            }
            Err(refusal) => {
                self.orders.replace_by(before);
                self.agent.anticipate(&self.orders);
                self.meter.problem = Some(sentence(refusal));
            }
        }
    }

    /// The order that steps a row down, as long-lived as the one it has now; None where nothing stands for it any more.
    fn stepped(&self, step: &Step, limit: Share, by: &Arc<SetBy>) -> Option<NewOrder> {
        let (what, decides): (Arc<Identity>, OrderSeq) = {
            let book = self.agent.ledger.book();
            let row = book.row(step.row)?;
            (Arc::clone(&row.what), row.decides?)
        };
        let standing = self.orders.get(decides)?;
        let of_person = standing.stepped.map_or(decides, |stepped| stepped.of);
        let is_it = |text: &String| Pattern::parse(text).is_ok_and(|pattern| what.matches(&pattern));
        let name = Some(what.full_name()).filter(|name| name.len() <= MAX_PATTERN).filter(is_it);
        let several = self.agent.modules.all().iter().filter(|one| one.name == what.module.name).count() > 1;
        // A token means something in one module only.
        let key = (several || name.is_none()).then_some(what.module.key);
        let text = name.unwrap_or_else(|| format!("{}!0x{:08x}", what.module.name, what.token));
        let pattern = Pattern::parse(&text).ok()?;
        let order = Order { copy: key.map(|key| key.module_id), ..Order::new(text, step.to) };
        Some(NewOrder {
            pattern: Arc::new(pattern),
            order,
            copy: key,
            owner: standing.owner,
            by: Arc::clone(by),
            stepped: Some(Stepped { of: of_person, cost: step.cost.rounded(), limit }),
        })
    }

    /// Of rows that a person turned, those that the budget had stepped down and that are turned up: it leaves them alone.
    pub(super) fn spare(&self, turned: impl Iterator<Item = RowId>) -> Vec<RowId> {
        let mut book = self.agent.ledger.book();
        let mut spared = Vec::new();
        for id in turned {
            let Some(row) = book.row_mut(id).filter(|row| row.stepped.is_some()) else { continue };
            if self.orders.wanted(row.decides).0 > row.wanted {
                row.spared = true;
                spared.push(id);
            }
        }
        spared
    }

    /// They were not turned up after all.
    pub(super) fn spare_no_more(&self, rows: &[RowId]) {
        let mut book = self.agent.ledger.book();
        for id in rows {
            if let Some(row) = book.row_mut(*id) {
                row.spared = false;
            }
        }
    }

    pub(super) fn has_budget(&self) -> bool {
        self.meter.budget.limit().is_some()
    }

    /// Makes known what dials may cost, and do.
    pub(super) fn tell_budget(&self) -> CostBudget {
        let (spared, stepped) = {
            let book = self.agent.ledger.book();
            let spared = book.rows().iter().filter(|row| row.spared && row.wanted > Level::Off).count();
            (spared as u64, book.rows().iter().filter(|row| row.stepped.is_some()).count() as u64)
        };
        let costs = self.meter.costs;
        let told = CostBudget {
            limit: self.meter.budget.limit(),
            cost: costs.map(|costs| costs.all.rounded()),
            spared_cost: costs.map_or(Share(0), |costs| costs.spared.rounded()),
            spared,
            stepped,
            problem: self.meter.problem.clone(),
            last: self.meter.last.clone(),
        };
        if self.agent.server.budget.put(&told) {
            self.agent.ledger.wake();
        }
        told
    }
}

fn rows_that(book: &Book, are: impl Fn(&Row) -> bool) -> Vec<RowId> {
    book.rows().iter().filter(|row| are(row)).map(|row| row.id).collect()
}

/// Why the orders were not taken.
fn sentence(refusal: Refusal) -> String {
    match refusal {
        Refusal::OverLimit(why) | Refusal::BadPattern(why) | Refusal::AgentOff(why) => why,
        other => format!("{other:?}"),
    }
}

/// What is said to whoever turned something up that the budget had stepped down.
pub(super) fn left_alone(number: usize) -> String {
    let (methods, them) = if number == 1 { ("method", "it") } else { ("methods", "them") };
    format!(
        "the budget had stepped {number} {methods} down, and leaves {them} alone from now on, until it is set anew"
    )
}
