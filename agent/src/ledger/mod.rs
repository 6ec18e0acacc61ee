//! The ledger: every copy that is or was dialled, with its wanted and actual level, its counters and its notes.
#![forbid(unsafe_code)]

mod async_accounts;
pub mod async_role;
pub mod bodies;
pub mod compilations;
pub mod copy_identity;
pub mod counters;
mod ignored_requests;
mod lock;
mod outcomes;
pub mod recompiled_callers;
pub mod request_state;
pub mod reverting_rows;
pub mod row;
pub mod row_filter;
mod row_inlining;
mod row_notes;
pub mod row_table;
pub mod row_timing;
mod slot_assignment;
pub mod slots;
pub mod state;
pub mod turn_off_plan;
pub mod unloading;
pub mod wanted_dial;

pub use async_accounts::AccountStart;
pub use lock::{Ledger, LockedLedger};
