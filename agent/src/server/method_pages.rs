//! Lists methods from metadata, page by page.
#![forbid(unsafe_code)]

use crate::catalogue::Module;
use crate::catalogue::implementation_search::ImplementationSearch;
use crate::catalogue::matched_method::MatchedMethod;
use crate::catalogue::methods::matching_from;
use crate::catalogue::names::{ModuleNames, OwnNames};
use crate::context::Context;
use redial_protocol::catalogue::MethodPage;
use redial_protocol::limits::METHODS_PER_PAGE;
use redial_protocol::pattern::Pattern;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Bytes of names after which a page is sent, even with room for more methods: far below the frame limit.
const PAGE_BYTES: usize = 1 << 20;

/// Pages made under a module's lock before they are sent, plus the rest of the current type: at most some 2 MiB, since
/// every session may have that much.
const PAGES_AT_ONCE: usize = 2;

/// Sends the first `limit` matching methods in pages; returns the number of all matches. `send` returns whether to
/// go on; no module is kept from unloading while it runs. Ends soon after `stop` returns true.
pub fn methods(
    context: &Context,
    pattern: &Pattern,
    limit: u64,
    stop: &dyn Fn() -> bool,
    mut send: impl FnMut(MethodPage) -> bool,
) -> u64 {
    let mut matched = 0u64;
    let search = ImplementationSearch::new(&context.info, &context.modules, stop);
    for module in context.modules.all().iter().filter(|module| pattern.matches_assembly(&module.name)) {
        let mut next = Some(0);
        while let Some(first_type) = next {
            let room = limit.saturating_sub(matched);
            let batch = read_batch(context, module, (pattern, &search), first_type, room);
            matched += batch.seen;
            if search.is_stopped() || !batch.pages.into_iter().all(&mut send) {
                return matched;
            }
            next = batch.next;
        }
    }
    matched
}

/// The matches in some of a module's types.
#[derive(Default)]
struct Batch {
    pages: Vec<MethodPage>,
    /// Matches, including those beyond the limit.
    seen: u64,
    /// The type that the next batch begins with; None: no more.
    next: Option<usize>,
}

/// Reads a module's matches, starting at one of its types, with at most `room` of them on pages.
fn read_batch(
    context: &Context,
    module: &Module,
    (pattern, search): (&Pattern, &ImplementationSearch),
    first_type: usize,
    room: u64,
) -> Batch {
    let mut batch = Batch::default();
    let mut page = Page::default();
    page.begin(module.key);
    search.prepare(&[pattern]);
    module.with_metadata(&context.info, |import| {
        let names = ModuleNames::default();
        let mut at_type = None;
        matching_from(first_type, (import, &names), search, &[pattern], |found, _| {
            let begins = at_type.replace(found.type_place) != Some(found.type_place);
            if begins && batch.pages.len() >= PAGES_AT_ONCE {
                batch.next = Some(found.type_place);
                return ControlFlow::Break(());
            }
            batch.seen += 1;
            if batch.seen <= room {
                page.add(found, &names.own(import, found), || {
                    names.display_type(import, found.type_token, found.type_name)
                });
                if let Some(reason) = found.without_body(module.dynamic) {
                    page.columns.mark_bodyless(reason);
                }
                if page.is_full() {
                    batch.pages.push(page.take(module.key));
                }
            }
            if module.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    });
    if !page.columns.token.is_empty() {
        batch.pages.push(page.columns);
    }
    batch
}

#[derive(Default)]
struct Page {
    columns: MethodPage,
    types: HashMap<u32, u32>,
}

impl Page {
    fn begin(&mut self, module: redial_protocol::ids::ModuleKey) {
        self.columns.modules.push(module);
        self.types.clear();
    }

    fn is_full(&self) -> bool {
        let bytes = self.columns.name.text.len() + self.columns.signature.text.len();
        self.columns.token.len() >= METHODS_PER_PAGE || bytes >= PAGE_BYTES
    }

    fn take(&mut self, module: redial_protocol::ids::ModuleKey) -> MethodPage {
        let full = std::mem::take(self);
        self.begin(module);
        full.columns
    }

    fn add(&mut self, found: &MatchedMethod, names: &OwnNames, type_name: impl FnOnce() -> String) {
        let index = match self.types.get(&found.type_token) {
            Some(index) => *index,
            None => {
                let index = self.columns.type_names.len() as u32;
                self.columns.type_names.push(&type_name());
                self.types.insert(found.type_token, index);
                index
            }
        };
        self.columns.module.push(self.columns.modules.len().saturating_sub(1) as u32);
        self.columns.token.push(found.token);
        self.columns.type_index.push(index);
        self.columns.name.push(&names.method);
        self.columns.signature.push(&names.parameters);
    }
}
