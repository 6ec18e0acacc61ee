//! The worst calls of rows, as they travel.
#![forbid(unsafe_code)]

use super::session::Session;
use crate::agent::Agent;
use crate::catalogue::names::ModuleNames;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::thrown::Class;
use crate::probes::worst::{self, Kept, Worst};
use redial_protocol::calls::{KeptCall, RowCalls};
use redial_protocol::ids::RowId;
use redial_protocol::limits::MAX_WORD;
use redial_protocol::message::Reply;
use redial_protocol::order::TimeOptions;
use std::collections::HashMap;

impl Session {
    /// The worst calls of these rows, as far as they have conditions.
    pub(super) fn kept_calls(&self, rows: &[RowId]) -> Reply {
        let ns_per_tick = clock::ns_per_tick();
        let mut types = Types { agent: self.agent, known: HashMap::new() };
        let tell = |row: &RowId| {
            let (slot, options) = conditioned(self.agent, *row)?;
            let Worst { calls, met, missed } = worst::read(slot);
            // No lock was held: its condition may have gone by now, and the slot be another row's.
            if conditioned(self.agent, *row) != Some((slot, options)) {
                return None;
            }
            let told = |call: Kept| KeptCall {
                ended_unix_ms: call.ended_ms,
                took_ns: (call.took as f64 * ns_per_tick) as u64,
                thread: call.thread,
                failed: call.failed,
                exception: call.class.and_then(|class| types.name(class)),
            };
            Some(RowCalls { row: *row, calls: calls.into_iter().map(told).collect(), met, missed })
        };
        Reply::KeptCalls(rows.iter().filter_map(tell).collect())
    }
}

/// The slot of a row with a condition, and which it is.
fn conditioned(agent: &Agent, id: RowId) -> Option<(Slot, TimeOptions)> {
    let book = agent.ledger.book();
    let row = book.row(id).filter(|row| row.options.keeps_calls())?;
    Some((row.slot?, row.options))
}

/// Names of types, each read once.
struct Types {
    agent: &'static Agent,
    known: HashMap<(usize, u32, u32), Option<String>>,
}

impl Types {
    /// As people read it; None where its module has been unloaded since.
    fn name(&mut self, class: Class) -> Option<String> {
        let agent = self.agent;
        let read = || {
            let module = agent.modules.get(class.module)?;
            if module.key.generation > class.generation {
                // Another one, in its place.
                return None;
            }
            let name = module.with_metadata(&agent.info, |import| {
                let names = ModuleNames::default();
                let name = names.type_name(import, class.token)?;
                Some(names.display_type(import, class.token, &name))
            });
            name.flatten().filter(|name| name.len() <= MAX_WORD)
        };
        self.known.entry((class.module, class.token, class.generation)).or_insert_with(read).clone()
    }
}
