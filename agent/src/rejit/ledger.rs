//! The ledger: every copy that is or was dialled, with wanted and actual, and the ring of what changed.
//!
//! One lock, held for short work only: host threads take it inside callbacks. Never across a call into the CLR, nor while
//! threads' numbers are added up (debug builds see to that: `sync::long_work`).
//!
//! Order of locks: a watcher's pass (`server/subscription.rs`), a module's readers (`Module::with_metadata`) or the
//! compilations under way (`inlining/underway.rs`), then the ledger, then a module's signatures (`Module::local_sigs`). No
//! other lock is held when the ledger's is taken, nor taken under it.
#![forbid(unsafe_code)]

use super::passengers::Passengers;
use super::reverting::Reverting;
use super::row::{Identity, Moment, Open, Row, ThreadMark};
use super::slots::{Last, Slots};
use super::table::Table;
use crate::inlining::Method;
use crate::planner::Owner;
use crate::probes::blocks::Slot;
use crate::probes::body::Probe;
use crate::sync::{Short, lock};
use redial_protocol::ids::{InstanceId, ModuleKey, RowId};
use redial_protocol::level::Level;
use redial_protocol::message::Transition;
use redial_protocol::order::TimeOptions;
use redial_protocol::reason::Reason;
use redial_protocol::state::State;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::{Deref, DerefMut};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use windows_core::HRESULT;

/// Transitions kept for sessions that have not read them yet; a session that falls further behind is told how many
/// it missed and sees the rows' present state.
const RING: usize = 16_384;

/// The table with its lock and its signal.
pub struct Ledger {
    book: Mutex<Book>,
    changed: Condvar,
    started: Instant,
}

/// What the lock guards.
#[derive(Default)]
pub struct Book {
    rows: Table,
    /// Rows of loaded modules by what callbacks bring: ModuleID, then the row of the MethodDef table.
    live: HashMap<usize, Vec<Option<RowId>>>,
    ring: VecDeque<Moment>,
    /// Number of the ring's first entry.
    ring_first: u64,
    /// Which rows have counters.
    pub slots: Slots,
    compilations: u64,
    /// Copies recompiled for the sake of what was inlined into them.
    pub passengers: Passengers,
    /// What is to be asked for and could not be, because it was being inlined.
    pub put_off: PutOff,
    /// Rows that may have calls under way in bodies they no longer run.
    pub reverting: Reverting,
    /// Rows that the runtime passed over, and that were not told of.
    pub(super) silent: BTreeSet<RowId>,
    stopping: bool,
}

/// What a request left out.
#[derive(Default)]
pub struct PutOff {
    /// Rows.
    pub rows: BTreeSet<RowId>,
    /// Passengers, and rows that become some.
    pub passengers: HashSet<Method>,
}

impl PutOff {
    /// Whether nothing is.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.passengers.is_empty()
    }
}

/// What the CLR gets for a version that was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandOver {
    /// This row's body, with its slot's offset in bytes, and what it is to have.
    Body(RowId, usize, Probe),
    /// Nothing: the original IL, compiled anew.
    Nothing,
    /// Nothing; the runtime found it among inliners, and perhaps nobody needs that any more.
    Stray,
}

/// What a finished compilation means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing to do.
    Fine,
    /// That body does not compile: revert and quarantine the row.
    Bad(RowId),
}

impl Default for Ledger {
    fn default() -> Ledger {
        Ledger { book: Mutex::default(), changed: Condvar::new(), started: Instant::now() }
    }
}

/// The table, locked.
pub struct Locked<'a> {
    book: MutexGuard<'a, Book>,
    _short: Short,
}

impl Deref for Locked<'_> {
    type Target = Book;

    fn deref(&self) -> &Book {
        &self.book
    }
}

impl DerefMut for Locked<'_> {
    fn deref_mut(&mut self) -> &mut Book {
        &mut self.book
    }
}

impl Ledger {
    /// Milliseconds of the agent's monotonic clock.
    pub fn now_ms(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    /// Locks the table. Keep it short.
    pub fn book(&self) -> Locked<'_> {
        Locked { book: lock(&self.book), _short: Short::begin() }
    }

    /// Locks the table and tells waiting sessions afterwards that something changed.
    pub fn change<T>(&self, body: impl FnOnce(&mut Book, u64) -> T) -> T {
        let now = self.now_ms();
        let result = body(&mut self.book(), now);
        self.changed.notify_all();
        result
    }

    /// Waits until the ring passes `seen`, the agent stops, `other` holds at a [`Ledger::wake`], or `timeout`.
    pub fn wait(&self, seen: u64, timeout: Duration, other: impl Fn() -> bool) {
        let book = lock(&self.book);
        let nothing_new = |book: &mut Book| book.ring_end() <= seen && !book.stopping && !other();
        let _guard = self
            .changed
            .wait_timeout_while(book, timeout, nothing_new)
            .unwrap_or_else(|poisoned| poisoned.into_inner());
    }

    /// Lets everyone who waits look at what else they wait for.
    pub fn wake(&self) {
        // Under the lock, so that nobody is between looking and waiting.
        let _book = self.book();
        self.changed.notify_all();
    }

    /// Tells everyone who waits that the agent stops.
    pub fn stop(&self) {
        self.change(|book, _| book.stopping = true);
    }
}

impl Book {
    /// Whether the agent stops.
    pub fn stopping(&self) -> bool {
        self.stopping
    }

    /// Every row, in order of [`RowId`].
    pub fn rows(&self) -> &Table {
        &self.rows
    }

    /// A row.
    pub fn row(&self, id: RowId) -> Option<&Row> {
        self.rows.get(id)
    }

    /// A row, to change.
    pub fn row_mut(&mut self, id: RowId) -> Option<&mut Row> {
        self.rows.get_mut(id)
    }

    /// Compilations that we caused so far, all versions and tiers.
    pub fn compilations(&self) -> u64 {
        self.compilations
    }

    /// Makes the row of a copy that has none. None when there is no room.
    pub fn add_row(&mut self, what: Identity, ineligible: Option<Reason>) -> Option<RowId> {
        let (module, at) = (what.module.id(), index(what.token));
        let id = self.rows.add(what, ineligible)?;
        let of_module = self.live.entry(module).or_default();
        if of_module.len() <= at {
            of_module.resize(at + 1, None);
        }
        if let Some(entry) = of_module.get_mut(at) {
            *entry = Some(id);
        }
        Some(id)
    }

    /// The row a callback means.
    pub fn find(&self, module_id: usize, token: u32) -> Option<RowId> {
        self.live.get(&module_id)?.get(index(token)).copied().flatten()
    }

    /// Whether a request of ours stands for a copy.
    pub fn is_on(&self, method: Method) -> bool {
        self.find(method.0, method.1).and_then(|id| self.row(id)).is_some_and(Row::is_on)
    }

    /// Puts a row's present state into the ring.
    pub fn announce(&mut self, id: RowId, now: u64) {
        let Some(moment) = self.row(id).map(|row| row.moment(now)) else { return };
        if self.ring.len() >= RING {
            self.ring.pop_front();
            self.ring_first += 1;
        }
        self.ring.push_back(moment);
    }

    /// Number the next transition will have.
    pub fn ring_end(&self) -> u64 {
        self.ring_first + self.ring.len() as u64
    }

    /// Transitions from number `seen` on, at most `limit`, and how many were lost before them. The last of each row
    /// brings the instances there are now: the ring keeps none, a generic method may have hundreds.
    pub fn transitions(&self, seen: u64, limit: usize) -> (Vec<Transition>, u64) {
        let lost = self.ring_first.saturating_sub(seen);
        let skip = seen.saturating_sub(self.ring_first) as usize;
        let moments: Vec<&Moment> = self.ring.iter().skip(skip).take(limit).collect();
        let mut brought = HashSet::new();
        let told = |moment: &&Moment| {
            let row = self.row(moment.row).filter(|_| brought.insert(moment.row));
            moment.told(row.map(Row::shown_instances).unwrap_or_default())
        };
        let mut page: Vec<Transition> = moments.iter().rev().map(told).collect();
        page.reverse();
        (page, lost)
    }

    /// The CLR asks for the body of a version of this copy that was requested, by us or for the sake of what was inlined
    /// into it.
    pub fn hand_over(&mut self, module_id: usize, token: u32) -> HandOver {
        let of_row = self.find(module_id, token).and_then(|id| self.row_mut(id));
        let wanted = of_row.filter(|row| row.wanted > Level::Off && (row.requesting || row.is_on()));
        let Some((row, slot)) = wanted.and_then(|row| row.slot_offset().map(|slot| (row, slot))) else {
            return self.passengers.come((module_id, token));
        };
        // Not the first body of this request, and not asked for again: the runtime found it among inliners.
        row.stray |= row.handed && !std::mem::take(&mut row.again);
        if !row.handed {
            row.handed = true;
            row.bodies += 1;
        }
        HandOver::Body(row.id, slot, row.probe())
    }

    /// `ReJITCompilationStarted`. A thread that begins the same version anew while it has it open either never
    /// finished it or compiles it from within itself (a resolver of the host's ran); [`Book::doubtful`] tells later.
    pub fn started(&mut self, module_id: usize, token: u32, id: InstanceId) {
        let Some(row) = self.find(module_id, token).and_then(|row| self.row_mut(row)) else { return };
        if !row.handed {
            return;
        }
        row.was_asked_for(id.function_id as usize);
        let Some(compiled) = row.instance(id) else { return };
        let thread = this_thread();
        match compiled.open.iter_mut().find(|open| open.thread == thread) {
            Some(open) => open.restarted = true,
            None => compiled.open.push(Open { thread, since: Instant::now(), restarted: false }),
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
        // Passengers' versions are kept by the CLR like ours.
        self.compilations += 1;
        let Some(row_id) = self.find(module_id, token) else { return Verdict::Fine };
        let Some(row) = self.row_mut(row_id) else { return Verdict::Fine };
        let bodies = row.bodies;
        let Some(compiled) = row.instance(id) else { return Verdict::Fine };
        let thread = this_thread();
        compiled.open.retain(|open| open.thread != thread);
        if status.is_err() {
            compiled.state = State::Failed;
            return Verdict::Bad(row_id);
        }
        let current = compiled.version == bodies;
        let was_live = std::mem::replace(&mut compiled.state, State::Off) == State::Live;
        if current && row.handed && (row.requesting || row.is_on()) {
            row.supersede(id, bodies);
            if row.requesting {
                row.early = true;
            } else if row.state == State::Live && row.live_version == Some(bodies) && !was_live {
                // One more instantiation of a copy that is live.
                self.announce(row_id, now);
            } else {
                self.go_live(row_id, now);
            }
        }
        Verdict::Fine
    }

    /// The newest body is in use. Says so once a version.
    pub fn go_live(&mut self, id: RowId, now: u64) {
        let Some(row) = self.row_mut(id) else { return };
        if row.state == State::Live && row.live_version == Some(row.bodies) {
            return;
        }
        row.state = State::Live;
        row.live_version = Some(row.bodies);
        self.announce(id, now);
    }

    /// Instances with a compilation open longer than `once`, or begun anew and open longer than `restarted`.
    pub fn doubtful(&self, restarted: Duration, once: Duration) -> Vec<(RowId, InstanceId)> {
        let open_too_long =
            |open: &Open| open.since.elapsed() > if open.restarted { restarted } else { once };
        self.rows
            .iter()
            .filter(|row| row.is_on())
            .flat_map(|row| row.instances.iter().map(move |compiled| (row.id, compiled)))
            .filter(|(_, compiled)| compiled.open.iter().any(open_too_long))
            .map(|(id, compiled)| (id, compiled.id))
            .collect()
    }

    /// Forgets the open compilations of an instance that turned out to have code.
    pub fn close(&mut self, row: RowId, id: InstanceId) {
        if let Some(compiled) = self.row_mut(row).and_then(|row| row.instance(id)) {
            compiled.open.clear();
        }
    }

    /// Marks a row failed or refused.
    pub fn fail(&mut self, id: RowId, state: State, reason: Reason, hresult: u32, now: u64) {
        // A lost copy stays lost, whatever is learnt of it afterwards.
        if let Some(row) = self.row_mut(id).filter(|row| row.state != State::Lost) {
            row.state = state;
            row.live_version = None;
            row.reason = Some((reason, hresult));
            row.retire_instances();
            self.announce(id, now);
        }
    }

    /// The rows of a loaded module, ascending.
    pub(super) fn rows_of(&self, key: ModuleKey) -> Vec<RowId> {
        let of_module = self.live.get(&(key.module_id as usize)).into_iter().flatten().copied().flatten();
        let is_of_it = |id: &RowId| self.row(*id).is_some_and(|row| row.what.module.key == key);
        let mut rows: Vec<RowId> = of_module.filter(is_of_it).collect();
        rows.sort_unstable();
        rows
    }

    /// A module unloads: its rows are lost, with these last numbers. Answers the slots they had, and which were timed in;
    /// they are nobody's now.
    pub(super) fn lose(
        &mut self,
        key: ModuleKey,
        mut last: HashMap<RowId, Last>,
        now: u64,
    ) -> Vec<(Slot, bool)> {
        let lost = self.rows_of(key);
        let mut freed = Vec::new();
        for id in lost.iter().copied() {
            let Some(row) = self.rows.get_mut(id) else { continue };
            if let Some(slot) = row.slot.take() {
                // A row that got its slot only now was not called.
                let last = last.remove(&id).unwrap_or_default();
                (row.final_calls, row.final_times) = (last.calls, last.times);
                freed.push((slot, row.was_timed));
            }
            row.state = State::Lost;
            (row.wanted, row.options) = (Level::Off, TimeOptions::default());
            row.live_version = None;
            row.reason = Some((Reason::Unloaded, 0));
            row.retire_instances();
            if let Some(entry) = self
                .live
                .get_mut(&(key.module_id as usize))
                .and_then(|rows| rows.get_mut(index(row.what.token)))
            {
                *entry = None;
            }
            self.announce(id, now);
        }
        self.passengers.forget(key.module_id as usize);
        // Modules that come and go leave no lists behind.
        if self.live.get(&(key.module_id as usize)).is_some_and(|rows| rows.iter().all(Option::is_none)) {
            self.live.remove(&(key.module_id as usize));
        }
        self.slots.forget(&lost);
        self.rows.retire(lost);
        freed
    }

    /// Copies live, and how many stand (asked or live) by kept and by held orders.
    pub fn totals(&self) -> (u64, u64, u64) {
        let on = self.rows.iter().filter(|row| row.is_on());
        on.fold((0, 0, 0), |(live, kept, held), row| {
            let live = live + u64::from(row.state == State::Live);
            match row.owner {
                Some(Owner::Held(_)) => (live, kept, held + 1),
                _ => (live, kept + 1, held),
            }
        })
    }

    /// Bytes of the table: what was allocated for it, each allocation with what the allocator keeps beside it.
    pub fn bytes(&self) -> usize {
        let live: usize = self.live.values().map(|rows| rows.capacity() * size_of::<Option<RowId>>()).sum();
        self.rows.bytes()
            + live
            + self.slots.bytes()
            + self.ring.capacity() * size_of::<Moment>()
            + self.passengers.bytes()
    }
}

/// Number of a MethodDef token's row.
fn index(token: u32) -> usize {
    (token & 0x00FF_FFFF) as usize
}

/// The address of a thread-local: unique among live threads, and no system call.
fn this_thread() -> ThreadMark {
    thread_local!(static MARK: u8 = const { 0 });
    MARK.try_with(|mark| std::ptr::from_ref(mark).addr()).unwrap_or(0)
}
