//! The way to processes and their agents: which there are, how to connect, how to start one with the agent.
//! It must not know how anything is printed, nor keep state between commands (that is `model`'s).

pub mod attach;
pub mod backoff;
pub mod checkout;
pub mod connect;
pub mod discover;
pub mod early;
pub mod error;
mod ipc;
pub mod launch;
pub mod library;
pub mod look;
mod reader;
pub mod session;
pub mod unmatched;
mod wire;
pub mod worker;

#[cfg(test)]
pub mod test_agent;
