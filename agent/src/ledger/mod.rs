//! The ledger: every copy that is or was dialled, with its wanted and actual level, its counters and its notes.
#![forbid(unsafe_code)]

mod async_accounts;
pub mod async_role;
mod clr_memory;
pub mod compilations;
mod ignored_requests;
mod lock;
mod outcomes;
pub mod recompiled_callers;
pub mod reverting_rows;
pub mod row;
mod row_notes;
pub mod row_table;
mod slot_assignment;
pub mod slots;
pub mod state;
pub mod turn_off_plan;
pub mod unloading;

pub use async_accounts::AccountStart;
pub use clr_memory::CLR_BYTES_PER_COMPILATION;
pub use lock::{Ledger, LockedLedger};
