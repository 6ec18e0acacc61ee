//! Windows transport: a named pipe that only the host's user, SYSTEM and elevated Administrators can open.
//!
//! Tested under Wine, which does not enforce the access list of a pipe.

mod client;
mod listener;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use client::connect;
pub(super) use listener::Listener;
pub(super) use stream::{Closer, ReadHalf, Stream, WriteHalf};
