//! Finds processes and their agents, connects to them, and starts programs with the agent. Must not know how
//! anything is printed, nor keep state between commands (`model` does that).

pub mod attach;
pub mod backoff;
pub mod checkout;
pub mod connect;
pub mod discover;
pub mod error;
mod ipc;
pub mod launch;
pub mod library;
pub mod process_status;
mod reader;
pub mod session;
mod silent;
pub mod unmatched;
pub mod unmatched_monitor;
mod wire;
pub mod worker;

#[cfg(test)]
pub mod test_agent;
