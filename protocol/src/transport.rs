//! The local socket between an agent and its controllers: who listens where, and who may connect.
//!
//! Owns the rules of trust: the host's user, root, and on Windows SYSTEM and elevated Administrators may connect,
//! nobody else; a client believes a server only if it is the process asked for. Must not know what is said on it.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use crate::ids::ProcessKey;
use std::io;
use std::time::Duration;
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// The agent's end: one per process, under a name that both sides can compute.
#[derive(Debug)]
pub struct Listener(system::Listener);

/// A connection whose two ends have checked each other.
#[derive(Debug)]
pub struct Connection {
    stream: system::Stream,
    peer: Peer,
}

/// Who is at the other end, as the operating system says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its pid as seen from here; absent when it lives in a pid namespace that cannot be seen from here.
    pub pid: Option<u32>,
    /// Its user: a uid in decimal, or a SID.
    pub user: String,
}

/// The receiving half. Blocks; ends (`Ok(0)`) when the peer or a [`Closer`] closed.
#[derive(Debug)]
pub struct ReadHalf(system::ReadHalf);

/// The sending half. Blocks while the peer does not read; dropping it does not close the connection while a
/// [`ReadHalf`] or [`Closer`] lives.
#[derive(Debug)]
pub struct WriteHalf(system::WriteHalf);

/// Closes a connection from any thread, any number of times.
#[derive(Clone, Debug)]
pub struct Closer(system::Closer);

/// Why no endpoint could be made. Whoever gets one advertises nothing (owning a name fails closed).
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No folder can be trusted with a socket.
    #[error("no folder can hold the socket: {}", refusals.join("; "))]
    NoFolder {
        /// Each folder tried, with the reason it was refused.
        refusals: Vec<String>,
    },
    /// An endpoint of this very process is served already.
    #[error("{name} is served already, so this process has an agent already")]
    Served {
        /// The endpoint's name.
        name: String,
    },
    /// Something that is not ours has the name.
    #[error("{name} is taken: {why}")]
    Squatted {
        /// The endpoint's name.
        name: String,
        /// What is there.
        why: String,
    },
    /// The system refused.
    #[error("{name} cannot be made: {source}")]
    Io {
        /// The endpoint's name, or what was asked of the system.
        name: String,
        /// What it said.
        source: io::Error,
    },
}

/// Why a connection was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// A peer that may not connect; it was closed. Accept again.
    #[error("a connection of {user} was refused: only the host's own user and root may connect")]
    NotAdmitted {
        /// Who it was.
        user: String,
    },
    /// [`Listener::close`] was called.
    #[error("the listener is closed")]
    Closed,
    /// The system refused, perhaps for the moment (out of descriptors); wait before accepting again.
    #[error("a connection could not be accepted: {0}")]
    Io(#[source] io::Error),
}

/// Why a process's agent cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// The pid asked for.
        pid: u32,
    },
    /// The process has no endpoint.
    #[error("process {pid} has no agent (looked for {})", looked_in.join(", "))]
    NoAgent {
        /// The pid asked for.
        pid: u32,
        /// The endpoints looked for, each with what is wrong with it if something is.
        looked_in: Vec<String>,
    },
    /// This user may not connect.
    #[error("process {pid} may not be connected to: {why}")]
    NotAllowed {
        /// The pid asked for.
        pid: u32,
        /// Why not.
        why: String,
    },
    /// Something answers that is not the process asked for.
    #[error("what answers as process {pid} is not its agent: {why}")]
    WrongServer {
        /// The pid asked for.
        pid: u32,
        /// What is there instead.
        why: String,
    },
    /// Something else went wrong.
    #[error("process {pid} cannot be connected to: {source}")]
    Io {
        /// The pid asked for.
        pid: u32,
        /// What the system said.
        source: io::Error,
    },
}

impl Listener {
    /// Makes the endpoint of this process, `me` being [`crate::process::own_key`].
    ///
    /// # Errors
    /// When it cannot be made safely.
    pub fn bind(me: ProcessKey) -> Result<Listener, BindError> {
        system::Listener::bind(me).map(Listener)
    }

    /// Waits for the next connection. Safe to call from several threads.
    ///
    /// # Errors
    /// After [`AcceptError::NotAdmitted`] and [`AcceptError::Io`] it may be called again.
    pub fn accept(&self) -> Result<Connection, AcceptError> {
        self.0.accept().map(|(stream, peer)| Connection { stream, peer })
    }

    /// Takes the name away if it is still ours, so that nobody finds the endpoint; connections live on. Dropping
    /// the listener does the same. (A Windows pipe has no name apart from its listener, and keeps it until then.)
    pub fn unlink(&self) {
        self.0.unlink();
    }

    /// Takes the name away and lets every `accept`, waiting or later, end with [`AcceptError::Closed`].
    pub fn close(&self) {
        self.0.close();
    }

    /// The endpoint's name: the socket's path, or the pipe's name.
    pub fn name(&self) -> String {
        self.0.name()
    }
}

impl Connection {
    /// Who is at the other end.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// The two directions and the handle that closes both.
    pub fn split(self) -> (ReadHalf, WriteHalf, Closer) {
        let (read, write, closer) = self.stream.split();
        (ReadHalf(read), WriteHalf(write), Closer(closer))
    }
}

impl ReadHalf {
    /// Lets a read that waits this long fail with [`io::ErrorKind::TimedOut`]; None waits forever. Not zero.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.0.set_timeout(timeout)
    }
}

impl io::Read for ReadHalf {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl io::Write for WriteHalf {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    /// Nothing is buffered on this side.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Closer {
    /// Closes the connection: both halves' calls, waiting or later, end at once (reads with `Ok(0)`, writes with
    /// an error), and so do the peer's.
    pub fn close(&self) {
        self.0.close();
    }
}

/// Connects to the agent in process `pid` (as seen from here), checking that it is that process, owned by that
/// process's owner.
///
/// # Errors
/// See [`ConnectError`].
pub fn connect(pid: u32) -> Result<Connection, ConnectError> {
    system::connect(pid).map(|(stream, peer)| Connection { stream, peer })
}
