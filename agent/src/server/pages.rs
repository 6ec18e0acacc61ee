//! Methods from metadata, page by page.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::catalogue::methods::matching;
use crate::catalogue::names::{MethodNames, ModuleNames};
use redial_protocol::catalogue::MethodPage;
use redial_protocol::limits::METHODS_PER_PAGE;
use redial_protocol::pattern::Pattern;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Names after which a page goes out though it has room for more methods: far below what a frame holds.
const PAGE_BYTES: usize = 1 << 20;

/// Sends every method that matches, at most `limit`, in pages; answers how many matched in all. `send` answers
/// whether to go on.
pub fn methods(
    agent: &Agent,
    pattern: &Pattern,
    limit: u64,
    mut send: impl FnMut(MethodPage) -> bool,
) -> u64 {
    let mut matched = 0u64;
    let mut page = Page::default();
    for module in agent.modules.all().iter().filter(|module| pattern.matches_assembly(&module.name)) {
        let mut open = true;
        module.with_metadata(&agent.info, |import| {
            let names = ModuleNames::default();
            page.begin(module.key);
            matching(import, &names, &[pattern], |found, _| {
                matched += 1;
                if matched <= limit {
                    let display = names.display(import, found);
                    page.add(found.type_token, found.token, &display, || {
                        names.display_type(import, found.type_token, found.type_name)
                    });
                    if page.is_full() {
                        open = send(page.take(module.key));
                    }
                }
                if open { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            });
        });
        if !open {
            return matched;
        }
    }
    if !page.columns.token.is_empty() {
        send(page.columns);
    }
    matched
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
