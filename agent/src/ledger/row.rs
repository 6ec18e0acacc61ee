//! A row of the ledger: a copy, its wanted level, and what the runtime runs.
#![forbid(unsafe_code)]

use super::async_role::{AsyncRole, MissingCompletions};
use super::row_notes::{RowNotes, RowSnapshot};
use crate::catalogue::Module;
use crate::catalogue::names::MethodNames;
use crate::inlining::{Inlined, Method};
use crate::instrument::instrumented_body::Probe;
use crate::instrument::timed_body::Timing;
use crate::planner::{BudgetStepOrigin, OrderLifetime, OrderSeq};
use crate::probes::blocks::Slot;
use crate::probes::callers;
use crate::probes::completions::Account;
use crate::probes::missing_data;
use crate::probes::timers::SlotTimes;
use redial_protocol::diagnostics::{SteppedDown, UntimedReason};
use redial_protocol::ids::{CopyKey, InstanceId, MethodToken, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Instance, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::pattern::Pattern;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use std::sync::Arc;
use std::time::Instant;

/// Limit of instances listed per copy; a generic method in a large program may have thousands.
const MAX_INSTANCES: usize = 256;
/// Limit of instances among them that are no longer called, once there are new ones: a dial may be turned a
/// thousand times.
const MAX_STALE: usize = 4;

/// A compiled instance with an instrumented body.
#[derive(Clone, Debug)]
pub struct CompiledInstance {
    /// (FunctionID, ReJITID).
    pub id: InstanceId,
    /// The number of the body it was compiled from.
    pub version: u32,
    /// `Asked` while compiling, then live, off or failed.
    pub state: CopyState,
    /// Compilations started and not finished, by thread: tiers and on-stack replacement may overlap.
    pub open: Vec<OpenCompilation>,
}

/// A compilation that has started and not finished.
#[derive(Clone, Copy, Debug)]
pub struct OpenCompilation {
    /// Its thread.
    pub thread: ThreadMark,
    /// Its start.
    pub since: Instant,
    /// The thread has started it once more since.
    pub restarted: bool,
}

/// Identifies a live thread.
pub type ThreadMark = usize;

/// Average overhead of an allocation, including rounding (glibc: 8 and 0–15 bytes).
const ALLOCATION_OVERHEAD: usize = 16;

/// Original code that was compiled for a row after its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IgnoredRequest {
    /// FunctionID of the original code, compiled for the first time.
    pub(super) function: usize,
    /// When that happened.
    pub(super) since: Instant,
    /// It was long enough ago, and has been reported.
    pub reported: bool,
}

/// The copy that a row is about. It never changes, so it can be read without the ledger's lock.
pub struct CopyIdentity {
    /// Its module.
    pub module: Arc<Module>,
    /// MethodDef token.
    pub token: u32,
    /// StandAloneSig token of the original body's variables; 0 if it has none.
    pub local_sig: u32,
    /// Whether the JIT may inline it.
    pub inlinable: bool,
    /// Whether its last call is to itself.
    pub ends_in_itself: bool,
    /// Whether other code may replace calls of it, even while it must not be inlined.
    pub expanded: bool,
    /// Why its body cannot be timed, if so.
    pub untimed: Option<UntimedReason>,
    /// Its names.
    pub names: MethodNames,
}

impl CopyIdentity {
    /// Returns the copy.
    pub fn copy(&self) -> CopyKey {
        CopyKey { module: self.module.key, token: MethodToken(self.token) }
    }

    /// Returns `Module!Type.Method(PARAMS)`, a pattern for exactly this method.
    pub fn full_name(&self) -> String {
        self.names.full_name(&self.module.name)
    }

    /// Makes one for tests.
    #[cfg(test)]
    pub fn sample(module: Arc<Module>, token: u32) -> CopyIdentity {
        let (method, signature) = (format!("Sample.Method{token:x}"), "()".to_owned());
        let (type_name, name) = ("Sample".into(), method.clone());
        let names = MethodNames { method, signature, type_name, name, arity: 0, canonical: None };
        CopyIdentity {
            module,
            token,
            local_sig: 0,
            inlinable: false,
            expanded: false,
            untimed: None,
            ends_in_itself: false,
            names,
        }
    }

    /// Returns the bytes allocated for it, except the type's name, which the methods of a type share.
    fn bytes(&self) -> usize {
        let strings = [&self.names.method, &self.names.signature, &self.names.name].map(String::capacity);
        let canonical = self.names.canonical.as_ref().map_or(0, |canonical| canonical.len());
        let counts = 2 * size_of::<usize>();
        size_of::<CopyIdentity>()
            + counts
            + strings.iter().sum::<usize>()
            + canonical
            + 4 * ALLOCATION_OVERHEAD
    }

    /// Whether a pattern matches this copy.
    pub fn matches(&self, pattern: &Pattern) -> bool {
        pattern.matches_assembly(&self.module.name)
            && match pattern.token() {
                Some(token) => token == self.token,
                None => self.names.match_pattern(pattern),
            }
    }
}

/// A copy that is or was dialled (or refused).
pub struct Row {
    /// Its index.
    pub id: RowId,
    /// The copy.
    pub identity: Arc<CopyIdentity>,
    /// Why it can never be dialled, if so.
    pub ineligible: Option<Reason>,
    /// The latest order that matched it when orders were last checked; the order may no longer stand. The other
    /// matching orders are not kept: there may be thousands, and they are found again when this one goes.
    pub deciding_order: Option<OrderSeq>,
    /// The level that the user asked for.
    pub wanted: Level,
    /// The time options that the user asked for.
    pub options: TimeOptions,
    /// The level of its last request to the CLR, while it is on.
    pub requested: Level,
    /// `timing` and `untimed` as of that request.
    pub requested_times: (Option<Timing>, Option<UntimedReason>),
    /// The variables of its timed body, as last requested or being requested.
    pub timing: Option<Timing>,
    /// Why it is only counted although *time* is wanted, if so.
    pub untimed: Option<UntimedReason>,
    /// Its async role, as found when it was last about to be timed.
    pub async_role: Option<AsyncRole>,
    /// For the `MoveNext` of a state machine, the slots that record which calls begin and complete in it.
    pub async_slots: Option<Slot>,
    /// Whether a timed body was ever requested, so that it has times.
    pub was_timed: bool,
    /// Whether its callers were ever counted, so that it has some.
    pub had_callers: bool,
    /// The lifetime of the deciding order.
    pub owner: Option<OrderLifetime>,
    /// Why the budget set the deciding order, if it did.
    pub stepped: Option<BudgetStepOrigin>,
    /// A user raised it after the budget stepped it down: the budget leaves it alone.
    pub spared: bool,
    /// Its actual state in the runtime.
    pub state: CopyState,
    /// Number of bodies passed to the CLR so far.
    pub bodies: u32,
    /// Whether a body was passed since the last request.
    pub body_given: bool,
    /// Its original code was compiled for the first time despite an active request.
    pub ignored_request: Option<IgnoredRequest>,
    /// A request is on its way into the CLR, and its acceptance is not known yet.
    pub requesting: bool,
    /// Compiled while `requesting`: goes live as soon as the acceptance is known.
    pub compiled_early: bool,
    /// The instrumented body that is live.
    pub live_version: Option<u32>,
    /// Compiled instances.
    pub instances: Vec<CompiledInstance>,
    /// The largest ReJITID of a body that was turned off. ReJITIDs grow, so a later compilation of it is known to
    /// be old.
    retired_rejit_id: u64,
    /// Why refused or failed, with the HRESULT or 0.
    pub reason: Option<(Reason, u32)>,
    /// Its counters; none before the first change and after unload.
    pub slot: Option<Slot>,
    /// The slot's sum when the row got it.
    pub slot_start: u64,
    /// Calls counted when the slot was given back.
    pub final_calls: u64,
    /// Its times at that moment.
    pub final_times: Option<Box<SlotTimes>>,
    /// When its dial last changed.
    pub changed_at: Option<Instant>,
    /// Whether compiled callers inlined it before it was dialled, and cannot be recompiled.
    pub inlined: Inlined,
    /// Methods compiled with it inlined: while it is on, they are recompiled without it.
    pub inliners: Box<[Method]>,
    /// Whether the runtime was asked to find more of them itself.
    pub searched_by_runtime: bool,
    /// It is requested once more, to undo its own inlining of others; its body stays the same.
    pub rerequested: bool,
    /// Whether the runtime may count it among the inliners of others.
    pub found_by_runtime: bool,
}

impl Row {
    /// Makes a new row, off.
    pub fn new(id: RowId, identity: CopyIdentity, ineligible: Option<Reason>) -> Row {
        Row {
            id,
            identity: Arc::new(identity),
            ineligible,
            deciding_order: None,
            wanted: Level::Off,
            options: TimeOptions::default(),
            requested: Level::Off,
            requested_times: (None, None),
            timing: None,
            untimed: None,
            async_role: None,
            async_slots: None,
            was_timed: false,
            had_callers: false,
            owner: None,
            stepped: None,
            spared: false,
            state: CopyState::Off,
            bodies: 0,
            body_given: false,
            ignored_request: None,
            requesting: false,
            compiled_early: false,
            live_version: None,
            instances: Vec::new(),
            retired_rejit_id: 0,
            reason: None,
            slot: None,
            slot_start: 0,
            final_calls: 0,
            final_times: None,
            changed_at: None,
            inlined: Inlined::No,
            inliners: Box::default(),
            searched_by_runtime: false,
            rerequested: false,
            found_by_runtime: false,
        }
    }

    /// Returns the copy as callbacks identify it.
    pub fn method(&self) -> Method {
        (self.identity.module.id(), self.identity.token)
    }

    /// Returns the bytes allocated for data that the row points to, with allocation overhead.
    pub fn bytes_behind(&self) -> usize {
        let open: usize = self.instances.iter().map(|compiled| compiled.open.capacity()).sum();
        self.identity.bytes()
            + self.instances.capacity() * size_of::<CompiledInstance>()
            + self.inliners.len() * size_of::<Method>()
            + open * size_of::<OpenCompilation>()
            + 4 * ALLOCATION_OVERHEAD
    }

    /// Whether a change may request it: refused, failed and lost copies stay as they are.
    pub fn is_dialable(&self) -> bool {
        !matches!(self.state, CopyState::Refused | CopyState::Failed | CopyState::Lost)
    }

    /// Whether it has an active ReJIT request.
    pub fn is_on(&self) -> bool {
        matches!(self.state, CopyState::Asked | CopyState::Live)
    }

    /// Returns the level of its active request; off if it has none.
    pub fn runs(&self) -> Level {
        if self.is_on() { self.requested } else { Level::Off }
    }

    /// Whether the last requested body has all wanted options beyond the level, as far as possible.
    pub fn fits(&self) -> bool {
        self.untimed.is_some() || self.requested_callers() == (self.options.callers && callers::KNOWN)
    }

    /// Whether the body of its active request counts callers.
    pub fn requested_callers(&self) -> bool {
        self.requested_times.0.is_some_and(|timing| timing.callers)
    }

    /// Returns the position of its counters, in bytes from the first slot.
    pub fn slot_offset(&self) -> Option<usize> {
        self.slot.map(|slot| slot.0 as usize * size_of::<u64>())
    }

    /// Returns the probe for its body.
    pub fn probe(&self) -> Probe {
        let count = Probe::Count { ends_in_itself: self.identity.ends_in_itself };
        self.timing.map_or(count, Probe::Time)
    }

    /// Returns its number of calls, given the slot's present sum.
    pub fn calls(&self, sum: u64) -> u64 {
        match self.slot {
            Some(_) => sum.saturating_sub(self.slot_start),
            None => self.final_calls,
        }
    }

    /// Sets it to its original IL (reverting while calls are in flight), so that it needs no recompiled callers.
    pub fn reset_to_original(&mut self, in_flight: bool) {
        self.state = if in_flight { CopyState::Reverting } else { CopyState::Off };
        (self.requested, self.requested_times) = (Level::Off, (None, None));
        self.untimed = None;
        self.live_version = None;
        self.body_given = false;
        self.ignored_request = None;
        self.inliners = Box::default();
        self.searched_by_runtime = false;
        self.found_by_runtime = false;
        self.retire_instances();
    }

    /// Prepares a request at another level: later compilations of the present body count as old.
    pub fn supersede_body(&mut self) {
        let newest = self.instances.iter().map(|compiled| compiled.id.rejit_id).max();
        self.retired_rejit_id = self.retired_rejit_id.max(newest.unwrap_or(0));
    }

    /// Returns the instance with these ids, creating it if new. None if the list is full.
    pub fn instance(&mut self, id: InstanceId) -> Option<&mut CompiledInstance> {
        if let Some(at) = self.instances.iter().position(|compiled| compiled.id == id) {
            return self.instances.get_mut(at);
        }
        let is_stale =
            |compiled: &CompiledInstance| compiled.state == CopyState::Off && compiled.open.is_empty();
        let stale = self.instances.iter().filter(|compiled| is_stale(compiled)).count();
        let mut surplus = stale.saturating_sub(MAX_STALE);
        if self.instances.len() - surplus >= MAX_INSTANCES {
            surplus = stale;
        }
        // Oldest first.
        self.instances.extract_if(.., |compiled| is_stale(compiled)).take(surplus).for_each(drop);
        if self.instances.len() >= MAX_INSTANCES {
            return None;
        }
        let version = if id.rejit_id > self.retired_rejit_id { self.bodies } else { 0 };
        self.instances.push(CompiledInstance { id, version, state: CopyState::Asked, open: Vec::new() });
        self.instances.last_mut()
    }

    /// Marks the instance `id` as the one called now, and those of older bodies as no longer called.
    pub fn supersede(&mut self, id: InstanceId, version: u32) {
        for other in &mut self.instances {
            if other.id == id {
                other.state = CopyState::Live;
            } else if other.version < version && other.state == CopyState::Live {
                other.state = CopyState::Off;
            }
        }
    }

    /// Marks every instance as no longer called.
    pub fn retire_instances(&mut self) {
        for compiled in &mut self.instances {
            self.retired_rejit_id = self.retired_rejit_id.max(compiled.id.rejit_id);
            compiled.open = Vec::new();
            if compiled.state != CopyState::Failed {
                compiled.state = CopyState::Off;
            }
        }
    }

    /// Converts the row for the wire.
    pub fn status(&self, domain: String, calls: u64) -> StatusRow {
        let notes = self.notes();
        StatusRow {
            row: self.id,
            copy: self.identity.copy(),
            method: self.identity.names.method.clone(),
            signature: self.identity.names.signature.clone(),
            module: self.identity.module.name.clone(),
            domain,
            wanted: self.wanted,
            options: self.options,
            state: self.state,
            version: self.live_version,
            instances: self.shown_instances(),
            note: notes.note(),
            times_note: notes.times_note(),
            calls,
        }
    }

    /// Returns its compiled instances for the wire.
    pub fn shown_instances(&self) -> Vec<Instance> {
        self.instances.iter().map(|c| Instance { id: c.id, state: c.state }).collect()
    }

    /// Returns the row's present state.
    pub fn snapshot(&self, t_ms: u64) -> RowSnapshot {
        RowSnapshot {
            row: self.id,
            t_ms,
            wanted: self.wanted,
            options: self.options,
            state: self.state,
            version: self.live_version,
            notes: self.notes(),
        }
    }

    fn notes(&self) -> RowNotes {
        let on = self.wanted > Level::Off;
        let last = self.final_times.as_ref().map(|taken| taken.missing_data);
        let times = self.slot.filter(|_| self.was_timed).map(missing_data::of).or(last).unwrap_or_default();
        RowNotes {
            reason: self.reason,
            inlined: if on { self.inlined } else { Inlined::No },
            expanded: on && self.identity.expanded,
            untimed: self.untimed,
            stepped_down: self.stepped.map(|stepped| SteppedDown {
                to: self.wanted,
                cost: stepped.cost,
                limit: stepped.limit,
            }),
            spared: self.spared && on,
            times,
            missing: self
                .async_role
                .as_ref()
                .filter(|_| self.wanted >= Level::Time)
                .and_then(AsyncRole::missing),
            uncountable_callers: self.wanted >= Level::Time && self.options.callers && !callers::KNOWN,
            ignored_request: on && self.ignored_request.is_some_and(|seen| seen.reported),
        }
    }

    /// Returns the completion counters of the async method that this row's `MoveNext` completes.
    pub fn completes(&self) -> Option<&Arc<Account>> {
        match &self.async_role {
            Some(AsyncRole::Completes(account)) => Some(account),
            _ => None,
        }
    }

    /// Whether it is an async method with completions that are not observed now, but could be.
    pub fn completes_elsewhere(&self) -> bool {
        matches!(self.async_role.as_ref().and_then(AsyncRole::missing), Some(MissingCompletions::Dial(_)))
    }

    /// `ReJITCompilationStarted`: this function was not passed over after all.
    pub(super) fn note_request(&mut self, function: usize) {
        self.ignored_request.take_if(|seen| seen.function == function);
    }
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
