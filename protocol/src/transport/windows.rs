//! Windows: a named pipe that only the host's user, SYSTEM and elevated Administrators can open.
//!
//! Compiled, and run under Wine, which does not enforce who may open a pipe.

mod client;
mod listener;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use client::connect;
pub(super) use listener::Listener;
pub(super) use stream::{Closer, ReadHalf, Stream, WriteHalf};
