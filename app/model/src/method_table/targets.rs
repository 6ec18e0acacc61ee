//! Which methods a change concerns: those of a selection or a knob, with the scope that is meant.

use super::{MethodTable, Shape};
use crate::catalogue::bit_set::BitSet;
use crate::ids::{MethodIx, Node};
use crate::method_set::MethodSet;
use crate::orders::ChangeScope;
use redial_protocol::level::Level;
use redial_protocol::order::TimeOptions;
use redial_text::{slowest_calls, words};
use std::ops::Range;

/// Methods without a body that are named before the rest is only counted.
const NAMED: usize = 5;

/// The copies that a change concerns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Targets {
    /// The copies that are loaded now.
    pub methods: MethodSet,
    /// How far the change reaches beyond them.
    pub scope: ChangeScope,
    /// Options of the levels *time* and above.
    pub options: TimeOptions,
    /// At level *trace*: the condition that captured calls meet.
    pub when: Option<String>,
}

impl Targets {
    /// Creates targets with default options.
    pub fn new(methods: MethodSet, scope: ChangeScope) -> Targets {
        Targets { methods, scope, options: TimeOptions::default(), when: None }
    }

    /// The options that orders at a level carry.
    pub fn options_at(&self, level: Level) -> TimeOptions {
        self.options.at(level)
    }

    /// The condition that orders at a level carry: none below *trace*.
    pub fn when_at(&self, level: Level) -> Option<&str> {
        self.when.as_deref().filter(|_| level == Level::Trace)
    }

    /// The level and options in words, to stand before the methods:
    /// `time with callers, keeping calls that end with an exception,`.
    pub fn words_at(&self, level: Level) -> String {
        let options = self.options_at(level);
        let with = if options.callers { " with callers" } else { "" };
        let keeping = match options.keeps_calls() {
            true => format!(", keeping {},", slowest_calls::condition(&options)),
            false => String::new(),
        };
        let when = self.when_at(level).map(|when| format!(" when {when}")).unwrap_or_default();
        format!("{level}{with}{when}{keeping}")
    }
}

impl MethodTable {
    /// The selected methods that are shown.
    pub fn targets(&self) -> MethodSet {
        self.selection.targets(&self.catalogue, self.list.visible())
    }

    /// The methods below a row that are shown: those that its knob turns.
    pub fn targets_of(&self, node: Node) -> MethodSet {
        if let Node::Method(method) = node {
            return MethodSet::one(method);
        }
        self.shown_in(&self.catalogue.methods_below(node))
    }

    /// The targets of a row's knob: every copy where copies are merged, and for an AppDomain all that is in it.
    pub fn turned_by(&self, node: Node) -> Targets {
        match node {
            Node::Domain(domain) if self.turns_domain(domain) => {
                Targets::new(self.targets_of(node), ChangeScope::Domain(domain))
            }
            _ => self.targets_for(&self.targets_of(node)),
        }
    }

    /// The targets of the selection.
    pub fn turned_by_selection(&self) -> Targets {
        match self.selection.only_group().filter(|_| self.shape == Shape::Tree) {
            Some(group) => self.turned_by(group),
            None => self.targets_for(&self.targets()),
        }
    }

    /// The targets that shown methods stand for: where copies are merged, all their copies, now and later.
    pub fn targets_for(&self, shown: &MethodSet) -> Targets {
        match self.catalogue.is_merged() {
            true => Targets::new(self.catalogue.with_copies(shown), ChangeScope::Everywhere),
            false => Targets::new(shown.clone(), ChangeScope::Copies),
        }
    }

    fn turns_domain(&self, domain: u32) -> bool {
        let one = self.catalogue.domains().get(domain as usize);
        one.is_some_and(|one| !one.shared) && self.catalogue.has_domains()
    }

    pub(super) fn shown_in(&self, ranges: &[Range<u32>]) -> MethodSet {
        let visible = self.list.visible();
        let mut bits = BitSet::none(visible.len());
        for range in ranges {
            bits.set_range(range.clone(), true);
        }
        bits.intersect(visible);
        MethodSet::from_bits(&bits)
    }

    /// Names methods in a few words: the only one, or the first one and how many there are. As on the knob, methods
    /// without a body count only where there is nothing else.
    pub fn name_of(&self, set: &MethodSet) -> String {
        let (bodyless, number) = (self.off_and_bodyless(), self.number_of(set));
        let first = set.iter().find(|method| number == set.len() || !bodyless.get(method.0));
        match (first, number) {
            (None, _) => "nothing".to_owned(),
            (Some(only), 1) => self.catalogue.full_name(only).text,
            (Some(first), number) => {
                let number = words::grouped(number);
                format!("{number} methods ({} and so on)", self.catalogue.full_name(first).text)
            }
        }
    }

    fn number_of(&self, set: &MethodSet) -> u64 {
        let bodyless = self.off_and_bodyless();
        let without: u64 = set.ranges().map(|range| u64::from(bodyless.count_in(range))).sum();
        if without < set.len() { set.len() - without } else { set.len() }
    }

    /// Names targets in a few words, with their scope.
    pub fn name_of_targets(&self, targets: &Targets) -> String {
        let Targets { methods, scope, .. } = targets;
        if let ChangeScope::Domain(domain) = scope {
            let name = self.catalogue.label(Node::Domain(*domain));
            return format!("{} in {name}", words::methods(self.number_of(methods)));
        }
        let Some(first) = methods.iter().next() else { return self.name_of(methods) };
        let copies = self.catalogue.copies(first).len() as u64;
        if *scope == ChangeScope::Everywhere && copies > 1 && copies == methods.len() {
            return format!("{} ({copies} copies)", self.catalogue.full_name(first).text);
        }
        let place = self.catalogue.place(self.catalogue.module_of(first)).filter(|_| methods.len() == 1);
        match place {
            Some(place) => format!("{} {place}", self.name_of(methods)),
            None => self.name_of(methods),
        }
    }

    /// Names the methods of a set that have no body, one a line; of many, the first few.
    pub fn bodyless_named(&self, set: &MethodSet) -> String {
        let mut without = set.ranges().flat_map(|range| self.catalogue.bodyless().iter_in(range));
        let name = |method| self.catalogue.full_name(MethodIx(method)).text;
        let first: Vec<String> = without.by_ref().take(NAMED).map(name).collect();
        let mut named = first.join("\n");
        let more = without.count() as u64;
        if more > 0 {
            named.push_str(&format!("\nand {} more", words::grouped(more)));
        }
        named
    }
}
