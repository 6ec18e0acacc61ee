//! Local socket between an agent and its controllers: the endpoint of each process, and the rules of trust.
//!
//! The host's user, root, and on Windows SYSTEM and elevated Administrators may connect; nobody else. A client
//! accepts a server only if it is the requested process. This module must not know what is sent.

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

/// The agent's end: one per process, with a name that both sides can compute.
#[derive(Debug)]
pub struct Listener(system::Listener);

/// A connection whose ends have checked each other.
#[derive(Debug)]
pub struct Connection {
    stream: system::Stream,
    peer: Peer,
}

/// The process at the other end, as the operating system reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Pid as seen from here; absent if the peer is in a pid namespace that is not visible from here.
    pub pid: Option<u32>,
    /// User: a uid in decimal, or a SID.
    pub user: String,
}

/// The receiving half. Reads block; they return `Ok(0)` after the peer or a [`Closer`] closed the connection.
#[derive(Debug)]
pub struct ReadHalf(system::ReadHalf);

/// The sending half. Writes block while the peer does not read. Dropping it does not close the connection while
/// a [`ReadHalf`] or [`Closer`] lives.
#[derive(Debug)]
pub struct WriteHalf(system::WriteHalf);

/// Closes a connection from any thread, any number of times.
#[derive(Clone, Debug)]
pub struct Closer(system::Closer);

/// Reason why no endpoint could be created. After this error an agent advertises nothing.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// No folder can be trusted to hold the socket.
    #[error("no folder can hold the socket: {}", refusals.join("; "))]
    NoFolder {
        /// Each folder tried, with the reason for refusing it.
        refusals: Vec<String>,
    },
    /// This process already serves an endpoint.
    #[error("{name} is already served: this process already has an agent")]
    Served {
        /// Name of the endpoint.
        name: String,
    },
    /// Something foreign has the name.
    #[error("{name} is taken: {why}")]
    Squatted {
        /// Name of the endpoint.
        name: String,
        /// Description of what has the name.
        why: String,
    },
    /// The system refused.
    #[error("{name} cannot be created: {source}")]
    Io {
        /// Name of the endpoint, or the failed operation.
        name: String,
        /// Error from the system.
        source: io::Error,
    },
}

/// Reason why a connection was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum AcceptError {
    /// The peer may not connect, and the connection was closed. Accept again.
    #[error("a connection from {user} was refused: only the host's user and root may connect")]
    NotAdmitted {
        /// User of the peer.
        user: String,
    },
    /// [`Listener::close`] was called.
    #[error("the listener is closed")]
    Closed,
    /// The system refused, perhaps temporarily (out of descriptors). Wait before accepting again.
    #[error("a connection could not be accepted: {0}")]
    Io(#[source] io::Error),
}

/// Reason why a process's agent cannot be reached.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// There is no such process.
    #[error("there is no process {pid}")]
    NoSuchProcess {
        /// Requested pid.
        pid: u32,
    },
    /// The process has no endpoint.
    #[error("process {pid} has no agent (looked for {})", looked_in.join(", "))]
    NoAgent {
        /// Requested pid.
        pid: u32,
        /// Endpoints that were tried, each with its problem if there is one.
        looked_in: Vec<String>,
    },
    /// This user may not connect.
    #[error("access to process {pid} is denied: {why}")]
    NotAllowed {
        /// Requested pid.
        pid: u32,
        /// Reason for the denial.
        why: String,
    },
    /// Another process than the requested one answers.
    #[error("the server that answers for process {pid} is not its agent: {why}")]
    WrongServer {
        /// Requested pid.
        pid: u32,
        /// Description of the process that answers.
        why: String,
    },
    /// Another error.
    #[error("cannot connect to process {pid}: {source}")]
    Io {
        /// Requested pid.
        pid: u32,
        /// Error from the system.
        source: io::Error,
    },
}

impl Listener {
    /// Creates the endpoint of this process; `me` is [`crate::process::own_key`].
    ///
    /// # Errors
    /// If it cannot be created safely.
    pub fn bind(me: ProcessKey) -> Result<Listener, BindError> {
        system::Listener::bind(me).map(Listener)
    }

    /// Waits for the next connection. Safe to call from several threads.
    ///
    /// # Errors
    /// After [`AcceptError::NotAdmitted`] and [`AcceptError::Io`] the caller may call it again.
    pub fn accept(&self) -> Result<Connection, AcceptError> {
        self.0.accept().map(|(stream, peer)| Connection { stream, peer })
    }

    /// Removes the endpoint's name if it is still ours, so that nobody finds it; connections stay open.
    /// Dropping the listener does the same. (A Windows pipe that a thread serves keeps its name until [`Listener::close`].)
    pub fn unlink(&self) {
        self.0.unlink();
    }

    /// Removes the name and makes every `accept`, current or later, return [`AcceptError::Closed`].
    pub fn close(&self) {
        self.0.close();
    }

    /// Returns the name of the endpoint: the socket's path or the pipe's name.
    pub fn name(&self) -> String {
        self.0.name()
    }
}

impl Connection {
    /// Returns the peer.
    pub fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the two directions and the handle that closes both.
    pub fn split(self) -> (ReadHalf, WriteHalf, Closer) {
        let (read, write, closer) = self.stream.split();
        (ReadHalf(read), WriteHalf(write), Closer(closer))
    }
}

impl ReadHalf {
    /// Makes reads fail with [`io::ErrorKind::TimedOut`] after this time; None waits forever. Must not be zero.
    ///
    /// # Errors
    /// If the system refuses.
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

    /// Does nothing, because this side has no buffer.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Closer {
    /// Closes the connection. Current and later calls of both halves return at once (reads with `Ok(0)`, writes
    /// with an error), and so do the peer's.
    pub fn close(&self) {
        self.0.close();
    }

    /// Returns whether the peer has closed the connection in both directions, so that it reads nothing any more.
    pub fn is_hung_up(&self) -> bool {
        self.0.is_hung_up()
    }
}

/// Connects to the agent in process `pid` (as seen from here) and checks that the server is that process and
/// has its owner.
///
/// # Errors
/// See [`ConnectError`].
pub fn connect(pid: u32) -> Result<Connection, ConnectError> {
    system::connect(pid).map(|(stream, peer)| Connection { stream, peer })
}
