//! Finds processes and their agents, connects to them, and starts programs with the agent. Must not know how
//! anything is printed, nor keep state between commands (`model` does that).

pub mod atomic_write;
pub mod attach;
pub mod backoff;
pub mod change_wait;
pub mod checkout;
pub mod connect;
#[cfg(windows)]
pub mod console;
pub mod discover;
pub mod error;
pub mod exit;
pub mod hot;
mod ipc;
pub mod launch;
pub mod library;
pub mod machine;
pub mod parallel;
pub mod platform;
pub mod process_status;
mod reader;
mod reply_limits;
pub mod reply_timer;
pub mod session;
pub mod setup;
pub mod signals;
mod silent;
pub mod snapshot;
pub mod snapshot_file;
pub mod stderr;
pub mod unmatched;
pub mod unmatched_monitor;
mod wire;
pub mod worker;

#[cfg(any(test, feature = "fixtures"))]
pub mod test_agent;
