//! Who calls one row's method, as it travels.
#![forbid(unsafe_code)]

use super::session::Session;
use crate::agent::Agent;
use crate::callers::Told;
use crate::probes::blocks::Slot;
use redial_protocol::callers::RowCallers;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Reply};

impl Session {
    /// Who calls a row's method; or why that is not known.
    pub(super) fn callers(&self, row: RowId) -> Reply {
        read(self.agent, row).map_or_else(Reply::Refused, Reply::Callers)
    }
}

fn read(agent: &Agent, row: RowId) -> Result<RowCallers, Refusal> {
    let slot = slot_of(agent, row)?;
    let Told { callers, others } = agent.callers.of(agent, slot);
    // No lock was held: its module may be gone by now, and the slot another row's.
    slot_of(agent, row)?;
    Ok(RowCallers { row, callers, others })
}

/// The slot in which calls of a row are counted. As long as a row has one, it keeps it.
fn slot_of(agent: &Agent, id: RowId) -> Result<Slot, Refusal> {
    let book = agent.ledger.book();
    let why = match book.row(id) {
        None => "there is no such row any more",
        Some(row) if !row.had_callers => "its callers were never counted; dial it with --callers",
        Some(row) => match row.slot {
            Some(slot) => return Ok(slot),
            None => "its module was unloaded, and what was known of its callers with it",
        },
    };
    Err(Refusal::Unsupported(why.into()))
}
