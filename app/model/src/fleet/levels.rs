//! The levels that the agents of a fleet offer.

use crate::catalogue::Catalogue;
use crate::ids::{MethodIx, Node};
use redial_protocol::level::Level;
use std::collections::BTreeMap;

/// The levels offered by any process, and by each.
#[derive(Debug)]
pub struct FleetLevels {
    /// Lowest first.
    all: Vec<Level>,
    /// By the domain of each process.
    by_domain: BTreeMap<u64, Vec<Level>>,
}

impl Default for FleetLevels {
    fn default() -> FleetLevels {
        FleetLevels { all: vec![Level::Off], by_domain: BTreeMap::new() }
    }
}

impl FleetLevels {
    /// The levels that any of the agents offers, lowest first.
    pub fn offered(&self) -> &[Level] {
        &self.all
    }

    /// The levels offered at a row: where each process has rows of its own, those of its agent.
    pub fn offered_at(&self, node: Node, catalogue: &Catalogue) -> &[Level] {
        let module = match node {
            _ if !catalogue.interleaves() => return self.offered(),
            Node::Domain(domain) => {
                let id = catalogue.domains().get(domain as usize).map(|domain| domain.id);
                return self.in_domain(id);
            }
            Node::Module(module) => module,
            Node::Namespace(namespace) => catalogue.module_of_namespace(namespace),
            Node::Type(owner) => catalogue.module_of_type(owner),
            Node::Method(method) => return self.offered_to(method, catalogue),
        };
        self.in_domain(catalogue.module(module).and_then(|module| module.domains.first().copied()))
    }

    /// The levels that the agent of one copy's process offers.
    pub fn offered_to(&self, method: MethodIx, catalogue: &Catalogue) -> &[Level] {
        let module = catalogue.module(catalogue.module_of(method));
        self.in_domain(module.and_then(|module| module.domains.first().copied()))
    }

    fn in_domain(&self, domain: Option<u64>) -> &[Level] {
        let theirs = domain.and_then(|domain| self.by_domain.get(&domain));
        theirs.map_or(self.offered(), Vec::as_slice)
    }

    /// Sets the levels of one process.
    pub(super) fn set(&mut self, domain: u64, levels: &[Level]) {
        if self.by_domain.get(&domain).is_none_or(|known| known != levels) {
            self.by_domain.insert(domain, levels.to_vec());
        }
    }

    /// Sets the levels of all processes together, in any order.
    pub(super) fn set_all(&mut self, mut levels: Vec<Level>) {
        levels.sort_unstable();
        levels.dedup();
        self.all = levels;
    }

    /// Forgets the levels of other domains.
    pub(super) fn retain(&mut self, keep: impl Fn(u64) -> bool) {
        self.by_domain.retain(|domain, _| keep(*domain));
    }
}
