//! Reports the histogram of one row.
#![forbid(unsafe_code)]

use super::session::Session;
use super::times::{TimesReader, async_roles};
use crate::context::Context;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::histogram::Histogram;
use crate::probes::timers;
use redial_protocol::diagnostics::Unsupported;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Reply};

impl Session {
    /// Returns the durations of a row's calls, or why they are unknown.
    pub(super) fn histogram(&self, row: RowId) -> Reply {
        read(self.context, row).map_or_else(Reply::Refused, Reply::Histogram)
    }
}

fn read(context: &Context, row: RowId) -> Result<RowHistogram, Refusal> {
    let slot = timed_slot(context, row)?;
    let mut reader = TimesReader::default();
    reader.calibrate();
    let mut histogram = Histogram::default();
    let taken = timers::slot_times(&[slot], &mut histogram).pop().ok_or_else(unread)?;
    // Even if some buckets had no memory: their calls are then reported as a number.
    timers::fill_histogram(slot, &mut histogram);
    // No lock was held: the module may be gone by now, and the slot another row's.
    let role = async_roles(&context.ledger, [row].into_iter()).pop().flatten();
    timed_slot(context, row)?;
    let (buckets, calls) = histogram.buckets().unzip();
    let tick_fs = (clock::ns_per_tick() * 1e6) as u64;
    Ok(RowHistogram { times: reader.in_ns(row, &taken, role.as_ref()), tick_fs, buckets, calls })
}

fn unread() -> Refusal {
    Refusal::Unsupported(Unsupported::TimesUnread)
}

/// Returns the slot that times calls of a row. A row keeps its slot as long as it has one.
fn timed_slot(context: &Context, id: RowId) -> Result<Slot, Refusal> {
    let ledger = context.ledger.lock();
    let reason = match ledger.row(id) {
        None => Unsupported::NoRow,
        Some(row) if !row.counters.recorded().times => Unsupported::NeverTimed,
        Some(row) => match row.counters.slot() {
            Some(slot) => return Ok(slot),
            None => Unsupported::HistogramUnloaded,
        },
    };
    Err(Refusal::Unsupported(reason))
}
