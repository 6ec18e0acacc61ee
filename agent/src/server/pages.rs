//! Long answers, page by page: methods from metadata, rows from the ledger.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::catalogue::methods::matching;
use crate::catalogue::names::{MethodNames, ModuleNames};
use crate::probes::blocks::{self, Slot};
use redial_protocol::catalogue::MethodPage;
use redial_protocol::ids::RowId;
use redial_protocol::limits::{METHODS_PER_PAGE, ROWS_PER_PAGE};
use redial_protocol::message::StatusRow;
use redial_protocol::pattern::Pattern;
use std::collections::HashMap;
use std::ops::ControlFlow;

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
        self.columns.token.len() >= METHODS_PER_PAGE
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

/// Rows as they travel, in pages. `wanted` picks rows by id and pattern; names of domains are read without the lock.
/// `send` also gets each row's calls, and the number of the first transition that the page does not tell of yet.
pub fn rows(
    agent: &Agent,
    wanted: impl Fn(&crate::rejit::row::Row) -> bool,
    mut send: impl FnMut(Vec<StatusRow>, &[(RowId, u64)], u64) -> bool,
) -> u64 {
    let mut next = 0usize;
    let mut sent = 0u64;
    loop {
        let (chosen, end, told) = {
            let book = agent.ledger.book();
            let all = book.rows();
            let mut chosen = Vec::new();
            let mut at = next;
            while let (Some(row), true) = (all.get(at), chosen.len() < ROWS_PER_PAGE) {
                at += 1;
                if wanted(row) {
                    chosen.push((
                        row.status(String::new(), 0),
                        row.slot,
                        row.slot_start,
                        row.final_calls,
                        row.module.domain,
                    ));
                }
            }
            next = at;
            (chosen, at >= all.len(), book.ring_end())
        };
        let slots: Vec<Slot> = chosen.iter().filter_map(|(_, slot, ..)| *slot).collect();
        let mut sums = Vec::new();
        blocks::sum(&slots, &mut sums);
        let mut sums = sums.into_iter();
        let mut calls = Vec::with_capacity(chosen.len());
        let page: Vec<StatusRow> = chosen
            .into_iter()
            .map(|(mut row, slot, start, last, domain)| {
                row.calls = match slot {
                    Some(_) => sums.next().unwrap_or(start).saturating_sub(start),
                    None => last,
                };
                row.domain = agent.modules.domain_name(&agent.info, domain);
                calls.push((row.row, row.calls));
                row
            })
            .collect();
        sent += page.len() as u64;
        if (!page.is_empty() && !send(page, &calls, told)) || end {
            return sent;
        }
    }
}
