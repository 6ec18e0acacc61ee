//! The histogram of one row, as it travels.
#![forbid(unsafe_code)]

use super::session::Session;
use super::times::{TimesReader, waits};
use crate::agent::Agent;
use crate::probes::blocks::Slot;
use crate::probes::clock;
use crate::probes::histogram::Histogram;
use crate::probes::timers;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Reply};

impl Session {
    /// How long the calls of a row took; or why that is not known.
    pub(super) fn histogram(&self, row: RowId) -> Reply {
        read(self.agent, row).map_or_else(Reply::Refused, Reply::Histogram)
    }
}

fn read(agent: &Agent, row: RowId) -> Result<RowHistogram, Refusal> {
    let slot = timed_slot(agent, row)?;
    let mut reader = TimesReader::default();
    reader.calibrate();
    let mut histogram = Histogram::default();
    let taken = timers::taken(&[slot], &mut histogram).pop().ok_or_else(unread)?;
    // Also where memory for some buckets ran out: the calls that are in none are told by their number.
    timers::fill(slot, &mut histogram);
    // No lock was held: its module may be gone by now, and the slot another row's.
    let waits = waits(&agent.ledger, [row].into_iter()).pop().flatten();
    timed_slot(agent, row)?;
    let (buckets, calls) = histogram.buckets().unzip();
    let tick_fs = (clock::ns_per_tick() * 1e6) as u64;
    Ok(RowHistogram { times: reader.in_ns(row, &taken, waits.as_ref()), tick_fs, buckets, calls })
}

fn unread() -> Refusal {
    Refusal::Unsupported("its times could not be read".into())
}

/// The slot in which calls of a row are timed. As long as a row has one, it keeps it.
fn timed_slot(agent: &Agent, id: RowId) -> Result<Slot, Refusal> {
    let book = agent.ledger.book();
    let why = match book.row(id) {
        None => "there is no such row any more",
        Some(row) if !row.was_timed => "its calls were never timed; turn its dial to time",
        Some(row) => match row.slot {
            Some(slot) => return Ok(slot),
            None => "its module was unloaded, and its histogram with it",
        },
    };
    Err(Refusal::Unsupported(why.into()))
}
