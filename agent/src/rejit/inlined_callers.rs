//! Finds the compiled callers that have inlined copies about to be dialled, and decides how to handle them.
#![forbid(unsafe_code)]

use super::row_request::RowRequest;
use super::scan;
use crate::clr::LoadedModule;
use crate::context::Context;
use crate::inlining::{Inlined, KnownInliners, Method};
use crate::known_bad::RuntimeIssue;
use std::collections::{HashMap, HashSet};

/// The result for one copy.
#[derive(Default)]
pub struct InlinedCallers {
    /// Methods compiled with it inlined that can be recompiled.
    pub inliners: Vec<Method>,
    /// Those of them to recompile for it.
    pub recompiled_callers: Vec<Method>,
    /// Whether the runtime must be asked to find more.
    pub by_runtime: bool,
    /// Whether calls are missed nevertheless.
    pub missed: Inlined,
}

/// Finds the inliners of each copy. `holders` are those observed from the JIT. Methods in `requested` go out with
/// these copies, and need no second request.
pub(super) fn find(
    context: &Context,
    copies: &[RowRequest],
    holders: Vec<KnownInliners>,
    requested: &HashSet<Method>,
) -> Vec<InlinedCallers> {
    let mut search = CallerSearch {
        context,
        requested,
        unseen_collectible: context.modules.has_unseen_collectible(),
        judged: HashMap::new(),
    };
    copies.iter().zip(holders).map(|(request, holders)| search.at(request, holders)).collect()
}

/// Inliners that neither the JIT callbacks nor the module's precompiled code revealed.
enum UnseenCallers {
    /// There are none.
    None,
    /// The runtime knows them.
    AskRuntime,
    /// There may be some that cannot be found.
    Unknown,
}

struct CallerSearch<'a> {
    context: &'a Context,
    requested: &'a HashSet<Method>,
    /// There is a collectible module with methods compiled unseen.
    unseen_collectible: bool,
    judged: HashMap<Method, bool>,
}

impl CallerSearch<'_> {
    fn at(&mut self, request: &RowRequest, holders: KnownInliners) -> InlinedCallers {
        let itself = request.method();
        // Reads a file the first time, so ask before anything holds up an unload.
        let may_be_precompiled = request.inlinable && request.module.may_be_precompiled();
        // The module's unload makes the request void.
        let Some(loaded) = request.module.loaded() else { return InlinedCallers::default() };
        let (precompiled, all) = self.context.info.precompiled_inliners(&loaded, request.token);
        let unseen = self.unseen(request, &loaded, all, may_be_precompiled);
        drop(loaded);
        let by_runtime = matches!(unseen, UnseenCallers::AskRuntime);
        // Collectible inliners cannot be recompiled, and are not reported either.
        let unknown = matches!(unseen, UnseenCallers::Unknown) || by_runtime && self.unseen_collectible;
        let mut missed = if unknown || holders.incomplete { Inlined::Perhaps } else { Inlined::No };
        let mut inliners = holders.inliners;
        inliners.extend(precompiled);
        inliners.sort_unstable();
        inliners.dedup();
        inliners.retain(|method| *method != itself);
        inliners.retain(|method| {
            let context = self.context;
            let can = *self.judged.entry(*method).or_insert_with(|| can_be_recompiled(context, *method));
            if !can {
                missed = Inlined::Yes;
            }
            can
        });
        let recompiled_callers =
            inliners.iter().copied().filter(|method| !self.requested.contains(method)).collect();
        InlinedCallers { inliners, recompiled_callers, by_runtime, missed }
    }

    /// Classifies the unseen inliners. `all`: the module's precompiled code named all of its own;
    /// `may_be_precompiled`: it may have such code, and the method may be inlined there.
    fn unseen(
        &self,
        request: &RowRequest,
        loaded: &LoadedModule,
        all: bool,
        may_be_precompiled: bool,
    ) -> UnseenCallers {
        let hidden = !all && may_be_precompiled;
        if !request.inlinable || !(request.module.before_attach || hidden) {
            return UnseenCallers::None;
        }
        let Context { info, runtime, .. } = self.context;
        // The request would recompile fragile helpers.
        if runtime.does(RuntimeIssue::FragileHelpers) && request.module.is_core_library() {
            return UnseenCallers::Unknown;
        }
        match info.knows_inliners() {
            true if !runtime.does(RuntimeIssue::InlinersNotLoaded) => UnseenCallers::AskRuntime,
            _ if hidden || may_be_precompiled => UnseenCallers::Unknown,
            // The JIT cannot have compiled a method that is not loaded.
            _ if !info.is_loaded(loaded, request.token) => UnseenCallers::None,
            // ReJIT of collectible code hangs its caller on these runtimes.
            true if !self.unseen_collectible => UnseenCallers::AskRuntime,
            _ => UnseenCallers::Unknown,
        }
    }
}

/// Whether a method may be recompiled because of methods inlined into it.
fn can_be_recompiled(context: &Context, method: Method) -> bool {
    let known = {
        let ledger = context.ledger.lock();
        ledger.find(method.0, method.1).and_then(|id| ledger.row(id)).map(|row| row.ineligible.is_none())
    };
    known.unwrap_or_else(|| scan::may_be_recompiled(context, method))
}
