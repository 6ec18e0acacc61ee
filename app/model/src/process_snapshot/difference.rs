//! The difference between two snapshots.

use super::saved::ProcessSnapshot;
use super::summary::{MethodName, MethodSum};

/// The smallest change of a mean or of a number of calls that counts, as a factor.
const NOTABLE: f64 = 1.1;

/// A way in which a method changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Change {
    /// It has calls only in the second snapshot.
    Appeared,
    /// It has calls only in the first snapshot.
    Vanished,
    /// Its calls take longer on average, by a tenth at least.
    Slower,
    /// Its calls take less time on average, by a tenth at least.
    Faster,
    /// It is called more often, by a tenth at least.
    CalledMore,
    /// It is called less often, by a tenth at least.
    CalledLess,
}

impl Change {
    /// Returns the word for tables and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Change::Appeared => "appeared",
            Change::Vanished => "vanished",
            Change::Slower => "slower",
            Change::Faster => "faster",
            Change::CalledMore => "called more",
            Change::CalledLess => "called less",
        }
    }
}

/// A method in two snapshots.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodDifference {
    /// The method.
    pub method: MethodName,
    /// Its numbers in the first snapshot; `None` if it was not dialled.
    pub before: Option<MethodSum>,
    /// Its numbers in the second snapshot; `None` if it was not dialled.
    pub after: Option<MethodSum>,
    /// How it changed; empty if it did not.
    pub changes: Vec<Change>,
}

impl MethodDifference {
    fn new(method: MethodName, before: Option<MethodSum>, after: Option<MethodSum>) -> MethodDifference {
        let changes = changes(before.unwrap_or_default(), after.unwrap_or_default());
        MethodDifference { method, before, after, changes }
    }

    /// Returns how much more self time the method has in the second snapshot, in nanoseconds; `None` unless it was timed
    /// wherever it was called.
    pub fn cost_ns(&self) -> Option<i64> {
        let side = |sum: Option<MethodSum>| match sum {
            Some(sum) if sum.timed => Some(sum.self_ns),
            Some(sum) if sum.calls > 0 => None,
            _ => Some(0),
        };
        let timed = self.before.is_some_and(|sum| sum.timed) || self.after.is_some_and(|sum| sum.timed);
        let (before, after) = (side(self.before)?, side(self.after)?);
        timed.then(|| signed(before, after))
    }

    /// Returns how many more calls the method has in the second snapshot.
    pub fn more_calls(&self) -> i64 {
        let calls = |sum: Option<MethodSum>| sum.map_or(0, |sum| sum.calls);
        signed(calls(self.before), calls(self.after))
    }
}

/// Returns `after` − `before`, within the range of the type.
fn signed(before: u64, after: u64) -> i64 {
    let difference = i128::from(after) - i128::from(before);
    i64::try_from(difference).unwrap_or(if difference < 0 { i64::MIN } else { i64::MAX })
}

fn changes(before: MethodSum, after: MethodSum) -> Vec<Change> {
    match (before.calls, after.calls) {
        (0, 0) => return vec![],
        (0, _) => return vec![Change::Appeared],
        (_, 0) => return vec![Change::Vanished],
        _ => {}
    }
    let mean = |sum: MethodSum| (sum.exits > 0).then(|| sum.total_ns as f64 / sum.exits as f64);
    let means = mean(before).zip(mean(after));
    let duration = means.and_then(|(before, after)| compared(before, after, Change::Slower, Change::Faster));
    let (before, after) = (before.calls as f64, after.calls as f64);
    let calls = compared(before, after, Change::CalledMore, Change::CalledLess);
    duration.into_iter().chain(calls).collect()
}

fn compared(before: f64, after: f64, more: Change, less: Change) -> Option<Change> {
    if after >= before * NOTABLE && after > before {
        Some(more)
    } else {
        (before >= after * NOTABLE && before > after).then_some(less)
    }
}

/// The difference between two snapshots.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotDifference {
    /// Every method, the largest change of self time first; then those without times, by their change of calls.
    pub methods: Vec<MethodDifference>,
}

impl SnapshotDifference {
    /// Compares two snapshots.
    pub fn of(before: &ProcessSnapshot, after: &ProcessSnapshot) -> SnapshotDifference {
        let (before, mut after) = (before.sums(), after.sums());
        let mut methods: Vec<MethodDifference> = before
            .into_iter()
            .map(|(method, sum)| {
                let other = after.remove(&method);
                MethodDifference::new(method, Some(sum), other)
            })
            .collect();
        methods.extend(after.into_iter().map(|(method, sum)| MethodDifference::new(method, None, Some(sum))));
        methods.sort_by_cached_key(|one| {
            let cost = one.cost_ns().map_or(0, i64::unsigned_abs);
            let calls = one.more_calls().unsigned_abs();
            (std::cmp::Reverse(cost), std::cmp::Reverse(calls), one.method.clone())
        });
        SnapshotDifference { methods }
    }

    /// Returns the methods that changed.
    pub fn changed(&self) -> impl Iterator<Item = &MethodDifference> {
        self.methods.iter().filter(|one| !one.changes.is_empty())
    }

    /// Returns how many methods changed in a way.
    pub fn count(&self, change: Change) -> u64 {
        self.methods.iter().filter(|one| one.changes.contains(&change)).count() as u64
    }
}
