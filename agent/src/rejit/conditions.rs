//! Which calls are kept of rows, set where their times are taken.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::probes::blocks::Slot;
use crate::probes::conditions;
use redial_protocol::ids::RowId;
use redial_protocol::order::TimeOptions;

/// Sets which calls are kept of rows by their slots; none of those that have lost them since.
pub(super) fn set(agent: &Agent, rows: &[(RowId, Slot, TimeOptions)]) {
    rows.iter().for_each(|(_, slot, options)| conditions::set(*slot, *options));
    let lost: Vec<Slot> = {
        let book = agent.ledger.book();
        let has_it = |id: RowId, slot| book.row(id).is_some_and(|row| row.slot == Some(slot));
        rows.iter().filter(|(id, slot, _)| !has_it(*id, *slot)).map(|(_, slot, _)| *slot).collect()
    };
    lost.into_iter().for_each(|slot| conditions::set(slot, TimeOptions::default()));
    agent.follow_exceptions();
}
