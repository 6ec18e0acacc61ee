//! Finds the copies that orders mean in a module and enters them in the ledger, refused ones included.
#![forbid(unsafe_code)]

use super::row::Identity;
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::catalogue::itself::ends_in_itself;
use crate::catalogue::methods::{Found, matching};
use crate::catalogue::names::ModuleNames;
use crate::clr::metadata::{Import, MethodDef};
use crate::eligibility::{self, Facts};
use crate::il;
use crate::inlining::may_be_inlined;
use crate::planner::scope::{self, Aimed, Place};
use crate::planner::{OrderSeq, Standing};
use crate::probes::timing::{self, Untimed};
use redial_protocol::ids::RowId;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_REFUSALS;
use redial_protocol::reason::Reason;
use redial_protocol::report::{RefusedMethod, SharedModule};
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
    /// Copies without a row that are to be off, as they are.
    pub off_already: u64,
    /// Copies without a body that only wildcards matched.
    pub bodyless: u64,
    /// Copies that got no row (of shared modules, and past [`MAX_FLEETING_ROWS`]), by reason.
    pub not_entered: BTreeMap<Reason, u64>,
    /// The first of them by name.
    pub not_entered_names: Vec<RefusedMethod>,
    /// Orders that mean something: their matches.
    pub per_order: BTreeMap<OrderSeq, u64>,
    /// Orders that were refused for some copy because it serves other domains, too.
    pub refused_as_shared: BTreeSet<OrderSeq>,
    /// Modules whose one copy serves several domains, where an order names some of these.
    pub shared: BTreeMap<(u32, bool), SharedModule>,
    /// Matches that found no room in the ledger.
    pub no_room: u64,
}

/// Orders aimed at a module.
pub struct Target<'a> {
    /// The module.
    pub module: &'a Arc<Module>,
    /// The orders.
    pub aimed: Aimed<'a>,
    /// Where it is; known if an order has a scope.
    place: Option<Place>,
}

impl<'a> Target<'a> {
    /// Sorts orders whose assembly half matches the module.
    pub fn new(
        agent: &Agent,
        module: &'a Arc<Module>,
        orders: impl Iterator<Item = &'a Standing>,
    ) -> Target<'a> {
        let mut known = None;
        let aimed = Aimed::at(orders, || known.insert(agent.modules.place(&agent.info, module)).clone());
        Target { module, aimed, place: known }
    }

    /// Visits every method that the orders match, with those that mean it and those that are refused, each oldest first.
    /// With `only`, those methods alone that one of these matches, wherever it is aimed and whether it stands or not.
    pub fn each(
        &self,
        agent: &Agent,
        only: &[&Standing],
        mut visit: impl FnMut((&Import, &ModuleNames), &Found, &[&'a Standing], &[&'a Standing]),
    ) {
        if self.aimed.is_empty() && only.is_empty() {
            return;
        }
        let all: Vec<&Standing> = self.aimed.here.iter().chain(&self.aimed.refused).copied().collect();
        let patterns: Vec<_> = all.iter().chain(only).map(|standing| &*standing.pattern).collect();
        let (mut here, mut refused) = (Vec::new(), Vec::new());
        self.module.with_metadata(&agent.info, |import| {
            let names = ModuleNames::default();
            matching(import, &names, &patterns, |method, hits| {
                // Ascending: those of `only` are the last.
                if !only.is_empty() && hits.last().is_none_or(|hit| *hit < all.len()) {
                    return ControlFlow::Continue(());
                }
                here.clear();
                refused.clear();
                for hit in hits {
                    let list = if *hit < self.aimed.here.len() { &mut here } else { &mut refused };
                    list.extend(all.get(*hit).copied());
                }
                visit((import, &names), method, &here, &refused);
                if self.module.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
        });
    }

    /// Notes a method that orders for some of the domains that share the module matched.
    pub fn note_shared(
        &self,
        here: &[&Standing],
        refused: &[&Standing],
        shared: &mut BTreeMap<(u32, bool), SharedModule>,
    ) {
        let Some(place) = self.place.as_ref().filter(|place| place.shared) else { return };
        let accepted = here.iter().any(|standing| {
            let prefix = standing.order.domain.as_deref();
            standing.order.all_domains
                && prefix.is_some_and(|prefix| place.domains.iter().any(|name| !name.starts_with(prefix)))
        });
        for (noted, accepted) in [(accepted, true), (!refused.is_empty(), false)] {
            if noted {
                shared
                    .entry((place.key.generation, accepted))
                    .or_insert_with(|| scope::shared(&self.module.name, place, 0, accepted))
                    .methods += 1;
            }
        }
    }
}

/// Adds what the orders match in their module: all that stand, or those that are later than all others. Reads metadata
/// only; asks the CLR for nothing.
pub fn scan(agent: &Agent, target: &Target, found: &mut Scan) {
    let now = agent.ledger.now_ms();
    target.each(agent, &[], |metadata, method, here, refused| {
        target.note_shared(here, refused, &mut found.shared);
        found.refused_as_shared.extend(refused.iter().map(|standing| standing.seq));
        if here.is_empty() {
            leave_out(target.module, metadata, method, refused, found);
        } else {
            enter(agent, target.module, metadata, method, here, now, found);
        }
    });
}

/// Looks anew at the copies of a module that these orders match, which came, went, or mean other domains now: what of
/// all that stand decides them. `target` is of all that stand.
pub fn review(agent: &Agent, target: &Target, changed: &[&Standing], found: &mut Scan) {
    let now = agent.ledger.now_ms();
    let mut news = Vec::new();
    target.each(agent, changed, |metadata, method, here, refused| {
        news.clear();
        news.extend(refused.iter().copied().filter(|one| changed.iter().any(|other| other.seq == one.seq)));
        target.note_shared(here, &news, &mut found.shared);
        found.refused_as_shared.extend(news.iter().map(|standing| standing.seq));
        if !here.is_empty() {
            enter(agent, target.module, metadata, method, here, now, found);
            return;
        }
        let mut book = agent.ledger.book();
        let known = book.find(target.module.id(), method.token);
        if let Some(row) = known.and_then(|id| book.row_mut(id)) {
            row.decides = None;
            found.rows.insert(row.id);
        }
        drop(book);
        if !news.is_empty() {
            leave_out(target.module, metadata, method, &news, found);
        }
    });
}

/// A method of a shared module, where the orders name some of its domains: nothing is asked for it.
fn leave_out(
    module: &Arc<Module>,
    (import, names): (&Import, &ModuleNames),
    method: &Found,
    orders: &[&Standing],
    found: &mut Scan,
) {
    let by_name = orders.iter().any(|standing| !standing.pattern.has_wildcard());
    if method.without_body(module).is_some() && !by_name {
        found.bodyless += 1;
        return;
    }
    found.leave_out(Reason::Shared, || names.display(import, method).full_name(&module.name));
}

impl Scan {
    /// Orders that matched something, though it may have been refused.
    pub fn matched(&self) -> impl Iterator<Item = OrderSeq> {
        self.per_order.keys().chain(&self.refused_as_shared).copied()
    }

    /// Counts a copy that gets no row.
    fn leave_out(&mut self, reason: Reason, name: impl FnOnce() -> String) {
        *self.not_entered.entry(reason).or_default() += 1;
        if self.not_entered_names.len() < MAX_REFUSALS {
            self.not_entered_names.push(RefusedMethod { method: name(), reason, hresult: 0 });
        }
    }
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
    let decides = orders.last().map(|standing| standing.seq);
    let wants = orders.last().is_some_and(|standing| standing.order.level > Level::Off);
    let by_name = orders.iter().any(|standing| !standing.pattern.has_wildcard());
    if known.is_none() && !wants {
        // It gets a row when an order turns it on, or when the one that keeps it off goes.
        let bodyless = refusal_of(agent, module, import, method, orders).is_some_and(Reason::is_bodyless);
        *if bodyless && !by_name { &mut found.bodyless } else { &mut found.off_already } += 1;
        return;
    }
    // A body does not change: a copy is judged once.
    let (ineligible, body) = match known {
        Some((_, ineligible)) => (ineligible, Body::default()),
        None => match judge(agent, module, import, method) {
            Ok(body) => {
                let expanded = may_be_expanded(agent, module, import, method);
                (None, Body { expanded, ..body })
            }
            Err(reason) => (Some(reason), Body::default()),
        },
    };
    if !by_name && ineligible.is_some_and(Reason::is_bodyless) {
        found.bodyless += 1;
        return;
    }
    // Such modules may come and go a thousand times: at some point what a wildcard matches there is only told.
    let crowded = known.is_none() && agent.ledger.book().rows().fleeting() >= MAX_FLEETING_ROWS;
    if let (true, false, Some(reason @ (Reason::Dynamic | Reason::Collectible))) =
        (crowded, by_name, ineligible)
    {
        found.leave_out(reason, || names.display(import, method).full_name(&module.name));
        return;
    }
    // The names are made before the lock is taken: they read metadata.
    let fresh = known.is_none().then(|| names.display(import, method));
    let mut book = agent.ledger.book();
    let id = match (known, fresh) {
        (Some((id, _)), _) => Some(id),
        (None, Some(names)) => {
            let Body { local_sig, inlinable, ends_in_itself, expanded, untimed } = body;
            let module = Arc::clone(module);
            let token = method.token;
            let what =
                Identity { module, token, local_sig, inlinable, ends_in_itself, expanded, untimed, names };
            book.add_row(what, ineligible)
        }
        (None, None) => None,
    };
    let Some(row) = id.and_then(|id| book.row_mut(id)) else {
        found.no_room += 1;
        return;
    };
    row.decides = decides;
    let id = row.id;
    if let (Some(reason), true, true) = (ineligible, row.is_dialable(), wants) {
        book.fail(id, State::Refused, reason, 0, now);
    }
    found.rows.insert(id);
}

/// What is kept of a body that can be dialled.
#[derive(Default)]
struct Body {
    /// The StandAloneSig token of its variables; 0 where it has none.
    local_sig: u32,
    /// The JIT may inline it.
    inlinable: bool,
    /// It calls itself last.
    ends_in_itself: bool,
    /// Other code may stand in the place of its calls.
    expanded: bool,
    /// What of it keeps it from being timed.
    untimed: Option<Untimed>,
}

/// Whether other code may stand in the place of a method's calls. Only the core library has the attributes that say so: they
/// are its own.
pub(super) fn may_be_expanded(agent: &Agent, module: &Module, import: &Import, method: &Found) -> bool {
    agent.is_core_library(module) && module.expands(import, method.type_token, method.token)
}

/// Why a method without a row cannot be dialled, if so. Bodies are looked at where the latest order turns it on.
pub(super) fn refusal_of(
    agent: &Agent,
    module: &Module,
    import: &Import,
    method: &Found,
    orders: &[&Standing],
) -> Option<Reason> {
    match orders.last().is_some_and(|standing| standing.order.level > Level::Off) {
        true => judge(agent, module, import, method).err(),
        false => check(agent, module, method.type_name, method.method).err(),
    }
}

/// Why a method cannot be dialled, its body included; of one that can, what is kept of it.
fn judge(agent: &Agent, module: &Module, import: &Import, method: &Found) -> Result<Body, Reason> {
    check(agent, module, method.type_name, method.method)?;
    let read = |original: &[u8]| {
        il::decode(original).map(|body| {
            let ends_in_itself = ends_in_itself(import, &body, method.token, method.method);
            Body {
                local_sig: body.local_sig,
                inlinable: may_be_inlined(agent.runtime.major, method.method.impl_flags, body.old_code_size),
                ends_in_itself,
                expanded: false,
                untimed: timing::untimed(&body, ends_in_itself),
            }
        })
    };
    match agent.info.il_body(module.id(), method.token, read) {
        Err(_) => Err(Reason::NoBody),
        Ok(Err(_)) => Err(Reason::BadIl),
        Ok(Ok(body)) => Ok(body),
    }
}

/// Whether anything but its body keeps a method from being recompiled.
///
/// # Errors
/// The reason.
pub fn check(agent: &Agent, module: &Module, type_name: &str, method: &MethodDef) -> Result<(), Reason> {
    eligibility::check(&Facts {
        attributes: method.attributes,
        impl_flags: method.impl_flags,
        rva: method.rva,
        dynamic: module.dynamic,
        collectible: module.collectible,
        editable: agent.is_editable(module),
        type_name,
        method: &method.name,
        core_library: agent.is_core_library(module),
        runtime_major: agent.runtime.major,
    })
}

/// Whether a method without a row may be recompiled, with its original IL.
pub(super) fn may_be_recompiled(agent: &Agent, (module, token): (usize, u32)) -> bool {
    let Some(module) = agent.modules.get(module) else { return false };
    let judged = module.with_metadata(&agent.info, |import| {
        let method = import.method(token).ok()?;
        let type_name = ModuleNames::default().type_name(import, method.type_def)?;
        check(agent, &module, &type_name, &method).ok()
    });
    judged.flatten().is_some()
}
