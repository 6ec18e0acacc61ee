//! Methods and their numbers since a moment.

use crate::dials::{DialledCopies, DialledCopy};
use redial_protocol::ids::{MethodToken, RowId};
use redial_protocol::message::StatusRow;
use redial_text::words;
use std::collections::{BTreeMap, HashMap};

/// A method of an assembly, with all its copies.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MethodKey {
    /// The assembly's simple name.
    pub module: String,
    /// `Namespace.Type.Method`.
    pub method: String,
    /// `(PARAMS)`.
    pub signature: String,
    /// Its token, which other builds of the assembly may give to another method.
    pub token: MethodToken,
}

impl MethodKey {
    /// Returns the method of a row.
    pub fn of(row: &StatusRow) -> MethodKey {
        MethodKey {
            module: row.module.clone(),
            method: row.method.clone(),
            signature: row.signature.clone(),
            token: row.copy.token,
        }
    }

    /// Returns the method's name: `Shop!Shop.Cart.Add(int)`.
    pub fn name(&self) -> String {
        format!("{}!{}{}", self.module, self.method, words::plain_parameters(&self.signature))
    }

    /// Returns a pattern that matches the method by name.
    pub fn pattern(&self) -> String {
        let plain = words::plain_parameters(&self.signature);
        format!("{}!{}{}", self.module, self.method, words::pattern_parameters(&plain))
    }
}

/// Numbers of a method since a moment, over all its copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HotNumbers {
    /// Calls.
    pub calls: u64,
    /// Timed calls that ended with an exception.
    pub exceptions: u64,
    /// Nanoseconds in the method, with callees.
    pub total_ns: u64,
    /// Nanoseconds in the method, without callees that are timed too.
    pub self_ns: u64,
}

impl HotNumbers {
    fn of(dial: &DialledCopy) -> HotNumbers {
        let times = dial.times.as_ref();
        HotNumbers {
            calls: dial.row.calls,
            exceptions: times.map_or(0, |times| times.exceptions),
            total_ns: times.map_or(0, |times| times.total_ns),
            self_ns: times.map_or(0, |times| times.self_ns),
        }
    }

    fn plus(self, other: HotNumbers) -> HotNumbers {
        HotNumbers {
            calls: self.calls.saturating_add(other.calls),
            exceptions: self.exceptions.saturating_add(other.exceptions),
            total_ns: self.total_ns.saturating_add(other.total_ns),
            self_ns: self.self_ns.saturating_add(other.self_ns),
        }
    }

    fn minus(self, earlier: HotNumbers) -> HotNumbers {
        HotNumbers {
            calls: self.calls.saturating_sub(earlier.calls),
            exceptions: self.exceptions.saturating_sub(earlier.exceptions),
            total_ns: self.total_ns.saturating_sub(earlier.total_ns),
            self_ns: self.self_ns.saturating_sub(earlier.self_ns),
        }
    }
}

/// A method with its numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HotMethod {
    /// The method.
    pub method: MethodKey,
    /// Its numbers while calls were timed.
    pub numbers: HotNumbers,
}

/// The numbers of all rows at a moment.
#[derive(Debug, Default)]
pub(super) struct Numbers(HashMap<RowId, HotNumbers>);

impl Numbers {
    pub(super) fn of(dials: &DialledCopies) -> Numbers {
        Numbers(dials.iter().map(|dial| (dial.row.row, HotNumbers::of(dial))).collect())
    }

    /// Returns the differences for the methods that `which` accepts. Rows that are new count from zero.
    pub(super) fn since(
        &self,
        dials: &DialledCopies,
        which: impl Fn(&MethodKey) -> bool,
    ) -> BTreeMap<MethodKey, HotNumbers> {
        let mut sums: BTreeMap<MethodKey, HotNumbers> = BTreeMap::new();
        for dial in dials.iter() {
            let key = MethodKey::of(&dial.row);
            if which(&key) {
                let earlier = self.0.get(&dial.row.row).copied().unwrap_or_default();
                let sum = sums.entry(key).or_default();
                *sum = sum.plus(HotNumbers::of(dial).minus(earlier));
            }
        }
        sums
    }
}
