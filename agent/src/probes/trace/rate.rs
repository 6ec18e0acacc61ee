//! Limits on captured calls: of each method, and of the process. A thread takes several calls at a time from its
//! method and from the process, so that threads rarely write the same memory; it counts the calls that it drops by
//! itself.

use super::area::{ThreadArea, areas};
use super::entry::TracedMethod;
use super::grant::Grant;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Most calls that a thread takes at a time.
const MAX_AT_ONCE: u32 = 1 << 10;

/// Calls of all methods that may still be captured.
static OF_PROCESS: AtomicI64 = AtomicI64::new(0);

impl ThreadArea {
    /// Whether the next call of a method may be captured.
    #[inline(always)]
    pub(super) fn take_grant(&self, method: &'static TracedMethod) -> bool {
        let Some(grant) = self.grant(method) else { return false };
        let left = grant.left.get();
        if left == 0 || !std::ptr::eq(grant.method.load(Ordering::Relaxed), method) {
            return self.renew_grant(method);
        }
        grant.left.set(left - 1);
        true
    }

    /// Returns the place of a method in the table of grants, taken from another method if necessary.
    pub(super) fn own_grant(&self, method: &TracedMethod) -> Option<&Grant> {
        let grant = self.grant(method)?;
        let before = grant.method.load(Ordering::Relaxed);
        if !std::ptr::eq(before, method) {
            // SAFETY: null, or a method; those are never freed.
            if let Some(before) = unsafe { before.as_ref() } {
                let give_back = |from: &AtomicU64, to: &AtomicU64| {
                    to.fetch_add(from.swap(0, Ordering::Relaxed), Ordering::Relaxed);
                };
                give_back(&grant.over_rate, &before.over_rate);
                give_back(&grant.no_room, &before.no_room);
                give_back(&grant.undecided, &before.undecided);
                before.tokens.fetch_add(i64::from(grant.left.get()), Ordering::Relaxed);
            }
            grant.method.store(std::ptr::from_ref(method).cast_mut(), Ordering::Relaxed);
            grant.left.set(0);
        }
        Some(grant)
    }

    #[cold]
    #[inline(never)]
    fn renew_grant(&self, method: &'static TracedMethod) -> bool {
        let Some(grant) = self.own_grant(method) else { return false };
        match method.take() {
            0 => {
                grant.count_over_rate();
                false
            }
            taken => {
                grant.left.set(taken - 1);
                true
            }
        }
    }
}

impl TracedMethod {
    /// Takes some calls from the method's rate and from the process's; returns their number.
    fn take(&self) -> u32 {
        let left = self.tokens.load(Ordering::Relaxed).min(OF_PROCESS.load(Ordering::Relaxed));
        let wanted = i64::from(self.at_once.load(Ordering::Relaxed)).min(left);
        if wanted <= 0 {
            return 0;
        }
        // Threads that do the same at once may take a little more than there is.
        self.tokens.fetch_sub(wanted, Ordering::Relaxed);
        OF_PROCESS.fetch_sub(wanted, Ordering::Relaxed);
        wanted as u32
    }

    /// Whether one more call may be captured, of which the collector decides; counts it if not.
    pub fn take_one(&self) -> bool {
        if self.tokens.load(Ordering::Relaxed).min(OF_PROCESS.load(Ordering::Relaxed)) <= 0 {
            self.over_rate.fetch_add(1, Ordering::Relaxed);
            return false;
        }
        self.tokens.fetch_sub(1, Ordering::Relaxed);
        OF_PROCESS.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Counts a call whose condition the collector could not decide.
    pub fn count_undecided(&self) {
        self.undecided.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds calls that may be captured, up to the rate of a second.
    pub fn refill(&self, more: u64, rate: u64) {
        self.at_once.store((rate / 64).clamp(1, u64::from(MAX_AT_ONCE)) as u32, Ordering::Relaxed);
        refill(&self.tokens, more, rate);
    }
}

/// Adds calls that all methods together may capture, up to the rate of a second.
pub fn refill_process(more: u64, rate: u64) {
    refill(&OF_PROCESS, more, rate);
}

fn refill(tokens: &AtomicI64, more: u64, most: u64) {
    let (more, most) = (i64::try_from(more).unwrap_or(i64::MAX), i64::try_from(most).unwrap_or(i64::MAX));
    let add = |now: i64| Some(now.saturating_add(more).min(most));
    let _ = tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add);
}

/// Dropped calls of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Beyond the rate.
    pub over_rate: u64,
    /// For lack of memory, or nested too deeply.
    pub no_room: u64,
    /// For which the condition could not be decided.
    pub undecided: u64,
}

/// Returns the dropped calls of a method.
pub fn dropped(method: &TracedMethod) -> Dropped {
    let mut sum = Dropped {
        over_rate: method.over_rate.load(Ordering::Relaxed),
        no_room: method.no_room.load(Ordering::Relaxed),
        undecided: method.undecided.load(Ordering::Relaxed),
    };
    for grant in areas().filter_map(|area| area.grant(method)) {
        if std::ptr::eq(grant.method.load(Ordering::Relaxed), method) {
            sum.over_rate += grant.over_rate.load(Ordering::Relaxed);
            sum.no_room += grant.no_room.load(Ordering::Relaxed);
            sum.undecided += grant.undecided.load(Ordering::Relaxed);
        }
    }
    sum
}
