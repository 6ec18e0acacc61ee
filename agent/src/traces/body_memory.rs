//! The memory of traced bodies. It is never freed: machine code of earlier versions holds their addresses, and threads may be
//! about to run it. So it is limited.

use super::call::TracedRow;
use crate::instrument::traced_method::TracedBody;
use redial_protocol::condition::Condition;

/// Maximum bytes of the bodies beside the first one of each row: those of other conditions and options, and those of
/// unloaded modules.
pub(super) const MAX_FURTHER: usize = 16 << 20;
/// Bytes of a condition for each of its characters, as written and as checked for a method.
const OF_CHARACTER: usize = 32;

/// The bytes of all traced bodies.
#[derive(Debug, Default)]
pub(super) struct BodyMemory {
    /// The first bodies of rows. The ledger limits the number of rows.
    first: usize,
    /// All others.
    further: usize,
}

impl BodyMemory {
    /// Adds a body of a row that may have had others. Returns false without adding it if there is no room.
    pub(super) fn add(&mut self, body: &TracedBody, is_first: bool) -> bool {
        let bytes = bytes(body);
        if is_first {
            self.first += bytes;
            return true;
        }
        let has_room = self.further + bytes <= MAX_FURTHER;
        if has_room {
            self.further += bytes;
        }
        has_room
    }

    /// Counts the first body of a forgotten row among the others.
    pub(super) fn forget_row(&mut self, first: &TracedBody) {
        let bytes = bytes(first);
        self.first = self.first.saturating_sub(bytes);
        self.further += bytes;
    }

    /// Returns the bytes of all bodies.
    pub(super) fn bytes(&self) -> usize {
        self.first + self.further
    }
}

/// Returns about the bytes of a body, without the values that it shares with others.
fn bytes(body: &TracedBody) -> usize {
    let values = size_of_val(body.plan.parameters.as_slice());
    let of_condition = |condition: &Condition| values + condition.text().len() * OF_CHARACTER;
    let condition = body.condition().map_or(0, of_condition);
    size_of::<TracedBody>() + size_of::<TracedRow>() + values + condition
}
