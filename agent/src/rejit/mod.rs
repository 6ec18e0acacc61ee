//! Turning dials: the ledger of copies, the inbox, and the one thread that calls `RequestReJIT` and
//! `RequestRevert`. That thread is native, never runs managed code, and holds no lock of ours across those calls
//! (`ReJITError` arrives inside them).
#![forbid(unsafe_code)]

pub mod inbox;
pub mod ledger;
pub mod request;
pub mod row;
pub mod scan;
pub mod thread;

pub use inbox::{Answer, Gate, Gates, Inbox, Job, Turn, TurnResult};
pub use ledger::Ledger;
