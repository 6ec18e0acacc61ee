//! Reports the slowest calls of rows.
#![forbid(unsafe_code)]

use super::exception_types::ExceptionTypes;
use super::session::Session;
use crate::context::Context;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::slowest_calls::{self, KeptCall, SlowestCalls};
use redial_protocol::callers::CallOrigin;
use redial_protocol::ids::RowId;
use redial_protocol::limits::STACK_BYTES_PER_REPLY;
use redial_protocol::message::Reply;
use redial_protocol::order::TimeOptions;
use redial_protocol::slowest_calls::{RowSlowestCalls, SlowCall};

impl Session {
    /// Returns the slowest calls of those of these rows that have conditions.
    pub(super) fn slowest_calls(&self, rows: &[RowId]) -> Reply {
        let ns_per_tick = clock::ns_per_tick();
        let Context { callers, info, modules, .. } = self.context;
        let mut types = ExceptionTypes::new(self.context);
        let mut room = STACK_BYTES_PER_REPLY;
        let read = |row: &RowId| {
            let (slot, options) = conditioned(self.context, *row)?;
            let SlowestCalls { calls, met, missed } = slowest_calls::read(slot);
            // No lock was held: the condition may have gone by now, and the slot be another row's.
            if conditioned(self.context, *row) != Some((slot, options)) {
                return None;
            }
            let slow_call = |call: KeptCall| {
                let addresses = call.stack.addresses().iter().copied().filter(|_| room > 0);
                let stack = callers.stack(info, modules, addresses);
                let bytes = stack.iter().map(bytes_of).sum();
                let left = room.checked_sub(bytes);
                room = left.unwrap_or(0);
                SlowCall {
                    ended_unix_ms: call.ended_ms,
                    took_ns: (call.took as f64 * ns_per_tick) as u64,
                    thread: call.thread,
                    failed: call.failed,
                    exception: call.class.and_then(|class| types.name(class)),
                    stack: left.map(|_| stack).unwrap_or_default(),
                }
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

/// Returns about how many bytes a caller takes in a reply.
fn bytes_of(caller: &CallOrigin) -> usize {
    const NUMBERS: usize = 40;
    NUMBERS
        + match caller {
            CallOrigin::Method { module, method, signature, .. } => {
                module.len() + method.len() + signature.len()
            }
            CallOrigin::Dynamic { name } => name.len(),
            CallOrigin::Native | CallOrigin::Gone => 0,
        }
}

/// Returns the slot and the options of a row with a condition.
fn conditioned(context: &Context, id: RowId) -> Option<(Slot, TimeOptions)> {
    let ledger = context.ledger.lock();
    let row = ledger.row(id).filter(|row| row.wanted.options.keeps_calls())?;
    Some((row.counters.slot()?, row.wanted.options))
}
