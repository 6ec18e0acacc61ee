//! Who holds copies that are about to be dialled inlined in compiled code, and what can be done about it.
#![forbid(unsafe_code)]

use super::request::Wish;
use super::scan;
use crate::agent::Agent;
use crate::inlining::{Holders, Inlined, Method};
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
    let mut judged = HashMap::new();
    copies.iter().zip(holders).map(|(wish, holders)| one(agent, wish, holders, going, &mut judged)).collect()
}

fn one(
    agent: &Agent,
    wish: &Wish,
    holders: Holders,
    going: &HashSet<Method>,
    judged: &mut HashMap<Method, bool>,
) -> Found {
    let itself = wish.method();
    let precompiled = agent.info.precompiled_inliners(itself.0, itself.1);
    let unseen = unseen(agent, wish);
    let by_runtime = matches!(unseen, Unseen::AskRuntime);
    let unknown = matches!(unseen, Unseen::Unknown) || holders.incomplete;
    let mut missed = if unknown { Inlined::Perhaps } else { Inlined::No };
    let mut inliners = holders.inliners;
    inliners.extend(precompiled);
    inliners.sort_unstable();
    inliners.dedup();
    inliners.retain(|method| {
        let can = *method != itself && *judged.entry(*method).or_insert_with(|| can_ride(agent, *method));
        if !can && *method != itself {
            missed = Inlined::Yes;
        }
        can
    });
    let passengers = inliners.iter().copied().filter(|method| !going.contains(method)).collect();
    Found { inliners, passengers, by_runtime, missed }
}

/// Whether a method may be recompiled for the sake of what is inlined into it.
fn can_ride(agent: &Agent, method: Method) -> bool {
    let known = {
        let book = agent.ledger.book();
        book.find(method.0, method.1).and_then(|id| book.row(id)).map(|row| row.ineligible.is_none())
    };
    known.unwrap_or_else(|| scan::may_be_recompiled(agent, method))
}

/// Inliners from before an attach, which we did not see.
enum Unseen {
    /// There can be none.
    None,
    /// The runtime knows them.
    AskRuntime,
    /// There may be some, and they are not to be had.
    Unknown,
}

fn unseen(agent: &Agent, wish: &Wish) -> Unseen {
    if !wish.module.before_attach || !wish.inlinable {
        return Unseen::None;
    }
    let (module, token) = wish.method();
    match agent.info.knows_inliners() {
        true if agent.runtime.finds_inliners_by_token() => Unseen::AskRuntime,
        _ if wish.module.may_be_precompiled() => Unseen::Unknown,
        // The JIT cannot have compiled what is not loaded.
        _ if !agent.info.is_loaded(module, token) => Unseen::None,
        true => Unseen::AskRuntime,
        false => Unseen::Unknown,
    }
}
