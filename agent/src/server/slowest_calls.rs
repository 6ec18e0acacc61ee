//! Reports the slowest calls of rows.
#![forbid(unsafe_code)]

use super::session::Session;
use crate::catalogue::names::ModuleNames;
use crate::context::Context;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::exception_stack::ExceptionClass;
use crate::probes::slowest_calls::{self, KeptCall, SlowestCalls};
use redial_protocol::ids::RowId;
use redial_protocol::limits::MAX_WORD;
use redial_protocol::message::Reply;
use redial_protocol::order::TimeOptions;
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};
use std::collections::HashMap;

impl Session {
    /// Returns the slowest calls of those of these rows that have conditions.
    pub(super) fn slowest_calls(&self, rows: &[RowId]) -> Reply {
        let ns_per_tick = clock::ns_per_tick();
        let mut types = Types { context: self.context, known: HashMap::new() };
        let read = |row: &RowId| {
            let (slot, options) = conditioned(self.context, *row)?;
            let SlowestCalls { calls, met, missed } = slowest_calls::read(slot);
            // No lock was held: the condition may have gone by now, and the slot be another row's.
            if conditioned(self.context, *row) != Some((slot, options)) {
                return None;
            }
            let slow_call = |call: KeptCall| SlowCall {
                ended_unix_ms: call.ended_ms,
                took_ns: (call.took as f64 * ns_per_tick) as u64,
                thread: call.thread,
                failed: call.failed,
                exception: call.class.and_then(|class| types.name(class)),
            };
            Some(RowSlowestCalls {
                row: *row,
                calls: calls.into_iter().map(slow_call).collect(),
                met,
                missed,
            })
        };
        Reply::SlowestCalls(rows.iter().filter_map(read).collect())
    }
}

/// Returns the slot and the options of a row with a condition.
fn conditioned(context: &Context, id: RowId) -> Option<(Slot, TimeOptions)> {
    let ledger = context.ledger.lock();
    let row = ledger.row(id).filter(|row| row.wanted.options.keeps_calls())?;
    Some((row.counters.slot()?, row.wanted.options))
}

/// Names of types, each read once.
struct Types {
    context: &'static Context,
    known: HashMap<(usize, u32, u32), Option<String>>,
}

impl Types {
    /// Returns a type's display name; None if its module has been unloaded since.
    fn name(&mut self, class: ExceptionClass) -> Option<String> {
        let context = self.context;
        let read = || {
            let module = context.modules.get(class.module)?;
            if module.key.generation > class.generation {
                // Another module has its ModuleID now.
                return None;
            }
            let name = module.with_metadata(&context.info, |import| {
                let names = ModuleNames::default();
                let name = names.type_name(import, class.token)?;
                Some(names.display_type(import, class.token, &name))
            });
            name.flatten().filter(|name| name.len() <= MAX_WORD)
        };
        self.known.entry((class.module, class.token, class.generation)).or_insert_with(read).clone()
    }
}
