//! Unix: a socket file 0600 in a folder 0700 of the host's user.

mod client;
mod folder;
mod listener;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use client::connect;
pub(super) use listener::Listener;
pub(super) use stream::{Closer, ReadHalf, Stream, WriteHalf};

/// The uid this process acts as. It can change (a daemon that drops its rights), so it is asked each time.
fn own_uid() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail (POSIX).
    unsafe { libc::geteuid() }
}
