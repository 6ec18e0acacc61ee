//! Reports the callers of one row's method.
#![forbid(unsafe_code)]

use super::session::Session;
use crate::caller_names::CallerCounts;
use crate::context::Context;
use crate::probes::blocks::Slot;
use redial_protocol::callers::RowCallers;
use redial_protocol::diagnostics::Unsupported;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Reply};

impl Session {
    /// Returns the callers of a row's method, or why they are unknown.
    pub(super) fn callers(&self, row: RowId) -> Reply {
        read(self.context, row).map_or_else(Reply::Refused, Reply::Callers)
    }
}

fn read(context: &Context, row: RowId) -> Result<RowCallers, Refusal> {
    let slot = slot_of(context, row)?;
    let CallerCounts { callers, others } = context.callers.of(&context.info, &context.modules, slot);
    // No lock was held: the module may be gone by now, and the slot another row's.
    slot_of(context, row)?;
    Ok(RowCallers { row, callers, others })
}

/// Returns the slot that counts calls of a row. A row keeps its slot as long as it has one.
fn slot_of(context: &Context, id: RowId) -> Result<Slot, Refusal> {
    let ledger = context.ledger.lock();
    let reason = match ledger.row(id) {
        None => Unsupported::NoRow,
        Some(row) if !row.counters.recorded().callers => Unsupported::CallersNeverCounted,
        Some(row) => match row.counters.slot() {
            Some(slot) => return Ok(slot),
            None => Unsupported::CallersUnloaded,
        },
    };
    Err(Refusal::Unsupported(reason))
}
