//! Times of calls by thread. Each thread has a *timer*, which only it writes. A stack of frames lists its calls
//! in flight, from the outermost inwards; one record per slot has the results of finished calls. When a thread
//! dies, its timer keeps the records and serves the next thread, as blocks do. So sums over all timers are
//! correct.
//!
//! The address of a variable in the stack frame of a call identifies its frame. Stacks grow downwards. So frames at
//! or below one that begins, and frames below one that ends, belong to calls that were unwound without a report.
//! They are given up, and the thread's stack is consistent again.

pub mod alarm;
pub mod call_sites;
mod frame_stack;
mod octave;
mod record;
mod site_chains;
mod slot_table;
mod sums;
mod timer;
mod traced_calls;
mod traced_timer;

pub(crate) use record::MAX_FRAMES;
pub use sums::{SlotTimes, TimeSums, fill_histogram, reset, slot_times, sum, sums};
#[cfg(test)]
pub(crate) use timer::GC_POLL_INTERVAL;
pub(crate) use timer::{Mark, all};
pub use timer::{Timer, lower_alarms};
