//! Traced calls: their memory, and the probe helpers that traced bodies call.
//!
//! Each thread has an area with two parts. On the *stack of calls* a call gets an entry when it begins: the body and
//! the helpers put its arguments there, so those of a call in flight can be read. When the call ends, its entry is
//! copied into the *ring*, from which the collector takes it; if the ring is full, the call is dropped and counted.
//! Helpers never block, take no lock and nothing from the process's heap.

mod area;
pub mod async_calls;
mod call_stack;
mod conditions;
mod entry;
mod exceptions;
mod grant;
pub mod helpers;
mod in_flight;
pub mod objects;
mod rate;
mod strings;
#[cfg(test)]
mod tests;

pub use area::{ThreadArea, areas, touched_bytes};
pub use call_stack::return_addresses;
pub use entry::{AsyncPart, AsyncProgress, CallEnd, EndedCall, PLACES, TracedMethod};
pub use exceptions::inner_class;
pub use in_flight::calls_in_flight;
pub use rate::{Dropped, dropped, refill_process};
pub use strings::set_string_layout;
pub(super) use strings::{MAX_UNITS, string_units};

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of methods that are traced now.
static TRACED: AtomicU32 = AtomicU32::new(0);

/// Whether any method is traced now.
pub fn any() -> bool {
    TRACED.load(Ordering::Relaxed) > 0
}

/// Sets the number of methods that are traced now.
pub fn set_traced(methods: u32) {
    TRACED.store(methods, Ordering::Relaxed);
}
