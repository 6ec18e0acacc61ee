//! The levels that are offered: by the agent, or of several processes by each of theirs.

use super::Connection;
use crate::model::ids::{MethodIx, Node};
use redial_protocol::level::Level;

impl Connection {
    /// Levels this agent offers, lowest first; those above its cap are not among them.
    pub fn offered(&self) -> &[Level] {
        self.facts.as_ref().map_or(&[Level::Off], |facts| facts.levels.as_slice())
    }

    /// The same for a row: where each of several processes has rows of its own, what its agent offers.
    pub fn offered_at(&self, node: Node) -> &[Level] {
        let catalogue = &self.catalogue;
        let module = match node {
            _ if !catalogue.interleaves() => return self.offered(),
            Node::Domain(domain) => {
                let id = catalogue.domains().get(domain as usize).map(|domain| domain.id);
                return self.offered_in_domain(id);
            }
            Node::Module(module) => module,
            Node::Namespace(namespace) => catalogue.module_of_namespace(namespace),
            Node::Type(owner) => catalogue.module_of_type(owner),
            Node::Method(method) => return self.offered_to(method),
        };
        self.offered_in_domain(catalogue.module(module).and_then(|module| module.domains.first().copied()))
    }

    /// The same for one copy: of several processes, what the agent of its process offers.
    pub fn offered_to(&self, method: MethodIx) -> &[Level] {
        let module = self.catalogue.module(self.catalogue.module_of(method));
        let module = module.filter(|_| self.catalogue.spans_processes());
        self.offered_in_domain(module.and_then(|module| module.domains.first().copied()))
    }

    /// The same for what is picked: of one row, what is offered there.
    pub fn offered_to_picked(&self) -> &[Level] {
        let selection = &self.selection;
        let alone = |node: &Node| selection.is_empty() || selection.len() == 1 && selection.contains(*node);
        let one = selection.focus().filter(alone);
        one.map_or(self.offered(), |node| self.offered_at(node))
    }

    fn offered_in_domain(&self, domain: Option<u64>) -> &[Level] {
        let theirs = domain.and_then(|domain| self.offered_in.get(&domain));
        theirs.map_or(self.offered(), Vec::as_slice)
    }
}
