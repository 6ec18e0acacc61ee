//! Counts thrown exceptions by class and throwing method while anybody asks for them, without a dial.
//!
//! The runtime reports a throw, then the frames that it searches for a handler; the first of these is the method that
//! threw. Both reports come on the throwing thread. Counting takes no lock and nothing from the heap.

mod counts;
mod slots;

pub use counts::{CountKey, Counter, Counts, Verdict};
pub use slots::{Slots, TakenException, Throw};

use super::exception_chain::has_stack_trace;
use super::exception_stack::ExceptionClass;
use crate::platform;
use slots::Claim;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Classes, methods and single exceptions in memory: about 0.8 MiB, made when first asked for and kept.
const MAX_CLASSES: usize = 1024;
const MAX_METHODS: usize = 4096;
const MAX_EXCEPTIONS: usize = 512;

/// Number of sessions that ask for exceptions.
static WANTED: AtomicU32 = AtomicU32::new(0);
/// Number of times that the first session began to.
static EPOCH: AtomicU32 = AtomicU32::new(0);
static TABLES: OnceLock<Tables> = OnceLock::new();

thread_local! {
    static PENDING: Cell<Option<Pending>> = const { Cell::new(None) };
}

/// A throw whose method is not known yet.
#[derive(Clone, Copy)]
struct Pending {
    epoch: u32,
    class: u32,
    generation: u32,
    rethrown: bool,
    within_rate: bool,
    claim: Option<Claim>,
}

/// What the throwing threads write.
pub struct Tables {
    /// The classes.
    pub classes: Counts,
    /// The methods that throw exceptions of each class.
    pub methods: Counts,
    /// Single exceptions.
    pub slots: Slots,
    /// Throws without a counter, because a table is full: all, and the rethrown ones.
    pub others: Counter,
    /// Single exceptions that may still be sent.
    tokens: AtomicI64,
}

/// Whether anybody asks for exceptions.
pub fn any() -> bool {
    WANTED.load(Ordering::Relaxed) > 0
}

/// Sets the number of sessions that ask for exceptions.
pub fn set_wanted(sessions: u32) {
    if sessions > 0 && !any() {
        EPOCH.fetch_add(1, Ordering::Relaxed);
    }
    WANTED.store(sessions, Ordering::Relaxed);
}

/// Returns the tables, made if necessary.
pub fn tables() -> &'static Tables {
    TABLES.get_or_init(|| Tables {
        classes: Counts::new(MAX_CLASSES),
        methods: Counts::new(MAX_METHODS),
        slots: Slots::new(MAX_EXCEPTIONS),
        others: Counter::default(),
        tokens: AtomicI64::new(0),
    })
}

/// Returns the bytes of the tables.
pub fn used_bytes() -> usize {
    TABLES
        .get()
        .map_or(0, |_| (MAX_CLASSES + MAX_METHODS) * size_of::<Counter>() + Slots::bytes(MAX_EXCEPTIONS))
}

/// Records a throw. `class` is its class, and returns that of an inner exception. In the callback that passes the
/// exception.
pub fn record_throw(exception: usize, class: impl Fn(usize) -> ExceptionClass) {
    let Some(tables) = TABLES.get().filter(|_| any()) else { return };
    // The runtime searched no frame with a name for the one before.
    if let Some(before) = take_pending() {
        tables.count(before, CountKey::default());
    }
    let of = class(exception);
    let key = CountKey { module: of.module, token: of.token, class: None };
    let object: *const u8 = std::ptr::with_exposed_provenance(exception);
    // SAFETY: the runtime passes the object to this callback, so it does not move.
    let rethrown = unsafe { has_stack_trace(object) };
    let Some(class_index) = tables.classes.find_or_add(key, of.generation) else {
        tables.others.add(rethrown);
        return;
    };
    if !tables.classes.get(class_index).is_some_and(Counter::is_wanted) {
        return;
    }
    let within_rate = tables.take_token();
    let throw = Throw {
        class: class_index,
        method: None,
        unix_ns: unix_ns(),
        thread: platform::thread_id(),
        rethrown,
        within_rate,
    };
    // SAFETY: as above.
    let claim = unsafe { tables.slots.write(throw, object, class) };
    set_pending(Pending {
        epoch: EPOCH.load(Ordering::Relaxed),
        class: class_index,
        generation: of.generation,
        rethrown,
        within_rate,
        claim,
    });
}

/// Records that the runtime searches a frame: the first one after a throw is the method that threw. `method` returns its
/// ModuleID and token.
pub fn record_search(method: impl FnOnce() -> Option<(usize, u32)>) {
    let Some(tables) = TABLES.get().filter(|_| any()) else { return };
    if let Some(pending) = take_pending() {
        let (module, token) = method().unwrap_or_default();
        tables.count(pending, CountKey { module, token, class: None });
    }
}

/// Retires the classes and methods of a module that begins to unload, or whose ModuleID another module gets: their throws
/// are still taken, but later ones are counted apart.
pub fn forget_module(module: usize) {
    let Some(tables) = TABLES.get() else { return };
    tables.classes.retire(|_, key| key.module == module);
    let is_gone = |class| tables.classes.get(class).is_none_or(Counter::is_retired);
    tables.methods.retire(|_, key| key.module == module || key.class.is_some_and(is_gone));
}

/// Returns the Unix time in nanoseconds.
pub fn unix_ns() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}

fn set_pending(pending: Pending) {
    // A thread past its own destructors throws unseen.
    let _ = PENDING.try_with(|place| place.set(Some(pending)));
}

fn take_pending() -> Option<Pending> {
    let pending = PENDING.try_with(Cell::take).ok().flatten()?;
    (pending.epoch == EPOCH.load(Ordering::Relaxed)).then_some(pending)
}

impl Tables {
    /// Counts a throw whose method is known, or never will be.
    fn count(&self, pending: Pending, method: CountKey) {
        let key = CountKey { class: Some(pending.class), ..method };
        let index = self.methods.find_or_add(key, pending.generation);
        let counter = index.and_then(|index| self.methods.get(index));
        if let Some(claim) = pending.claim {
            // The first exception of each method is sent in any case.
            let is_first = counter.is_some_and(Counter::shows_first);
            if !self.slots.finish(claim, index, is_first || pending.within_rate) {
                // The collector has counted it without its method.
                return;
            }
        }
        counter.unwrap_or(&self.others).add(pending.rethrown);
    }

    /// Counts an exception that the collector took before its method was known.
    pub fn count_unfinished(&self, throw: &Throw, generation: u32) {
        let key = CountKey { class: Some(throw.class), ..CountKey::default() };
        let index = self.methods.find_or_add(key, generation);
        let counter = index.and_then(|index| self.methods.get(index));
        counter.unwrap_or(&self.others).add(throw.rethrown);
    }

    fn take_token(&self) -> bool {
        let take = |tokens: i64| (tokens > 0).then_some(tokens - 1);
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_ok()
    }

    /// Adds exceptions that may be sent, up to the rate of a second.
    pub fn refill(&self, more: u64, rate: u64) {
        let (more, most) = (i64::try_from(more).unwrap_or(i64::MAX), i64::try_from(rate).unwrap_or(i64::MAX));
        let add = |now: i64| Some(now.saturating_add(more).min(most));
        let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
    }
}
