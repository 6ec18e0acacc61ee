//! The sums of a snapshot by method.

use super::saved::{ProcessSnapshot, SavedMethod};
use redial_text::words;
use std::collections::BTreeMap;

/// A method as snapshots of different processes share it. Copies of one name add up.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodName {
    /// The assembly's simple name.
    pub module: String,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
}

impl MethodName {
    pub(super) fn of(method: &SavedMethod) -> MethodName {
        MethodName {
            module: method.module.clone(),
            method: method.method.clone(),
            signature: method.signature.clone(),
        }
    }
}

impl std::fmt::Display for MethodName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}!{}{}", self.module, self.method, words::plain_parameters(&self.signature))
    }
}

/// The numbers of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodSum {
    /// Calls.
    pub calls: u64,
    /// Whether it was timed.
    pub timed: bool,
    /// Timed calls that ended.
    pub exits: u64,
    /// Those that ended with an exception.
    pub exceptions: u64,
    /// Nanoseconds in the method, with callees.
    pub total_ns: u64,
    /// Nanoseconds in the method, without callees that are timed, too.
    pub self_ns: u64,
    /// The longest call.
    pub max_ns: u64,
    /// The 50th, 90th and 99th percentile; `None` if calls of several copies ended, because percentiles cannot be added up.
    pub percentiles_ns: Option<[u64; 3]>,
}

impl MethodSum {
    fn of(method: &SavedMethod) -> MethodSum {
        let times = method.times.clone().unwrap_or_default();
        MethodSum {
            calls: method.calls,
            timed: method.times.is_some(),
            exits: times.exits,
            exceptions: times.exceptions,
            total_ns: times.total_ns,
            self_ns: times.self_ns,
            max_ns: times.max_ns,
            percentiles_ns: times.percentiles_ns,
        }
    }

    fn plus(self, other: MethodSum) -> MethodSum {
        MethodSum {
            calls: self.calls.saturating_add(other.calls),
            timed: self.timed || other.timed,
            exits: self.exits.saturating_add(other.exits),
            exceptions: self.exceptions.saturating_add(other.exceptions),
            total_ns: self.total_ns.saturating_add(other.total_ns),
            self_ns: self.self_ns.saturating_add(other.self_ns),
            max_ns: self.max_ns.max(other.max_ns),
            percentiles_ns: match (self.exits, other.exits) {
                (_, 0) => self.percentiles_ns,
                (0, _) => other.percentiles_ns,
                _ => None,
            },
        }
    }

    /// Returns the mean duration of the calls that ended.
    pub fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.exits)
    }
}

impl ProcessSnapshot {
    /// Returns the sums by method.
    pub fn sums(&self) -> BTreeMap<MethodName, MethodSum> {
        let mut sums: BTreeMap<MethodName, MethodSum> = BTreeMap::new();
        for method in &self.methods {
            let one = MethodSum::of(method);
            sums.entry(MethodName::of(method)).and_modify(|sum| *sum = sum.plus(one)).or_insert(one);
        }
        sums
    }
}
