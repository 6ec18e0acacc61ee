//! The ReJIT thread's state, and the steps that all its work shares: finding the copies that orders match, and
//! applying orders to them.
#![forbid(unsafe_code)]

use super::change_state::{DeferredChange, QueuedChange};
use super::cost_meter::CostMeter;
use super::heap_trim::HeapTrim;
use super::missing_assemblies::MissingAssemblies;
use super::request::{self, Applied};
use super::scan::{ModuleOrders, ScanResult, review, scan};
use crate::catalogue::Module;
use crate::catalogue::implementation_search::ImplementationSearch;
use crate::context::Context;
use crate::inbox::Progress;
use crate::known_bad::RuntimeIssue;
use crate::ledger::reverting_rows::Pace;
use crate::ledger::row::Row;
use crate::planner::history::History;
use crate::planner::{OrderSeq, Orders, SessionId, Standing};
use redial_protocol::ids::{ModuleKey, RowId};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

/// Names of the AppDomains that each shared copy serves.
pub(super) type Served = HashMap<ModuleKey, Vec<String>>;

/// The state of the thread.
pub struct Worker {
    pub(super) context: &'static Context,
    pub(super) orders: Orders,
    pub(super) history: History,
    pub(super) deferred: Vec<DeferredChange>,
    /// Changes that wait for control, oldest first.
    pub(super) queued: VecDeque<QueuedChange>,
    /// Sessions that ended, and orders taken back, while changes are deferred: those changes must not bring them
    /// back.
    pub(super) ended: Vec<SessionId>,
    pub(super) withdrawn: BTreeSet<OrderSeq>,
    /// The AppDomains that shared copies served at the last check of orders for domains.
    pub(super) served: Served,
    missing: MissingAssemblies,
    /// Nanoseconds per copy from a change's beginning to acceptance, as last measured.
    pub(super) pace_ns: u64,
    /// The budget, and the present cost of dials.
    pub(super) meter: CostMeter,
    pub(super) heap_trim: HeapTrim,
    pub(super) last_check: Instant,
    pub(super) last_retry: Instant,
    pub(super) reverting: Pace,
}

impl Worker {
    /// Makes a worker with the orders that stand from the start.
    pub fn new(context: &'static Context, orders: Orders) -> Worker {
        Worker {
            context,
            orders,
            history: History::default(),
            deferred: Vec::new(),
            queued: VecDeque::new(),
            ended: Vec::new(),
            withdrawn: BTreeSet::new(),
            served: Served::default(),
            missing: MissingAssemblies::default(),
            pace_ns: usual_pace_ns(context.runtime.does(RuntimeIssue::StopsForRequests)),
            meter: CostMeter::new(context.settings.budget),
            heap_trim: HeapTrim::default(),
            last_check: Instant::now(),
            last_retry: Instant::now(),
            reverting: Pace::default(),
        }
    }

    /// Finds the copies that these orders match, everywhere. Gives up once `is_cancelled`, or once "all off" waits, which
    /// makes every order void.
    pub(super) fn scan_all(&mut self, seqs: &[OrderSeq], is_cancelled: &dyn Fn() -> bool) -> ScanResult {
        let mut found = ScanResult::default();
        if seqs.is_empty() {
            return found;
        }
        let stop = || is_cancelled() || self.context.inbox.all_off_pending();
        let search = ImplementationSearch::new(&self.context.info, &self.context.modules, &stop);
        let wanted: BTreeSet<OrderSeq> = seqs.iter().copied().collect();
        for module in self.context.modules.all() {
            let orders = self.orders.for_assembly(&module.name).filter(|s| wanted.contains(&s.seq));
            let target = ModuleOrders::new(self.context, &module, orders);
            scan(self.context, &target, &search, &mut found);
        }
        if self.orders.all().iter().any(|one| wanted.contains(&one.seq) && one.pattern.names_supertype()) {
            found.missing.extend(search.missing());
        }
        self.note_missing(&mut found);
        found
    }

    /// Finds the copies that orders match in a module that was just loaded, and those that orders by interface match in
    /// earlier modules now: this one may define supertypes of their classes, and its classes may inherit their methods for
    /// an interface.
    pub(super) fn scan_loaded(&mut self, module: &Arc<Module>) -> ScanResult {
        let mut found = ScanResult::default();
        let stop = || self.context.inbox.all_off_pending();
        let search = ImplementationSearch::new(&self.context.info, &self.context.modules, &stop);
        let target = ModuleOrders::new(self.context, module, self.orders.for_assembly(&module.name));
        scan(self.context, &target, &search, &mut found);
        let waiting = self.missing.take(&module.name);
        let mut earlier = waiting.clone();
        if self.orders.all().iter().any(|one| one.pattern.names_supertype()) {
            let is_meant =
                |name: &str| self.orders.all().iter().any(|one| one.pattern.for_supertype(name).is_some());
            let inheriting = waiting.iter().chain([&module.key]);
            earlier.extend(inheriting.flat_map(|key| search.inherits_from(*key, &is_meant)));
            earlier.remove(&module.key);
            let missing = search.missing().filter(|(key, _)| *key == module.key || waiting.contains(key));
            found.missing.extend(missing);
        }
        for key in earlier {
            let earlier = self.context.modules.get(key.module_id as usize).filter(|one| one.key == key);
            let Some(earlier) = earlier else { continue };
            let of_earlier: Vec<&Standing> = self.orders.for_assembly(&earlier.name).collect();
            let by_supertype: Vec<&Standing> =
                of_earlier.iter().copied().filter(|one| one.pattern.names_supertype()).collect();
            if !by_supertype.is_empty() {
                let target = ModuleOrders::new(self.context, &earlier, of_earlier.into_iter());
                review(self.context, &target, &search, &by_supertype, &mut found);
            }
        }
        self.note_missing(&mut found);
        found
    }

    fn note_missing(&mut self, found: &mut ScanResult) {
        for (module, assemblies) in found.missing.drain(..) {
            self.missing.note(module, assemblies);
        }
    }

    /// Forgets facts about types that only orders by interface need. No order may stand.
    pub(super) fn forget_types(&mut self) {
        self.missing.clear();
        self.context.modules.forget_inheritance();
    }

    /// Reviews the copies that the changed orders match; changed orders came, went, or apply to other domains now.
    pub(super) fn review(&mut self, changed: &[Arc<Standing>]) -> ScanResult {
        let mut found = ScanResult::default();
        if changed.is_empty() {
            return found;
        }
        if self.orders.is_empty() {
            self.forget_types();
            // No metadata has to be read to know that no order decides any row.
            let all = self.context.ledger.lock().without_orders();
            found.rows.extend(all);
            return found;
        }
        let stop = || self.context.inbox.all_off_pending();
        let search = ImplementationSearch::new(&self.context.info, &self.context.modules, &stop);
        for module in self.context.modules.all() {
            let of_module = changed.iter().filter(|one| one.pattern.matches_assembly(&module.name));
            let of_module: Vec<&Standing> = of_module.map(|one| &**one).collect();
            if !of_module.is_empty() {
                let orders = self.orders.for_assembly(&module.name);
                review(
                    self.context,
                    &ModuleOrders::new(self.context, &module, orders),
                    &search,
                    &of_module,
                    &mut found,
                );
            }
        }
        self.note_missing(&mut found);
        // Nothing stays on for an order that no longer stands, even if its module's metadata is gone.
        let ledger = self.context.ledger.lock();
        let stale =
            |row: &&Row| row.is_on() && row.wanted.deciding_order.is_none_or(|seq| !self.orders.stands(seq));
        found.rows.extend(ledger.rows().iter().filter(stale).map(|row| row.id));
        drop(ledger);
        found
    }

    /// Brings the CLR in line with the orders for these rows.
    pub(super) fn apply(&mut self, rows: &BTreeSet<RowId>, progress: &Progress) -> Applied {
        request::apply(self.context, &self.orders, rows, progress)
    }

    /// Publishes the orders to other threads; see [`crate::standing_orders::StandingOrders::publish`].
    pub(super) fn publish_orders(&self) {
        self.context.orders.publish(&self.orders, self.history.len());
    }
}

/// Returns the usual time per copy before any change has been measured, in nanoseconds (measured:
/// `docs/benchmarks.md`).
pub(super) fn usual_pace_ns(suspends: bool) -> u64 {
    if suspends { 12_000 } else { 3_000 }
}
