//! Turning dials: the ledger of copies, the inbox, and the one thread that calls `RequestReJIT` and
//! `RequestRevert`. That thread is native, never runs managed code, and holds no lock of ours across those calls
//! (`ReJITError` arrives inside them).
#![forbid(unsafe_code)]

mod apart;
pub mod asynchronous;
mod budget;
mod conditions;
mod domains;
pub mod foresee;
pub mod inbox;
pub mod inliners;
pub mod ledger;
pub mod passengers;
pub mod report;
pub mod request;
pub mod revert;
pub mod reverting;
pub mod row;
pub mod scan;
mod silence;
pub mod slots;
pub mod table;
pub mod thread;
mod turning;
mod waiting;
mod why;

pub use inbox::{AllOff, Answer, Gate, Gates, Inbox, Job, Progress, Turn, TurnResult, Wish};
pub use ledger::Ledger;

/// Bytes the CLR keeps for a recompilation of a small method (measured 1.2–1.5 KiB).
pub const CLR_BYTES_PER_COMPILATION: u64 = 1400;
