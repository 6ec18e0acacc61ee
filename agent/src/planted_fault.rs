//! Faults that tests plant, to prove that soaks and comparisons notice them (`REDIAL_TEST_FAULT`). Test builds only.
#![forbid(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A fault that a test wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlantedFault {
    /// The process aborts at a request.
    Crash,
    /// Each request leaks a megabyte.
    Leak,
    /// Bodies count each call twice.
    WrongIl,
    /// Plans of captures exchange values of the same kind.
    WrongPlan,
}

/// Requests that succeed before one crashes: more than a change of everything takes in a small program.
const REQUESTS_BEFORE_CRASH: u32 = 40;

impl PlantedFault {
    /// Returns whether a test wants this fault; always false in release builds.
    pub fn is_wanted(self) -> bool {
        static WANTED: OnceLock<Option<PlantedFault>> = OnceLock::new();
        cfg!(debug_assertions) && *WANTED.get_or_init(read) == Some(self)
    }
}

fn read() -> Option<PlantedFault> {
    match std::env::var("REDIAL_TEST_FAULT").ok()?.as_str() {
        "crash" => Some(PlantedFault::Crash),
        "leak" => Some(PlantedFault::Leak),
        "wrong-il" => Some(PlantedFault::WrongIl),
        "wrong-plan" => Some(PlantedFault::WrongPlan),
        _ => None,
    }
}

/// Crashes or leaks at a request if a test wants that.
pub fn at_request() {
    static REQUESTS: AtomicU32 = AtomicU32::new(0);
    if PlantedFault::Leak.is_wanted() {
        // Else the compiler leaves out an allocation that nobody uses.
        std::hint::black_box(vec![1u8; 1 << 20].leak());
    }
    if PlantedFault::Crash.is_wanted() && REQUESTS.fetch_add(1, Ordering::Relaxed) >= REQUESTS_BEFORE_CRASH {
        std::process::abort();
    }
}

/// Exchanges each item of a plan with the next one of the same kind if a test wants that.
pub fn exchange<T>(items: &mut [T], is_same: impl Fn(&T, &T) -> bool, swap: impl Fn(&mut T, &mut T)) {
    if !PlantedFault::WrongPlan.is_wanted() {
        return;
    }
    let mut rest = items;
    while let Some((first, others)) = rest.split_first_mut() {
        if let Some(other) = others.iter_mut().find(|other| is_same(first, other)) {
            swap(first, other);
        }
        rest = others;
    }
}
