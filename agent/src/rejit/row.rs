//! One row of the ledger: a copy, what is wanted of it and what the runtime does.
#![forbid(unsafe_code)]

use super::asynchronous::Asynchronous;
use super::silence::PassedOver;
use super::why::{Moment, Why};
use crate::catalogue::Module;
use crate::catalogue::names::MethodNames;
use crate::inlining::{Inlined, Method};
use crate::planner::{OrderSeq, Owner, Stepped};
use crate::probes::blocks::Slot;
use crate::probes::body::Probe;
use crate::probes::callers;
use crate::probes::lacks::lacks;
use crate::probes::timers::Taken;
use crate::probes::timing::{Timing, Untimed};
use redial_protocol::ids::{CopyKey, InstanceId, MethodToken, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::{Instance, StatusRow};
use redial_protocol::order::TimeOptions;
use redial_protocol::pattern::Pattern;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::sync::Arc;
use std::time::Instant;

/// Instances listed for one copy; a generic method in a large program may have thousands.
const MAX_INSTANCES: usize = 256;
/// Of them, those that nobody calls any more, once there are new ones: a dial may be turned a thousand times.
const MAX_STALE: usize = 4;

/// A compiled instance of ours.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// (FunctionID, ReJITID).
    pub id: InstanceId,
    /// Our body it was compiled from.
    pub version: u32,
    /// Asked while compiling, live, off, failed.
    pub state: State,
    /// Compilations started and not finished, by thread: tiers and on-stack replacement may overlap on several.
    pub open: Vec<Open>,
}

/// A compilation that was started and not finished.
#[derive(Clone, Copy, Debug)]
pub struct Open {
    /// On which thread.
    pub thread: ThreadMark,
    /// Since when.
    pub since: Instant,
    /// That thread started it once more since.
    pub restarted: bool,
}

/// Tells live threads apart.
pub type ThreadMark = usize;

/// What an allocator keeps beside an allocation, and rounds it up by, on average (glibc: 8 and 0–15 bytes).
const ALLOCATION: usize = 16;

/// Which copy a row is about; it never changes, so it can be looked at without the ledger's lock.
pub struct Identity {
    /// Its module.
    pub module: Arc<Module>,
    /// MethodDef token.
    pub token: u32,
    /// StandAloneSig token of the original body's variables; 0 where it has none.
    pub local_sig: u32,
    /// The JIT may inline it.
    pub inlinable: bool,
    /// It calls itself last.
    pub ends_in_itself: bool,
    /// There may be other code in the place of its calls, even while it must not be inlined.
    pub expanded: bool,
    /// What of its body keeps it from being timed, if so.
    pub untimed: Option<Untimed>,
    /// What it is called.
    pub names: MethodNames,
}

impl Identity {
    /// The copy.
    pub fn copy(&self) -> CopyKey {
        CopyKey { module: self.module.key, token: MethodToken(self.token) }
    }

    /// `Module!Type.Method(PARAMS)`, a pattern for exactly this method.
    pub fn full_name(&self) -> String {
        self.names.full_name(&self.module.name)
    }

    /// One for tests.
    #[cfg(test)]
    pub fn sample(module: Arc<Module>, token: u32) -> Identity {
        let (method, signature) = (format!("Sample.Method{token:x}"), "()".to_owned());
        let (type_name, name) = ("Sample".into(), method.clone());
        let names = MethodNames { method, signature, type_name, name, arity: 0, canonical: None };
        Identity {
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

    /// Bytes allocated for it, the type's name apart, which the methods of a type share.
    fn bytes(&self) -> usize {
        let strings = [&self.names.method, &self.names.signature, &self.names.name].map(String::capacity);
        let canonical = self.names.canonical.as_ref().map_or(0, |canonical| canonical.len());
        let counts = 2 * size_of::<usize>();
        size_of::<Identity>() + counts + strings.iter().sum::<usize>() + canonical + 4 * ALLOCATION
    }

    /// Whether a pattern means this copy.
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
    pub what: Arc<Identity>,
    /// Why it can never be dialled, if so.
    pub ineligible: Option<Reason>,
    /// The latest of the orders that mean it, as of when these were looked at last; it may stand no more. The others
    /// are not kept: they may be thousands, and are found again when this one goes.
    pub decides: Option<OrderSeq>,
    /// What the user asked for.
    pub wanted: Level,
    /// What the user asked for beyond times.
    pub options: TimeOptions,
    /// The level that the CLR was asked for last, while it is on.
    pub asked: Level,
    /// What `timing` and `untimed` were of that request.
    pub asked_times: (Option<Timing>, Option<Untimed>),
    /// The variables of the body it was, or is just being, asked for last, where that is timed.
    pub timing: Option<Timing>,
    /// Why it is only counted though *time* is wanted, if so.
    pub untimed: Option<Untimed>,
    /// What it was found to be when it was to be timed last, if it waits.
    pub asynchronous: Option<Asynchronous>,
    /// The slots in which calls are noted that begin and complete in it, where it is a state machine's `MoveNext`.
    pub noted_in: Option<Slot>,
    /// Whether a timed body was ever asked for: then there are times to tell.
    pub was_timed: bool,
    /// Whether its callers were ever counted: then there are some to tell.
    pub had_callers: bool,
    /// How long the order that decides stands.
    pub owner: Option<Owner>,
    /// Why the budget set the order that decides, if it did.
    pub stepped: Option<Stepped>,
    /// A person turned it up after the budget stepped it down: it is left alone.
    pub spared: bool,
    /// What the runtime does.
    pub state: State,
    /// Bodies handed to the CLR so far.
    pub bodies: u32,
    /// Whether a body was handed over since the last request.
    pub handed: bool,
    /// Original code of it was compiled for the first time although a request stands.
    pub passed_over: Option<PassedOver>,
    /// A request of ours is on its way into the CLR; its acceptance is not known yet.
    pub requesting: bool,
    /// Compiled while `requesting`: goes live as soon as the acceptance is known.
    pub early: bool,
    /// Our live body.
    pub live_version: Option<u32>,
    /// Compiled instances.
    pub instances: Vec<Compiled>,
    /// The largest ReJITID of a body that was turned off: they grow, so what is compiled of it later is known to be old.
    retired: u64,
    /// Why refused or failed, with the HRESULT or 0.
    pub reason: Option<(Reason, u32)>,
    /// Its counters; none before the first turn and after unload.
    pub slot: Option<Slot>,
    /// The slot's sum when it was given, or the final count once it is gone.
    pub slot_start: u64,
    /// Calls counted when the slot was given back.
    pub final_calls: u64,
    /// Its times then.
    pub final_times: Option<Box<Taken>>,
    /// When it was last turned.
    pub turned: Option<Instant>,
    /// Whether compiled callers hold it from before it was dialled, and cannot be recompiled.
    pub inlined: Inlined,
    /// Methods that were compiled with it in them: while it is on they are recompiled without.
    pub inliners: Box<[Method]>,
    /// The runtime was asked to find more of them itself.
    pub by_runtime: bool,
    /// It is asked for once more for the sake of what was inlined into it; its body stays the same.
    pub again: bool,
    /// The runtime may count it among the inliners of others.
    pub stray: bool,
}

impl Row {
    /// A new row, off.
    pub fn new(id: RowId, what: Identity, ineligible: Option<Reason>) -> Row {
        Row {
            id,
            what: Arc::new(what),
            ineligible,
            decides: None,
            wanted: Level::Off,
            options: TimeOptions::default(),
            asked: Level::Off,
            asked_times: (None, None),
            timing: None,
            untimed: None,
            asynchronous: None,
            noted_in: None,
            was_timed: false,
            had_callers: false,
            owner: None,
            stepped: None,
            spared: false,
            state: State::Off,
            bodies: 0,
            handed: false,
            passed_over: None,
            requesting: false,
            early: false,
            live_version: None,
            instances: Vec::new(),
            retired: 0,
            reason: None,
            slot: None,
            slot_start: 0,
            final_calls: 0,
            final_times: None,
            turned: None,
            inlined: Inlined::No,
            inliners: Box::default(),
            by_runtime: false,
            again: false,
            stray: false,
        }
    }

    /// The copy as callbacks name it.
    pub fn method(&self) -> Method {
        (self.what.module.id(), self.what.token)
    }

    /// Bytes allocated for what the row points to, and beside its own.
    pub fn bytes_behind(&self) -> usize {
        let open: usize = self.instances.iter().map(|compiled| compiled.open.capacity()).sum();
        self.what.bytes()
            + self.instances.capacity() * size_of::<Compiled>()
            + self.inliners.len() * size_of::<Method>()
            + open * size_of::<Open>()
            + 4 * ALLOCATION
    }

    /// Whether a turn may ask the CLR for it: refused, failed and lost copies stay as they are.
    pub fn is_dialable(&self) -> bool {
        !matches!(self.state, State::Refused | State::Failed | State::Lost)
    }

    /// Whether a request of ours stands with the CLR.
    pub fn is_on(&self) -> bool {
        matches!(self.state, State::Asked | State::Live)
    }

    /// The level of the request that stands; off: none does.
    pub fn runs(&self) -> Level {
        if self.is_on() { self.asked } else { Level::Off }
    }

    /// Whether the body that the CLR was asked for last tells all that is wanted beyond the level, as far as it can.
    pub fn fits(&self) -> bool {
        self.untimed.is_some() || self.asked_callers() == (self.options.callers && callers::KNOWN)
    }

    /// Whether the body of the request that stands counts callers.
    pub fn asked_callers(&self) -> bool {
        self.asked_times.0.is_some_and(|timing| timing.callers)
    }

    /// Where its body counts, in bytes from the first slot.
    pub fn slot_offset(&self) -> Option<usize> {
        self.slot.map(|slot| slot.0 as usize * size_of::<u64>())
    }

    /// What its body is to have.
    pub fn probe(&self) -> Probe {
        let count = Probe::Count { ends_in_itself: self.what.ends_in_itself };
        self.timing.map_or(count, Probe::Time)
    }

    /// Calls, given the slot's present sum.
    pub fn calls(&self, sum: u64) -> u64 {
        match self.slot {
            Some(_) => sum.saturating_sub(self.slot_start),
            None => self.final_calls,
        }
    }

    /// It runs its original IL again, but for calls under way, if there are some, and needs nobody recompiled.
    pub fn is_off_again(&mut self, in_flight: bool) {
        self.state = if in_flight { State::Reverting } else { State::Off };
        (self.asked, self.asked_times) = (Level::Off, (None, None));
        self.untimed = None;
        self.live_version = None;
        self.handed = false;
        self.passed_over = None;
        self.inliners = Box::default();
        self.by_runtime = false;
        self.stray = false;
        self.retire_instances();
    }

    /// It is asked for anew, at another level: what of the present body is compiled from now on is of an old one.
    pub fn begin_anew(&mut self) {
        let newest = self.instances.iter().map(|compiled| compiled.id.rejit_id).max();
        self.retired = self.retired.max(newest.unwrap_or(0));
    }

    /// The instance with these ids, made when new. None when the list is full.
    pub fn instance(&mut self, id: InstanceId) -> Option<&mut Compiled> {
        if let Some(at) = self.instances.iter().position(|compiled| compiled.id == id) {
            return self.instances.get_mut(at);
        }
        let is_stale = |compiled: &Compiled| compiled.state == State::Off && compiled.open.is_empty();
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
        let version = if id.rejit_id > self.retired { self.bodies } else { 0 };
        self.instances.push(Compiled { id, version, state: State::Asked, open: Vec::new() });
        self.instances.last_mut()
    }

    /// Marks the instance `id` as the one called now; those of older bodies no longer are.
    pub fn supersede(&mut self, id: InstanceId, version: u32) {
        for other in &mut self.instances {
            if other.id == id {
                other.state = State::Live;
            } else if other.version < version && other.state == State::Live {
                other.state = State::Off;
            }
        }
    }

    /// Marks every instance of ours as no longer called.
    pub fn retire_instances(&mut self) {
        for compiled in &mut self.instances {
            self.retired = self.retired.max(compiled.id.rejit_id);
            compiled.open = Vec::new();
            if compiled.state != State::Failed {
                compiled.state = State::Off;
            }
        }
    }

    /// The row as it travels.
    pub fn status(&self, domain: String, calls: u64) -> StatusRow {
        let why = self.why();
        StatusRow {
            row: self.id,
            copy: self.what.copy(),
            method: self.what.names.method.clone(),
            signature: self.what.names.signature.clone(),
            module: self.what.module.name.clone(),
            domain,
            wanted: self.wanted,
            options: self.options,
            state: self.state,
            version: self.live_version,
            instances: self.shown_instances(),
            note: why.note(),
            times_note: why.times_note(),
            calls,
        }
    }

    /// Its compiled instances as they travel.
    pub fn shown_instances(&self) -> Vec<Instance> {
        self.instances.iter().map(|c| Instance { id: c.id, state: c.state }).collect()
    }

    /// The row's present state.
    pub fn moment(&self, t_ms: u64) -> Moment {
        Moment {
            row: self.id,
            t_ms,
            wanted: self.wanted,
            options: self.options,
            state: self.state,
            version: self.live_version,
            why: self.why(),
        }
    }

    fn why(&self) -> Why {
        let on = self.wanted > Level::Off;
        let last = self.final_times.as_ref().map(|taken| taken.lacks);
        let times = self.slot.filter(|_| self.was_timed).map(lacks).or(last).unwrap_or_default();
        Why {
            reason: self.reason,
            inlined: if on { self.inlined } else { Inlined::No },
            expanded: on && self.what.expanded,
            untimed: self.untimed,
            stepped: self.stepped.map(|stepped| (self.wanted, stepped.cost, stepped.limit)),
            spared: self.spared && on,
            times,
            missing: self
                .asynchronous
                .as_ref()
                .filter(|_| self.wanted >= Level::Time)
                .and_then(Asynchronous::missing),
            untold_callers: self.wanted >= Level::Time && self.options.callers && !callers::KNOWN,
            passed_over: on && self.passed_over.is_some_and(|seen| seen.told),
        }
    }
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
