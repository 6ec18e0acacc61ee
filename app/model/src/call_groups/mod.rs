//! Traced calls grouped by a value: which argument makes a method slow.

mod group_key;

pub use group_key::{GroupKey, GroupValue};

use redial_protocol::histogram::{BUCKETS_PER_OCTAVE, lower_ticks};
use redial_protocol::limits::MAX_BUCKETS;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod};
use redial_text::width::cut_end;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Most groups; calls with further values are one group together.
pub const MAX_GROUPS: usize = 1_000;
/// Letters of a value that are kept.
const MAX_LETTERS: usize = 200;

/// The value of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupTitle {
    /// A value, as text.
    Value(String),
    /// The calls that have no such value.
    Missing,
    /// Calls with further values.
    Others,
}

/// A column of groups, by which they can be sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupColumn {
    /// The value.
    Value,
    /// The number of calls.
    Calls,
    /// The durations together.
    #[default]
    Total,
    /// The mean duration.
    Mean,
    /// The 99th percentile of durations.
    P99,
    /// The longest duration.
    Max,
    /// Calls that ended with an exception.
    Exceptions,
}

/// The calls of one value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallGroup {
    /// The value.
    pub title: GroupTitle,
    /// A condition that its calls meet, if one can say it.
    pub condition: Option<String>,
    /// The number of calls.
    pub calls: u64,
    /// Those that ended with an exception.
    pub exceptions: u64,
    /// Calls with a known duration.
    timed: u64,
    /// Nanoseconds of these together.
    pub total_ns: u64,
    /// Nanoseconds of the longest.
    pub max_ns: u64,
    /// Calls by the bucket of their duration, with ticks of a nanosecond.
    buckets: BTreeMap<u16, u64>,
}

/// Calls in groups.
#[derive(Clone, Debug)]
pub struct CallGroups {
    key: GroupKey,
    groups: Vec<CallGroup>,
    by_value: HashMap<String, usize>,
    missing: Option<usize>,
    others: Option<usize>,
}

impl CallGroups {
    /// Begins without calls.
    pub fn new(key: GroupKey) -> CallGroups {
        CallGroups { key, groups: Vec::new(), by_value: HashMap::new(), missing: None, others: None }
    }

    /// Returns the key of the groups.
    pub fn key(&self) -> &GroupKey {
        &self.key
    }

    /// Forgets all calls.
    pub fn clear(&mut self) {
        *self = CallGroups::new(self.key.clone());
    }

    /// Adds a call that ended.
    pub fn add(&mut self, method: &TracedMethod, call: &TracedCall) {
        let next = self.groups.len();
        let index = match self.key.value(method, call) {
            None => *self.missing.get_or_insert(next),
            Some(value) => {
                let text = clean(&cut_end(&value.text, MAX_LETTERS)).into_owned();
                // Values that are cut may be different ones.
                let condition = value.condition.filter(|_| text == value.text);
                match self.by_value.get(&text) {
                    Some(index) => *index,
                    None if self.by_value.len() < MAX_GROUPS => {
                        self.groups.push(CallGroup::new(GroupTitle::Value(text.clone()), condition));
                        self.by_value.insert(text, next);
                        next
                    }
                    None => *self.others.get_or_insert(next),
                }
            }
        };
        if index == self.groups.len() {
            let title = if self.missing == Some(index) { GroupTitle::Missing } else { GroupTitle::Others };
            self.groups.push(CallGroup::new(title, None));
        }
        if let Some(group) = self.groups.get_mut(index) {
            group.add(call);
        }
    }

    /// Returns the groups, in the order in which their first calls were added.
    pub fn groups(&self) -> &[CallGroup] {
        &self.groups
    }

    /// Returns the number of calls in all groups.
    pub fn calls(&self) -> u64 {
        self.groups.iter().map(|group| group.calls).sum()
    }

    /// Returns the nanoseconds of all calls together.
    pub fn total_ns(&self) -> u64 {
        self.groups.iter().fold(0, |sum, group| sum.saturating_add(group.total_ns))
    }

    /// Returns the indices of all groups in the order of a column: numbers largest first, values ascending.
    pub fn sorted(&self, column: GroupColumn) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.groups.len()).collect();
        match column {
            GroupColumn::Value => order.sort_by(|one, other| self.compare_values(*one, *other)),
            _ => order.sort_by_cached_key(|index| {
                let group = self.groups.get(*index);
                (Reverse(group.map(|group| group.number(column))), *index)
            }),
        }
        order
    }

    fn compare_values(&self, one: usize, other: usize) -> std::cmp::Ordering {
        let key = |index: usize| {
            let title = self.groups.get(index).map(|group| &group.title);
            match title {
                Some(GroupTitle::Value(text)) => match text.parse::<f64>() {
                    Ok(number) => (0, number, text.as_str()),
                    Err(_) => (1, 0.0, text.as_str()),
                },
                _ => (2, 0.0, ""),
            }
        };
        let (one, other) = (key(one), key(other));
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1)).then(one.2.cmp(other.2))
    }
}

impl CallGroup {
    fn new(title: GroupTitle, condition: Option<String>) -> CallGroup {
        CallGroup {
            title,
            condition,
            calls: 0,
            exceptions: 0,
            timed: 0,
            total_ns: 0,
            max_ns: 0,
            buckets: BTreeMap::new(),
        }
    }

    fn add(&mut self, call: &TracedCall) {
        self.calls += 1;
        self.exceptions += u64::from(matches!(call.outcome, Outcome::Thrown { .. }));
        let Some(ns) = call.duration_ns else { return };
        self.timed += 1;
        self.total_ns = self.total_ns.saturating_add(ns);
        self.max_ns = self.max_ns.max(ns);
        *self.buckets.entry(bucket(ns)).or_default() += 1;
    }

    /// Returns the mean duration in nanoseconds; `None` without a known one.
    pub fn mean_ns(&self) -> Option<u64> {
        self.total_ns.checked_div(self.timed)
    }

    /// Returns the duration in nanoseconds that this many of a thousand calls did not exceed, within 2 %; `None` without a
    /// known one.
    pub fn quantile_ns(&self, per_mille: u64) -> Option<u64> {
        let rank = (u128::from(self.timed) * u128::from(per_mille)).div_ceil(1000).max(1);
        let mut seen = 0;
        let found = self.buckets.iter().find(|(_, calls)| {
            seen += u128::from(**calls);
            seen >= rank
        });
        let (bucket, _) = found?;
        let (from, to) = (lower_ticks((*bucket).into()), lower_ticks(u32::from(*bucket) + 1));
        Some((from + (to - from) / 2).min(self.max_ns))
    }

    /// Returns the number in a column; 0 if it is unknown.
    fn number(&self, column: GroupColumn) -> u64 {
        match column {
            GroupColumn::Value => 0,
            GroupColumn::Calls => self.calls,
            GroupColumn::Total => self.total_ns,
            GroupColumn::Mean => self.mean_ns().unwrap_or(0),
            GroupColumn::P99 => self.quantile_ns(990).unwrap_or(0),
            GroupColumn::Max => self.max_ns,
            GroupColumn::Exceptions => self.exceptions,
        }
    }
}

/// Returns the bucket of a duration; [`lower_ticks`] returns where it begins.
fn bucket(ns: u64) -> u16 {
    let per_octave = u64::from(BUCKETS_PER_OCTAVE);
    let shift = (ns / per_octave).checked_ilog2().unwrap_or(0);
    let within = (ns >> shift).saturating_sub(if ns < per_octave { 0 } else { per_octave });
    let first = if ns < per_octave { 0 } else { per_octave * (u64::from(shift) + 1) };
    u16::try_from((first + within).min(MAX_BUCKETS as u64 - 1)).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::Value;
    use redial_text::fixtures::{traced_call, traced_method};

    fn call(order: i64, duration_ns: u64) -> TracedCall {
        let arguments = vec![Value::Int(order), Value::Double(0)];
        TracedCall { arguments, duration_ns: Some(duration_ns), ..traced_call() }
    }

    fn by_order(calls: impl IntoIterator<Item = TracedCall>) -> CallGroups {
        let mut groups = CallGroups::new(GroupKey::parse("order").expect("a key"));
        let method = traced_method();
        calls.into_iter().for_each(|call| groups.add(&method, &call));
        groups
    }

    fn value(text: &str) -> GroupTitle {
        GroupTitle::Value(text.to_owned())
    }

    #[test]
    fn calls_of_one_value_add_up() {
        let thrown = Outcome::Thrown { type_name: None, message: None, inner: vec![] };
        let failed = TracedCall { outcome: thrown, ..call(7, 500) };
        let unknown = TracedCall { duration_ns: None, ..call(9, 0) };
        let none = TracedCall { arguments: vec![], ..call(0, 40) };
        let groups = by_order([call(7, 100), call(10, 2_000), failed, unknown, none]);
        let titles: Vec<&GroupTitle> = groups.groups().iter().map(|group| &group.title).collect();
        assert_eq!(titles, [&value("7"), &value("10"), &value("9"), &GroupTitle::Missing]);
        let [seven, ten, nine, missing] = groups.groups() else { panic!("four groups") };
        assert_eq!((seven.calls, seven.exceptions, seven.total_ns, seven.max_ns), (2, 1, 600, 500));
        assert_eq!((seven.mean_ns(), nine.mean_ns(), missing.mean_ns()), (Some(300), None, Some(40)));
        assert_eq!(ten.condition.as_deref(), Some("order == 10"));
        assert_eq!((groups.calls(), groups.total_ns()), (5, 2_640));
        assert_eq!(groups.sorted(GroupColumn::Total), [1, 0, 3, 2]);
        assert_eq!(groups.sorted(GroupColumn::Calls)[0], 0);
        assert_eq!(groups.sorted(GroupColumn::Value), [0, 2, 1, 3], "numbers by size, no value last");
    }

    #[test]
    fn further_values_are_one_group() {
        let groups = by_order((0..MAX_GROUPS as i64 + 5).chain([3]).map(|order| call(order, 1)));
        assert_eq!(groups.groups().len(), MAX_GROUPS + 1);
        let last = groups.groups().last().expect("a group");
        assert_eq!((&last.title, last.calls), (&GroupTitle::Others, 5));
        assert_eq!(groups.groups()[3].calls, 2);
    }

    #[test]
    fn percentiles_are_within_two_per_cent() {
        let groups = by_order((1..=1_000).map(|number| call(1, number * 1_000)));
        let group = &groups.groups()[0];
        for (per_mille, expected) in [(500, 500_000_f64), (990, 990_000.0), (1_000, 1_000_000.0)] {
            let found = group.quantile_ns(per_mille).expect("calls") as f64;
            assert!((found / expected - 1.0).abs() <= 0.02, "{per_mille}: {found}");
        }
    }

    #[test]
    fn buckets_have_the_published_bounds() {
        for ns in
            (0..5_000).chain((12..63).flat_map(|bits| [(1_u64 << bits) - 1, 1 << bits, (1 << bits) + 7]))
        {
            let bucket = u32::from(bucket(ns));
            assert!(lower_ticks(bucket) <= ns, "{ns}");
            let is_last = bucket as usize + 1 == MAX_BUCKETS;
            assert!(is_last || ns < lower_ticks(bucket + 1), "{ns}");
        }
    }
}
