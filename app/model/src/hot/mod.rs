//! The search for hot methods: which methods to count, which of those that are called to time, and which to keep. It
//! decides; the caller sends the orders and waits.
//!
//! A search never changes a dial that was on before. Its orders come last and would override older ones, so it repeats
//! the older ones after its own, and leaves their methods out of its choice.

mod ranking;
mod report;
mod steps;

pub use ranking::{HotMethod, HotNumbers, MethodKey};
pub use report::{HotReport, TooCostly};
pub use steps::{HotStep, HotUpdate};

use crate::catalogue::framework::is_framework;
use crate::cost;
use crate::dials::DialledCopies;
use ranking::Numbers;
use redial_protocol::catalogue::ModuleRow;
use redial_protocol::cost::Cost;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_ORDERS;
use redial_protocol::order::{Order, StandingOrder};
use redial_protocol::pattern::Pattern;
use std::collections::{BTreeSet, HashMap};

/// What to search for.
#[derive(Clone, Debug, PartialEq)]
pub struct HotOptions {
    /// The methods to look at; `None`: those of every module that is not part of a framework.
    pub pattern: Option<String>,
    /// The number of methods to keep at level time.
    pub top: usize,
    /// The most that timing may cost, in percent of one processor.
    pub budget_percent: f64,
    /// How long to watch calls, milliseconds. A quarter of it counts them, the rest times them.
    pub watch_ms: u64,
    /// Whether to take control from another program.
    pub take: bool,
}

impl Default for HotOptions {
    fn default() -> HotOptions {
        HotOptions { pattern: None, top: 50, budget_percent: 10.0, watch_ms: 10_000, take: false }
    }
}

impl HotOptions {
    /// Returns how long to count calls, milliseconds.
    pub fn count_ms(&self) -> u64 {
        (self.watch_ms / 4).max(1)
    }

    /// Returns how long calls run before they are timed, milliseconds, so that compilation is over.
    pub fn settle_ms(&self) -> u64 {
        (self.watch_ms / 10).min(2_000)
    }

    /// Returns how long to time calls, milliseconds.
    pub fn time_ms(&self) -> u64 {
        self.watch_ms.saturating_sub(self.count_ms() + self.settle_ms()).max(1)
    }
}

/// The picoseconds that a timed call costs where the agent has not measured it.
const USUAL_COST: u64 = 50_000;

/// A search in one process.
#[derive(Debug)]
pub struct HotSearch {
    options: HotOptions,
    patterns: Vec<String>,
    /// The orders of others, which the search repeats.
    standing: Vec<Order>,
    /// Methods with a copy that was on before.
    dialled_before: BTreeSet<MethodKey>,
    costs: Vec<Cost>,
    /// Numbers at the start of the current step.
    start: Numbers,
    timed: BTreeSet<MethodKey>,
}

/// The methods to time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TimingPlan {
    /// The orders.
    pub orders: Vec<Order>,
    /// Methods that were called, without those that were dialled before.
    pub called: u64,
    /// Those that are timed.
    pub timed: u64,
    /// Those that are called too often for the budget, most called first.
    pub too_costly: Vec<TooCostly>,
}

impl HotSearch {
    /// Prepares a search. `standing` and `before` are the orders and rows of others; `costs` is what a call costs at
    /// each level. Returns `None` if the program has no module of its own.
    pub fn new(
        options: HotOptions,
        modules: &[ModuleRow],
        standing: Vec<StandingOrder>,
        before: &DialledCopies,
        costs: Vec<Cost>,
    ) -> Option<HotSearch> {
        let patterns = match &options.pattern {
            Some(pattern) => vec![pattern.clone()],
            None => own_assemblies(modules),
        };
        let on = before.iter().filter(|dial| dial.row.wanted > Level::Off);
        let dialled_before = on.map(|dial| MethodKey::of(&dial.row)).collect();
        let standing = standing.into_iter().map(|one| one.order).collect();
        let (start, timed) = (Numbers::default(), BTreeSet::new());
        (!patterns.is_empty()).then_some(HotSearch {
            options,
            patterns,
            standing,
            dialled_before,
            costs,
            start,
            timed,
        })
    }

    /// Returns the options.
    pub fn options(&self) -> &HotOptions {
        &self.options
    }

    /// Returns the patterns that the search looks at.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }

    /// Returns the number of methods that were on before.
    pub fn left_alone(&self) -> u64 {
        self.dialled_before.len() as u64
    }

    /// Returns the orders that count every method.
    pub fn counting_orders(&self) -> Vec<Order> {
        self.then_standing(self.all_at(Level::Count).collect())
    }

    /// Begins a step with these numbers. Returns how many methods the search has dialled.
    pub fn begin_step(&mut self, dials: &DialledCopies) -> u64 {
        self.start = Numbers::of(dials);
        let on = dials.iter().filter(|dial| dial.row.wanted > Level::Off && dial.row.state.counts());
        let on: BTreeSet<MethodKey> = on.map(|dial| MethodKey::of(&dial.row)).collect();
        on.difference(&self.dialled_before).count() as u64
    }

    /// Chooses the methods to time: all that were called in the last `ms`, the least called ones first, until the
    /// budget is used up.
    pub fn plan_timing(&mut self, dials: &DialledCopies, ms: u64) -> TimingPlan {
        let seconds = ms.max(1) as f64 / 1000.0;
        let called = self.start.since(dials, |key| !self.dialled_before.contains(key));
        let mut called: Vec<(MethodKey, f64)> = called
            .into_iter()
            .filter(|(_, numbers)| numbers.calls > 0)
            .map(|(key, numbers)| (key, numbers.calls as f64 / seconds))
            .collect();
        called.sort_by(|(a, a_rate), (b, b_rate)| a_rate.total_cmp(b_rate).then_with(|| a.cmp(b)));
        let usual = [Cost { level: Level::Time, picoseconds: USUAL_COST }];
        let percent = |rate| {
            let measured = cost::percent(&self.costs, Level::Time, rate);
            measured.or_else(|| cost::percent(&usual, Level::Time, rate)).unwrap_or(0.0)
        };
        let mut plan = TimingPlan { called: called.len() as u64, ..TimingPlan::default() };
        let mut spent = 0.0;
        let mut timed = BTreeSet::new();
        for (key, rate) in called {
            spent += percent(rate);
            if spent <= self.options.budget_percent {
                timed.insert(key);
            } else {
                plan.too_costly.push(TooCostly { method: key, rate });
            }
        }
        plan.too_costly.reverse();
        plan.timed = timed.len() as u64;
        plan.orders = self.timing_orders(dials, &timed, &plan.too_costly);
        self.timed = timed;
        plan
    }

    /// Orders each method on its own, or, if that takes too many orders, everything but the costly methods.
    fn timing_orders(
        &self,
        dials: &DialledCopies,
        timed: &BTreeSet<MethodKey>,
        too_costly: &[TooCostly],
    ) -> Vec<Order> {
        // The counting orders stand, too, and those for the methods to keep follow.
        let reserved = 2 * self.standing.len() + 2 * self.patterns.len() + self.options.top;
        let room = MAX_ORDERS.saturating_sub(reserved);
        let names = OrderNames::of(dials);
        if timed.len() <= room {
            return self.then_standing(timed.iter().map(|key| names.order(key, Level::Time)).collect());
        }
        let costly = too_costly.iter().take(room).map(|one| names.order(&one.method, Level::Count));
        self.then_standing(self.all_at(Level::Time).chain(costly).collect())
    }

    fn all_at(&self, level: Level) -> impl Iterator<Item = Order> {
        self.patterns.iter().map(move |pattern| Order::new(pattern, level))
    }

    fn then_standing(&self, mut orders: Vec<Order>) -> Vec<Order> {
        orders.extend(self.standing.iter().cloned());
        orders
    }

    /// Returns the timed methods by descending self time since the step began. Methods that someone turned off
    /// meanwhile are not among them.
    pub fn ranking(&self, dials: &DialledCopies) -> Vec<HotMethod> {
        let off = dials.iter().filter(|dial| dial.row.wanted < Level::Time);
        let off: BTreeSet<MethodKey> = off.map(|dial| MethodKey::of(&dial.row)).collect();
        let is_timed = |key: &MethodKey| self.timed.contains(key) && !off.contains(key);
        let mut methods: Vec<HotMethod> = self
            .start
            .since(dials, is_timed)
            .into_iter()
            .filter(|(_, numbers)| numbers.calls > 0 || numbers.total_ns > 0)
            .map(|(method, numbers)| HotMethod { method, numbers })
            .collect();
        methods
            .sort_by(|a, b| b.numbers.self_ns.cmp(&a.numbers.self_ns).then_with(|| a.method.cmp(&b.method)));
        methods
    }

    /// Returns whether someone turned all timed methods off.
    pub fn is_turned_off(&self, dials: &DialledCopies) -> bool {
        let mut timed = dials.iter().filter(|dial| self.timed.contains(&MethodKey::of(&dial.row))).peekable();
        timed.peek().is_some() && timed.all(|dial| dial.row.wanted < Level::Time)
    }

    /// Returns the orders that keep these methods timed.
    pub fn keeping_orders(dials: &DialledCopies, methods: &[HotMethod]) -> Vec<Order> {
        let names = OrderNames::of(dials);
        methods.iter().map(|one| names.order(&one.method, Level::Time)).collect()
    }
}

/// Returns a pattern for each module that is not part of a framework and can be dialled.
fn own_assemblies(modules: &[ModuleRow]) -> Vec<String> {
    let own = modules.iter().filter(|module| {
        !is_framework(&module.name, &module.path)
            && !module.dynamic
            && !module.collectible
            && module.methods > 0
    });
    let names: BTreeSet<&str> = own.map(|module| module.name.as_str()).collect();
    let pattern = |name: &&str| {
        let pattern = format!("{name}!*");
        let fits = |parsed: Pattern| !name.contains('*') && parsed.matches_assembly(name);
        Pattern::parse(&pattern).is_ok_and(fits).then_some(pattern)
    };
    names.iter().filter_map(pattern).collect()
}

/// The patterns of single methods: by token, unless another build of the assembly has another method there.
struct OrderNames {
    ambiguous: BTreeSet<(String, u32)>,
}

impl OrderNames {
    fn of(dials: &DialledCopies) -> OrderNames {
        let mut seen: HashMap<(&str, u32), (&str, &str)> = HashMap::new();
        let mut ambiguous = BTreeSet::new();
        for dial in dials.iter() {
            let row = &dial.row;
            let name = (row.method.as_str(), row.signature.as_str());
            let token = row.copy.token.0;
            if *seen.entry((&row.module, token)).or_insert(name) != name {
                ambiguous.insert((row.module.clone(), token));
            }
        }
        OrderNames { ambiguous }
    }

    fn order(&self, key: &MethodKey, level: Level) -> Order {
        let by_token = format!("{}!{:#010x}", key.module, key.token.0);
        let fits =
            |pattern: &str| Pattern::parse(pattern).is_ok_and(|parsed| parsed.matches_assembly(&key.module));
        let is_alone = !self.ambiguous.contains(&(key.module.clone(), key.token.0));
        let pattern = if is_alone && fits(&by_token) { by_token } else { key.pattern() };
        Order::new(pattern, level)
    }
}

#[cfg(test)]
mod tests;
