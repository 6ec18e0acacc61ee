//! A row of the ledger: a copy, its wanted level, and what the runtime runs.
#![forbid(unsafe_code)]

use super::async_role::{AsyncRole, MissingCompletions};
use super::bodies::Bodies;
use super::copy_identity::CopyIdentity;
use super::counters::Counters;
use super::request_state::{IgnoredRequest, RequestProgress, RequestState};
use super::row_inlining::RowInlining;
use super::row_notes::{RowNotes, RowSnapshot};
use super::row_timing::{BodyTiming, RowTiming};
use super::wanted_dial::WantedDial;
use crate::inlining::{Inlined, Method};
use crate::instrument::instrumented_body::Probe;
use crate::instrument::traced_method::TracedBody;
use crate::probes::callers;
use crate::probes::completions::Account;
use redial_protocol::condition::ConditionError;
use redial_protocol::diagnostics::SteppedDown;
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::message::StatusRow;
use redial_protocol::reason::Reason;
use redial_protocol::state::CopyState;
use std::sync::Arc;
use std::time::Instant;

/// A copy that is or was dialled (or refused).
pub struct Row {
    /// Its index.
    pub id: RowId,
    /// The copy.
    pub identity: Arc<CopyIdentity>,
    /// Why it can never be dialled, if so.
    pub ineligible: Option<Reason>,
    /// The dial that the orders give it.
    pub wanted: WantedDial,
    /// Its actual state in the runtime.
    pub state: RequestState,
    /// The progress of its next request.
    pub progress: RequestProgress,
    /// Its original code was compiled for the first time despite an active request.
    pub ignored_request: Option<IgnoredRequest>,
    /// Why refused or failed, with the HRESULT or 0.
    pub reason: Option<(Reason, u32)>,
    /// Why the wanted condition does not fit it, for [`Reason::Condition`].
    pub misfit: Option<Box<ConditionError>>,
    /// When its dial last changed.
    pub changed_at: Option<Instant>,
    /// The bodies passed to the CLR, and the instances compiled from them.
    pub bodies: Bodies,
    /// How its body times calls.
    pub timing: RowTiming,
    /// Its counters.
    pub counters: Counters,
    /// The callers that have inlined it.
    pub inlining: RowInlining,
}

impl Row {
    /// Makes a new row, off.
    pub fn new(id: RowId, identity: CopyIdentity, ineligible: Option<Reason>) -> Row {
        Row {
            id,
            identity: Arc::new(identity),
            ineligible,
            wanted: WantedDial::default(),
            state: RequestState::Off,
            progress: RequestProgress::Idle,
            ignored_request: None,
            reason: None,
            misfit: None,
            changed_at: None,
            bodies: Bodies::default(),
            timing: RowTiming::default(),
            counters: Counters::None,
            inlining: RowInlining::default(),
        }
    }

    /// Returns the copy as callbacks identify it.
    pub fn method(&self) -> Method {
        (self.identity.module.id(), self.identity.token)
    }

    /// Whether a change may request it: refused, failed and lost copies stay as they are.
    pub fn is_dialable(&self) -> bool {
        !matches!(self.state, RequestState::Refused | RequestState::Failed | RequestState::Lost)
    }

    /// Whether it was refused and another level, or another condition, may succeed. A row with counters reaches the budget only
    /// when there is no memory for its condition.
    pub fn refusal_depends_on_order(&self) -> bool {
        let has_counters = self.counters.slot().is_some();
        self.reason
            .is_some_and(|(reason, _)| reason.depends_on_order() || reason == Reason::Budget && has_counters)
    }

    /// Whether it has an active ReJIT request.
    pub fn is_on(&self) -> bool {
        self.state.active().is_some()
    }

    /// Whether a request for it is on its way into the CLR.
    pub fn is_requesting(&self) -> bool {
        self.progress != RequestProgress::Idle
    }

    /// Whether its calls are counted, or will be as soon as it is called.
    pub fn counts(&self) -> bool {
        self.wanted.is_on() && (self.is_on() || self.is_requesting())
    }

    /// Whether it should be off, and runs no instrumented code although it has an active request: the CLR has not
    /// asked for the body yet, and none of an earlier request is live or being compiled.
    pub(super) fn awaits_unwanted_body(&self) -> bool {
        let is_asked = matches!(self.state, RequestState::Asked { live_version: None, .. });
        let is_in_use = |state| matches!(state, CopyState::Asked | CopyState::Live);
        is_asked
            && !self.wanted.is_on()
            && !self.is_requesting()
            && !self.bodies.is_delivered()
            && !self.bodies.instances().iter().any(|compiled| is_in_use(compiled.state))
    }

    /// Whether the newest body is live.
    pub(super) fn runs_newest_body(&self) -> bool {
        matches!(self.state, RequestState::Live { version, .. } if version == self.bodies.newest())
    }

    /// Returns the level of its active request; off if it has none.
    pub fn runs(&self) -> Level {
        self.state.active().map_or(Level::Off, |request| request.level)
    }

    /// Whether the last requested body has all wanted options beyond the level, as far as possible.
    pub fn fits(&self) -> bool {
        self.timing.body.untimed().is_some()
            || self.requested_callers() == (self.wanted.options.callers && callers::KNOWN)
                && self.requested_stacks() == (self.wanted.options.stack && callers::KNOWN)
                && self.is_traced_as_wanted()
    }

    /// Whether the body of its active request has the wanted condition, and captures stacks as wanted, if it is traced.
    fn is_traced_as_wanted(&self) -> bool {
        let traced = self.state.active().and_then(|request| request.body.trace());
        let is_wanted = |body: &TracedBody| {
            body.condition() == self.wanted.condition.as_deref()
                && body.method.captures_stack() == self.wanted.options.stack
        };
        traced.is_none_or(is_wanted)
    }

    /// Whether the body of its active request counts callers.
    pub fn requested_callers(&self) -> bool {
        self.state.active().is_some_and(|request| request.body.counts_callers())
    }

    /// Whether the body of its active request keeps the stacks of the slowest calls.
    pub fn requested_stacks(&self) -> bool {
        self.state.active().is_some_and(|request| request.body.keeps_stacks())
    }

    /// Returns the position of its counters, in bytes from the first slot.
    pub fn slot_offset(&self) -> Option<usize> {
        self.counters.slot().map(|slot| slot.0 as usize * size_of::<u64>())
    }

    /// Returns the probe for its body.
    pub fn probe(&self) -> Probe {
        match self.timing.body {
            BodyTiming::Timed(timing) => Probe::Time(timing),
            BodyTiming::NotWanted | BodyTiming::Untimed(_) => {
                Probe::Count { ends_in_itself: self.identity.ends_in_itself }
            }
        }
    }

    /// Sets it to its original IL (reverting while calls are in flight), so that it needs no recompiled callers.
    pub(super) fn reset_to_original(&mut self, in_flight: bool) {
        self.state = if in_flight { RequestState::Reverting } else { RequestState::Off };
        self.ignored_request = None;
        self.bodies.expect();
        self.bodies.retire_instances();
        self.timing.body = BodyTiming::NotWanted;
        self.inlining.reset();
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
            wanted: self.wanted.level,
            options: self.wanted.options,
            state: self.state.name(),
            version: self.state.live_version(),
            instances: self.bodies.shown_instances(),
            note: notes.note(),
            times_note: notes.times_note(),
            calls,
        }
    }

    /// Returns the row's present state.
    pub fn snapshot(&self, t_ms: u64) -> RowSnapshot {
        RowSnapshot {
            row: self.id,
            t_ms,
            wanted: self.wanted.level,
            options: self.wanted.options,
            state: self.state.name(),
            version: self.state.live_version(),
            notes: self.notes(),
        }
    }

    fn notes(&self) -> RowNotes {
        let WantedDial { level, options, stepped, spared, .. } = self.wanted;
        let (on, timed) = (self.wanted.is_on(), self.wanted.is_timed());
        RowNotes {
            reason: self.reason,
            inlined: if on { self.inlining.inlined } else { Inlined::No },
            expanded: on && self.identity.expanded,
            untimed: self.timing.body.untimed(),
            stepped_down: stepped.map(|stepped| SteppedDown {
                to: level,
                cost: stepped.cost,
                limit: stepped.limit,
            }),
            spared: spared && on,
            times: self.counters.missing_times(),
            missing: self.missing_completions().filter(|_| timed),
            uncountable_callers: timed && options.callers && !callers::KNOWN,
            ignored_request: on && self.ignored_request.is_some_and(|seen| seen.reported),
        }
    }

    fn missing_completions(&self) -> Option<MissingCompletions> {
        self.timing.async_role.as_ref().and_then(AsyncRole::missing)
    }

    /// Returns the completion counters of the async method that this row's `MoveNext` completes.
    pub fn completes(&self) -> Option<&Arc<Account>> {
        match &self.timing.async_role {
            Some(AsyncRole::Completes(account)) => Some(account),
            _ => None,
        }
    }

    /// Whether it is an async method with completions that are not observed now, but could be.
    pub fn completes_elsewhere(&self) -> bool {
        matches!(self.missing_completions(), Some(MissingCompletions::Dial(_)))
    }

    /// `ReJITCompilationStarted`: this function was not passed over after all.
    pub(super) fn note_request(&mut self, function: usize) {
        self.ignored_request.take_if(|seen| seen.function == function);
    }
}

#[cfg(test)]
#[path = "row_tests.rs"]
mod tests;
