//! Sets the conditions for keeping the slowest calls of rows, and the limits of traced ones.
#![forbid(unsafe_code)]

use super::exceptions;
use crate::context::Context;
use crate::probes::blocks::Slot;
use crate::probes::condition_setter;
use redial_protocol::ids::RowId;
use redial_protocol::order::TimeOptions;

/// Sets which calls are kept in the slots of rows; none for rows that have lost their slot since.
pub(super) fn set(context: &Context, rows: &[(RowId, Slot, TimeOptions)]) {
    for (row, slot, options) in rows {
        condition_setter::set(*slot, *options);
        context.traces.set_limits(*row, *options);
    }
    let lost: Vec<Slot> = {
        let ledger = context.ledger.lock();
        let has_it = |id: RowId, slot| ledger.row(id).is_some_and(|row| row.counters.slot() == Some(slot));
        rows.iter().filter(|(id, slot, _)| !has_it(*id, *slot)).map(|(_, slot, _)| *slot).collect()
    };
    lost.into_iter().for_each(|slot| condition_setter::set(slot, TimeOptions::default()));
    exceptions::follow(context);
}
