//! Finds the copies that orders mean in a module and enters them in the ledger, refused ones included.
#![forbid(unsafe_code)]

use super::row::Identity;
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::catalogue::methods::{Found, matching};
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::Import;
use crate::eligibility::{self, Facts};
use crate::il;
use crate::planner::{OrderSeq, Standing};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_REFUSALS;
use redial_protocol::reason::Reason;
use redial_protocol::report::RefusedMethod;
use redial_protocol::state::State;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Rows of dynamic and collectible modules that wildcards may enter: such a module's rows stay when it has gone.
const MAX_FLEETING_ROWS: usize = 20_000;

/// What a scan found, over all modules so far.
#[derive(Default)]
pub struct Scan {
    /// Rows matched.
    pub rows: BTreeSet<RowId>,
    /// Copies without a body that only wildcards matched.
    pub bodyless: u64,
    /// Copies past [`MAX_FLEETING_ROWS`], by reason.
    pub not_entered: BTreeMap<Reason, u64>,
    /// The first of them by name.
    pub not_entered_names: Vec<RefusedMethod>,
    /// Matches per order.
    pub per_order: BTreeMap<OrderSeq, u64>,
    /// Matches that found no room in the ledger.
    pub no_room: u64,
}

/// Adds what `orders` match in `module`. Reads metadata only; asks the CLR for nothing.
pub fn scan(agent: &Agent, module: &Arc<Module>, orders: &[&Standing], found: &mut Scan) {
    if orders.is_empty() {
        return;
    }
    let patterns: Vec<_> = orders.iter().map(|standing| &*standing.pattern).collect();
    let now = agent.ledger.now_ms();
    module.with_metadata(&agent.info, |import| {
        let names = ModuleNames::default();
        matching(import, &names, &patterns, |method, hits| {
            let matched: Vec<&Standing> = hits.iter().filter_map(|hit| orders.get(*hit).copied()).collect();
            enter(agent, module, (import, &names), method, &matched, now, found);
            if module.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    });
}

fn enter(
    agent: &Agent,
    module: &Arc<Module>,
    (import, names): (&Import, &ModuleNames),
    method: &Found,
    orders: &[&Standing],
    now: u64,
    found: &mut Scan,
) {
    for standing in orders {
        *found.per_order.entry(standing.seq).or_default() += 1;
    }
    let known = {
        let book = agent.ledger.book();
        book.find(module.id(), method.token).and_then(|id| Some((id, book.row(id)?.ineligible)))
    };
    // A body does not change: a copy is judged once.
    let (ineligible, local_sig) = match known {
        Some((_, ineligible)) => (ineligible, 0),
        None => match judge(agent, module, method) {
            Ok(local_sig) => (None, local_sig),
            Err(reason) => (Some(reason), 0),
        },
    };
    let by_name = orders.iter().any(|standing| !standing.pattern.has_wildcard());
    if !by_name && ineligible.is_some_and(eligibility::is_bodyless) {
        found.bodyless += 1;
        return;
    }
    // Such modules may come and go a thousand times: at some point what a wildcard matches there is only told.
    let crowded = known.is_none() && agent.ledger.book().fleeting_rows() >= MAX_FLEETING_ROWS;
    if let (true, false, Some(reason @ (Reason::Dynamic | Reason::Collectible))) =
        (crowded, by_name, ineligible)
    {
        *found.not_entered.entry(reason).or_default() += 1;
        if found.not_entered_names.len() < MAX_REFUSALS {
            let what = Identity {
                module: Arc::clone(module),
                token: method.token,
                local_sig,
                names: names.display(import, method),
            };
            found.not_entered_names.push(RefusedMethod { method: what.full_name(), reason, hresult: 0 });
        }
        return;
    }
    // The names are made before the lock is taken: they read metadata.
    let fresh = known.is_none().then(|| names.display(import, method));
    let mut book = agent.ledger.book();
    let id = match (known, fresh) {
        (Some((id, _)), _) => Some(id),
        (None, Some(names)) => {
            let what = Identity { module: Arc::clone(module), token: method.token, local_sig, names };
            book.add_row(what, ineligible)
        }
        (None, None) => None,
    };
    let Some(row) = id.and_then(|id| book.row_mut(id)) else {
        found.no_room += 1;
        return;
    };
    for standing in orders {
        if !row.orders.contains(&standing.seq) {
            row.orders.push(standing.seq);
        }
    }
    let id = row.id;
    let wants = orders.iter().any(|standing| standing.order.level > Level::Off);
    if let (Some(reason), true, true) = (ineligible, row.is_dialable(), wants) {
        book.fail(id, State::Refused, reason, 0, now);
    }
    found.rows.insert(id);
}

/// Why a method cannot be dialled, its body included; of one that can, the StandAloneSig token of its variables.
fn judge(agent: &Agent, module: &Module, method: &Found) -> Result<u32, Reason> {
    let facts = Facts {
        attributes: method.method.attributes,
        impl_flags: method.method.impl_flags,
        rva: method.method.rva,
        dynamic: module.dynamic,
        collectible: module.collectible,
        type_name: method.type_name,
        method: &method.method.name,
        core_library: agent.is_core_library(module),
        runtime_major: agent.runtime.major,
    };
    eligibility::check(&facts)?;
    match agent.info.il_body(module.id(), method.token, |body| il::decode(body).map(|body| body.local_sig)) {
        Err(_) => Err(Reason::NoBody),
        Ok(Err(_)) => Err(Reason::BadIl),
        Ok(Ok(local_sig)) => Ok(local_sig),
    }
}
