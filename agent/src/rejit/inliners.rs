//! Who holds copies that are about to be dialled inlined in compiled code, and what can be done about it.
#![forbid(unsafe_code)]

use super::request::Wish;
use super::scan;
use crate::agent::Agent;
use crate::inlining::{Holders, Inlined, Method};
use crate::known_bad::Known;
use std::collections::{HashMap, HashSet};

/// What was found for one copy.
pub struct Found {
    /// Methods compiled with it in them, as far as they can be recompiled.
    pub inliners: Vec<Method>,
    /// Those of them that are to be recompiled for it.
    pub passengers: Vec<Method>,
    /// The runtime must be asked to find more.
    pub by_runtime: bool,
    /// Whether calls are missed all the same.
    pub missed: Inlined,
}

/// Finds the inliners of each copy: `holders` are those the JIT made, as we saw it. What is `going` to be asked for with
/// these copies need not be asked for twice.
pub(super) fn find(
    agent: &Agent,
    copies: &[Wish],
    holders: Vec<Holders>,
    going: &HashSet<Method>,
) -> Vec<Found> {
    let mut look = Look {
        agent,
        going,
        unseen_collectible: agent.modules.has_unseen_collectible(),
        judged: HashMap::new(),
    };
    copies.iter().zip(holders).map(|(wish, holders)| look.at(wish, holders)).collect()
}

/// Inliners that neither we saw nor the module's precompiled code names.
enum Unseen {
    /// There can be none.
    None,
    /// The runtime knows them.
    AskRuntime,
    /// There may be some, and they are not to be had.
    Unknown,
}

struct Look<'a> {
    agent: &'a Agent,
    going: &'a HashSet<Method>,
    /// A collectible module is there whose methods were compiled unseen.
    unseen_collectible: bool,
    judged: HashMap<Method, bool>,
}

impl Look<'_> {
    fn at(&mut self, wish: &Wish, holders: Holders) -> Found {
        let itself = wish.method();
        let (precompiled, all) = self.agent.info.precompiled_inliners(itself.0, itself.1);
        let unseen = self.unseen(wish, all);
        let by_runtime = matches!(unseen, Unseen::AskRuntime);
        // What is inlined into collectible code cannot be recompiled, nor is it told.
        let unknown = matches!(unseen, Unseen::Unknown) || by_runtime && self.unseen_collectible;
        let mut missed = if unknown || holders.incomplete { Inlined::Perhaps } else { Inlined::No };
        let mut inliners = holders.inliners;
        inliners.extend(precompiled);
        inliners.sort_unstable();
        inliners.dedup();
        inliners.retain(|method| *method != itself);
        inliners.retain(|method| {
            let agent = self.agent;
            let can = *self.judged.entry(*method).or_insert_with(|| can_ride(agent, *method));
            if !can {
                missed = Inlined::Yes;
            }
            can
        });
        let passengers = inliners.iter().copied().filter(|method| !self.going.contains(method)).collect();
        Found { inliners, passengers, by_runtime, missed }
    }

    /// `all`: the module's precompiled code named all of its own.
    fn unseen(&self, wish: &Wish, all: bool) -> Unseen {
        let hidden = !all && wish.module.may_be_precompiled();
        if !wish.inlinable || !(wish.module.before_attach || hidden) {
            return Unseen::None;
        }
        let Agent { info, runtime, .. } = self.agent;
        let (module, token) = wish.method();
        // It would recompile what must not be.
        if runtime.does(Known::FragileHelpers) && self.agent.is_core_library(&wish.module) {
            return Unseen::Unknown;
        }
        match info.knows_inliners() {
            true if !runtime.does(Known::InlinersNotLoaded) => Unseen::AskRuntime,
            _ if hidden || wish.module.may_be_precompiled() => Unseen::Unknown,
            // The JIT cannot have compiled what is not loaded.
            _ if !info.is_loaded(module, token) => Unseen::None,
            // There ReJIT of collectible code hangs its caller.
            true if !self.unseen_collectible => Unseen::AskRuntime,
            _ => Unseen::Unknown,
        }
    }
}

/// Whether a method may be recompiled for the sake of what is inlined into it.
fn can_ride(agent: &Agent, method: Method) -> bool {
    let known = {
        let book = agent.ledger.book();
        book.find(method.0, method.1).and_then(|id| book.row(id)).map(|row| row.ineligible.is_none())
    };
    known.unwrap_or_else(|| scan::may_be_recompiled(agent, method))
}
