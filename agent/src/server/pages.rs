//! Methods from metadata, page by page.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::catalogue::Module;
use crate::catalogue::methods::matching;
use crate::catalogue::names::{MethodNames, ModuleNames};
use redial_protocol::catalogue::MethodPage;
use redial_protocol::limits::METHODS_PER_PAGE;
use redial_protocol::pattern::Pattern;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Names after which a page goes out though it has room for more methods: far below what a frame holds.
const PAGE_BYTES: usize = 1 << 20;

/// Pages made under a module's lock before they are sent: some 8 MiB at most.
const PAGES_AT_ONCE: usize = 8;

/// Sends every method that matches, at most `limit`, in pages; answers how many matched in all. `send` answers
/// whether to go on, and is called while no module is kept from unloading.
pub fn methods(
    agent: &Agent,
    pattern: &Pattern,
    limit: u64,
    mut send: impl FnMut(MethodPage) -> bool,
) -> u64 {
    let mut matched = 0u64;
    for module in agent.modules.all().iter().filter(|module| pattern.matches_assembly(&module.name)) {
        let mut in_module = 0u64;
        loop {
            let room = limit.saturating_sub(matched);
            let batch = read_batch(agent, module, pattern, in_module, room);
            matched += batch.seen;
            in_module += batch.seen;
            if !batch.pages.into_iter().all(&mut send) {
                return matched;
            }
            if !batch.more {
                break;
            }
        }
    }
    matched
}

/// Some of a module's matches.
#[derive(Default)]
struct Batch {
    pages: Vec<MethodPage>,
    /// Matches seen beyond those skipped, on a page or past the limit.
    seen: u64,
    /// Whether the module has more.
    more: bool,
}

/// Reads a module's matches after the first `skip`, at most `room` of them onto pages.
fn read_batch(agent: &Agent, module: &Module, pattern: &Pattern, skip: u64, room: u64) -> Batch {
    let mut batch = Batch::default();
    let mut page = Page::default();
    page.begin(module.key);
    module.with_metadata(&agent.info, |import| {
        let names = ModuleNames::default();
        let mut at = 0u64;
        matching(import, &names, &[pattern], |found, _| {
            at += 1;
            if at <= skip {
                return ControlFlow::Continue(());
            }
            batch.seen += 1;
            if batch.seen <= room {
                let display = names.display(import, found);
                page.add(found.type_token, found.token, &display, || {
                    names.display_type(import, found.type_token, found.type_name)
                });
                if let Some(reason) = found.without_body(module) {
                    page.columns.mark_bodyless(reason);
                }
                if page.is_full() {
                    batch.pages.push(page.take(module.key));
                }
            }
            batch.more = batch.pages.len() >= PAGES_AT_ONCE;
            if batch.more || module.is_gone() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
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

    fn add(&mut self, type_token: u32, token: u32, names: &MethodNames, type_name: impl FnOnce() -> String) {
        let index = match self.types.get(&type_token) {
            Some(index) => *index,
            None => {
                let index = self.columns.type_names.len() as u32;
                self.columns.type_names.push(&type_name());
                self.types.insert(type_token, index);
                index
            }
        };
        self.columns.module.push(self.columns.modules.len().saturating_sub(1) as u32);
        self.columns.token.push(token);
        self.columns.type_index.push(index);
        // The method's own part, with its generic parameters: what stands behind the type's name and its dot.
        let own = self
            .columns
            .type_names
            .get(index as usize)
            .and_then(|type_name| names.method.strip_prefix(type_name)?.strip_prefix('.'))
            .unwrap_or(&names.name);
        self.columns.name.push(own);
        self.columns.signature.push(&names.signature);
    }
}
