//! Snapshots of the tree's sort column. Siblings keep the order of a snapshot for a while although numbers
//! change, because rows that jump while one reads them cannot be read.

use super::catalogue::Catalogue;
use super::catalogue::bit_set::BitSet;
use super::ids::{MethodIx, Node};
use super::list::{Sort, SortKey};
use super::live::{Live, LiveRow};
use super::ranking;
use redial_text::times::TimeColumn;
use std::collections::HashMap;
use std::time::Duration;

/// The minimum lifetime of an order while numbers change.
pub const CALM: Duration = Duration::from_secs(2);

/// Numbers of methods and groups, and when they were taken.
#[derive(Debug, Default)]
pub struct SortSnapshot {
    groups: HashMap<Node, f64>,
    /// Ascending by method; missing ones have no number.
    methods: Vec<(u32, f64)>,
    taken: Option<SnapshotInputs>,
    due: Option<Duration>,
}

/// The state that numbers were taken from.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SnapshotInputs {
    sort: Sort,
    visible: u64,
    numbers: (u64, u64),
    at: Duration,
}

impl SortSnapshot {
    /// Takes a new snapshot if the sort order or the visible methods changed, or if numbers changed and the
    /// order is neither frozen nor recent; returns whether it did. `visible` are the methods shown, with an
    /// edition that grows when they change.
    pub fn refresh(
        &mut self,
        (sort, frozen): (Sort, bool),
        (visible, edition): (&BitSet, u64),
        catalogue: &Catalogue,
        live: &Live,
        at: Duration,
    ) -> bool {
        let rows = if sort.key == SortKey::Name { 0 } else { live.rows_edition() };
        let now =
            SnapshotInputs { sort, visible: edition, numbers: (rows, ranking::numbers(sort.key, live)), at };
        self.due = None;
        if let Some(before) = self.taken.filter(|before| (before.sort, before.visible) == (sort, edition)) {
            if before.numbers == now.numbers || frozen {
                return false;
            }
            if at < before.at + CALM {
                self.due = Some(before.at + CALM);
                return false;
            }
        }
        self.taken = Some(now);
        self.groups.clear();
        self.methods.clear();
        if sort.key != SortKey::Name {
            self.take(sort.key, visible, catalogue, live);
        }
        true
    }

    fn take(&mut self, key: SortKey, visible: &BitSet, catalogue: &Catalogue, live: &Live) {
        let mut above: Vec<Node> = Vec::new();
        let (mut end, mut sum) = (0, None);
        let known = live.known().iter_in(0..u32::MAX);
        let numbered =
            known.filter_map(|method| Some((method, number(key, live.of_method(MethodIx(method))?))));
        let numbered: Vec<(u32, f64)> = match catalogue.is_merged() {
            false => numbered.collect(),
            true => {
                let leads = catalogue.leads();
                let mut copies: Vec<(u32, f64)> =
                    numbered.map(|(method, number)| (leads.of(MethodIx(method)).0, number)).collect();
                copies.sort_unstable_by_key(|(method, _)| *method);
                copies.dedup_by(|(copy, number), (lead, sum)| {
                    let same = copy == lead;
                    if same {
                        *sum = together(key, *sum, *number);
                    }
                    same
                });
                copies
            }
        };
        for (method, number) in numbered.into_iter().filter(|(method, _)| visible.get(*method)) {
            self.methods.push((method, number));
            // Methods of one type are adjacent.
            if method >= end {
                self.add(key, &above, sum.take());
                let owner = catalogue.type_of(MethodIx(method));
                end = catalogue.methods_of_type(owner).end;
                above.clear();
                let mut group = Some(Node::Type(owner));
                while let Some(node) = group {
                    above.push(node);
                    group = catalogue.parent(node);
                }
            }
            sum = Some(sum.map_or(number, |sum| in_group(key, sum, number)));
        }
        self.add(key, &above, sum);
    }

    fn add(&mut self, key: SortKey, groups: &[Node], number: Option<f64>) {
        let Some(number) = number else { return };
        for group in groups {
            let sum = self.groups.entry(*group).or_insert(0.0);
            *sum = in_group(key, *sum, number);
        }
    }

    /// Returns whether numbers changed since the snapshot.
    pub fn is_behind(&self, live: &Live) -> bool {
        self.methods.len() > 1
            && self.taken.is_some_and(|taken| taken.numbers.1 != ranking::numbers(taken.sort.key, live))
    }

    /// Makes the next `refresh` take a new snapshot, frozen or not.
    pub fn forget(&mut self) {
        self.taken = None;
    }

    /// Returns when changed numbers will be taken; `None` if none changed or the order is frozen.
    pub fn due(&self) -> Option<Duration> {
        self.due
    }

    /// Sorts siblings, which are given in name order.
    pub fn in_order<I: Copy>(&self, siblings: impl Iterator<Item = I>, node: impl Fn(I) -> Node) -> Vec<I> {
        let sort = self.taken.map(|taken| taken.sort).unwrap_or_default();
        if sort.key == SortKey::Name {
            let mut siblings: Vec<I> = siblings.collect();
            if sort.descending {
                siblings.reverse();
            }
            return siblings;
        }
        let mut numbered: Vec<(f64, I)> = siblings.map(|one| (self.of(node(one)), one)).collect();
        // Equal numbers stay in name order.
        numbered.sort_by(|(one, _), (other, _)| match sort.descending {
            true => other.total_cmp(one),
            false => one.total_cmp(other),
        });
        numbered.into_iter().map(|(_, one)| one).collect()
    }

    /// Returns whether siblings are in name order.
    pub fn is_by_name(&self) -> bool {
        self.taken.is_none_or(|taken| taken.sort.key == SortKey::Name)
    }

    fn of(&self, node: Node) -> f64 {
        match node {
            Node::Method(method) => {
                let at = self.methods.binary_search_by_key(&method.0, |(method, _)| *method);
                at.ok().and_then(|at| self.methods.get(at)).map_or(0.0, |(_, number)| *number)
            }
            group => self.groups.get(&group).copied().unwrap_or(0.0),
        }
    }
}

fn number(key: SortKey, row: &LiveRow) -> f64 {
    match key {
        SortKey::Name => 0.0,
        SortKey::Wanted => f64::from(row.wanted as u8),
        SortKey::State => f64::from(row.state as u8),
        SortKey::Calls => row.shown_calls() as f64,
        SortKey::Rate => f64::from(row.rate.unwrap_or(0.0).max(0.0)),
        SortKey::Time(_) => ranking::number(key, row) as f64,
    }
}

/// Combines numbers: calls add up; the highest level or state represents the group.
fn together(key: SortKey, one: f64, other: f64) -> f64 {
    match key {
        SortKey::Calls | SortKey::Rate => one + other,
        SortKey::Name | SortKey::Wanted | SortKey::State => one.max(other),
        SortKey::Time(column) => column.together(one as u64, other as u64) as f64,
    }
}

/// Combines numbers of methods in a group. They call each other, so their total times do not add up.
fn in_group(key: SortKey, one: f64, other: f64) -> f64 {
    match key {
        SortKey::Time(TimeColumn::Total) => one.max(other),
        _ => together(key, one, other),
    }
}
