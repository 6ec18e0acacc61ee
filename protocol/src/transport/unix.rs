//! Unix transport: a socket file with mode 0600 in a folder with mode 0700 of the host's user.

mod client;
mod folder;
mod listener;
mod stream;
#[cfg(test)]
mod tests;

pub(super) use client::connect;
pub(super) use listener::Listener;
pub(super) use stream::{Closer, ReadHalf, Stream, WriteHalf};

/// Returns the effective uid of this process. It can change (a daemon that drops its rights), so it is not
/// cached.
fn own_uid() -> u32 {
    // SAFETY: geteuid takes nothing and cannot fail (POSIX).
    unsafe { libc::geteuid() }
}
