//! Compilations of the ledger's copies: the bodies that the runtime gets, and the results of its compilations.
#![forbid(unsafe_code)]

use super::bodies::{OpenCompilation, ThreadMark};
use super::request_state::{RequestProgress, RequestState};
use super::state::LedgerState;
use crate::instrument::instrumented_body::Probe;
use redial_protocol::ids::{InstanceId, RowId};
use redial_protocol::state::CopyState;
use std::time::{Duration, Instant};
use windows_core::HRESULT;

/// The answer to the CLR for a requested version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestedBody {
    /// This row's body, with its slot's offset in bytes, and its probe.
    Body(RowId, usize, Probe),
    /// Nothing: the original IL, recompiled.
    Original,
    /// Nothing; the runtime found the copy among inliners, and perhaps no row needs that any more.
    UnexpectedOriginal,
}

/// The consequence of a finished compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Fine,
    /// The body does not compile: revert and quarantine the row.
    Bad(RowId),
}

impl LedgerState {
    /// Answers the CLR's request for the body of this copy: a dialled copy, or a recompiled caller.
    pub fn requested_body(&mut self, module_id: usize, token: u32) -> RequestedBody {
        let of_row = self.find(module_id, token).and_then(|id| self.row_mut(id));
        let wanted = of_row.filter(|row| row.counts());
        let Some((row, slot)) = wanted.and_then(|row| row.slot_offset().map(|slot| (row, slot))) else {
            return match self.recompiled_callers.is_known_or_add((module_id, token)) {
                true => RequestedBody::Original,
                false => RequestedBody::UnexpectedOriginal,
            };
        };
        // Not the first body for this request, and not requested again: the runtime found it among inliners.
        row.inlining.found_by_runtime |= !row.bodies.deliver();
        RequestedBody::Body(row.id, slot, row.probe())
    }

    /// `ReJITCompilationStarted`. If a thread starts a version that it still has open, it either never finished it
    /// or compiles it from within itself (through a resolver of the host); [`LedgerState::stuck_compilations`]
    /// finds out later.
    pub fn started(&mut self, module_id: usize, token: u32, id: InstanceId) {
        let Some(row) = self.find(module_id, token).and_then(|row| self.row_mut(row)) else { return };
        if !row.bodies.is_delivered() {
            return;
        }
        row.note_request(id.function_id as usize);
        let Some(compiled) = row.bodies.instance(id) else { return };
        let thread = this_thread();
        match compiled.open.iter_mut().find(|open| open.thread == thread) {
            Some(open) => open.restarted = true,
            None => compiled.open.push(OpenCompilation { thread, since: Instant::now(), restarted: false }),
        }
    }

    /// `ReJITCompilationFinished`.
    pub fn finished(
        &mut self,
        module_id: usize,
        token: u32,
        id: InstanceId,
        status: HRESULT,
        now: u64,
    ) -> Verdict {
        // The CLR keeps versions of recompiled callers, too.
        self.add_compilation();
        let Some(row_id) = self.find(module_id, token) else { return Verdict::Fine };
        let Some(row) = self.row_mut(row_id) else { return Verdict::Fine };
        let newest = row.bodies.newest();
        let Some(compiled) = row.bodies.instance(id) else { return Verdict::Fine };
        let thread = this_thread();
        compiled.open.retain(|open| open.thread != thread);
        if compiled.open.is_empty() {
            // Most instances never compile again, and large programs have many.
            compiled.open = Vec::new();
        }
        if status.is_err() {
            compiled.state = CopyState::Failed;
            return Verdict::Bad(row_id);
        }
        let current = compiled.version == newest;
        let was_live = std::mem::replace(&mut compiled.state, CopyState::Off) == CopyState::Live;
        if current && row.bodies.is_delivered() && (row.is_requesting() || row.is_on()) {
            row.bodies.supersede(id);
            if row.is_requesting() {
                row.progress = RequestProgress::CompiledEarly;
            } else if row.runs_newest_body() && !was_live {
                // One more instance of a copy that is live.
                self.record_transition(row_id, now);
            } else {
                self.go_live(row_id, now);
            }
        }
        Verdict::Fine
    }

    /// Marks the newest body as live; announces it once per version.
    pub fn go_live(&mut self, id: RowId, now: u64) {
        let Some(row) = self.row_mut(id) else { return };
        let Some(request) = row.state.active().filter(|_| !row.runs_newest_body()) else { return };
        row.state = RequestState::Live { request, version: row.bodies.newest() };
        self.record_transition(id, now);
    }

    /// Records that the current thread begins or finishes to load a module: a compilation of it is not stuck.
    pub fn note_module_load(&mut self, now: Instant) {
        self.module_loads.insert(this_thread(), now);
    }

    /// Returns instances whose compilation has been open longer than `once` since its thread last loaded a module, or
    /// started again and open longer than `restarted`.
    pub fn stuck_compilations(
        &mut self,
        now: Instant,
        restarted: Duration,
        once: Duration,
    ) -> Vec<(RowId, InstanceId)> {
        let is_over = |since: Instant, limit: Duration| now.saturating_duration_since(since) > limit;
        self.module_loads.retain(|_, last| !is_over(*last, once));
        let loads = &self.module_loads;
        let open_too_long = |open: &OpenCompilation| match open.restarted {
            true => is_over(open.since, restarted),
            false => is_over(open.since, once) && !loads.contains_key(&open.thread),
        };
        self.rows()
            .iter()
            .filter(|row| row.is_on())
            .flat_map(|row| row.bodies.instances().iter().map(move |compiled| (row.id, compiled)))
            .filter(|(_, compiled)| compiled.open.iter().any(open_too_long))
            .map(|(id, compiled)| (id, compiled.id))
            .collect()
    }

    /// Forgets the open compilations of an instance that turned out to have code.
    pub fn close(&mut self, row: RowId, id: InstanceId) {
        if let Some(compiled) = self.row_mut(row).and_then(|row| row.bodies.instance(id)) {
            compiled.open = Vec::new();
        }
    }
}

/// Returns the address of a thread-local: unique among live threads, without a system call.
fn this_thread() -> ThreadMark {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.try_with(|mark| std::ptr::from_ref(mark).addr()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Module;
    use crate::ledger::copy_identity::CopyIdentity;
    use crate::ledger::request_state::ActiveRequest;
    use crate::ledger::row_timing::BodyTiming;
    use redial_protocol::ids::ModuleKey;
    use redial_protocol::level::Level;
    use std::sync::Arc;

    #[test]
    fn a_thread_that_loads_modules_is_not_stuck() {
        let mut ledger = LedgerState::default();
        let key = ModuleKey { module_id: 1, generation: 1 };
        let module = Arc::new(Module::sample(key, "A"));
        let row = ledger.add_row(CopyIdentity::sample(module, 0x0600_0001), None).unwrap();
        let request = ActiveRequest { level: Level::Count, body: BodyTiming::NotWanted };
        ledger.row_mut(row).unwrap().state = RequestState::Asked { request, live_version: None };
        ledger.row_mut(row).unwrap().bodies.deliver();
        let instance = InstanceId { function_id: 7, rejit_id: 1 };
        ledger.started(1, 0x0600_0001, instance);
        let begun = Instant::now();
        let after = |seconds| begun + Duration::from_secs(seconds);
        let is_stuck = |ledger: &mut LedgerState, seconds| {
            let stuck = ledger.stuck_compilations(
                after(seconds),
                Duration::from_millis(500),
                Duration::from_secs(10),
            );
            assert!(stuck.is_empty() || stuck == [(row, instance)]);
            !stuck.is_empty()
        };
        assert_eq!((is_stuck(&mut ledger, 9), is_stuck(&mut ledger, 11)), (false, true));
        ledger.note_module_load(after(8));
        assert_eq!((is_stuck(&mut ledger, 17), is_stuck(&mut ledger, 19)), (false, true));
        assert!(ledger.module_loads.is_empty(), "a load that no longer matters is forgotten");
        std::thread::scope(|scope| scope.spawn(|| ledger.note_module_load(after(19))).join()).unwrap();
        assert!(is_stuck(&mut ledger, 20), "another thread's load");
        ledger.note_module_load(after(20));
        ledger.started(1, 0x0600_0001, instance);
        assert!(is_stuck(&mut ledger, 21), "the thread started it again, so it failed before");
    }
}
