//! Raw connections to a host's pipe.

use std::io::{self, Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use redial_protocol::transport::{Closer, ReadHalf, WriteHalf};

use super::{RawClient, TargetHost};
use crate::controller;
use crate::host::DEADLINE;

/// The place of a host's endpoint. Pipes have no folders.
pub struct SocketFolder(());

impl SocketFolder {
    /// Does nothing: the name of a pipe comes from its process.
    ///
    /// # Errors
    /// Never here.
    pub fn of(_command: &mut Command) -> Result<Self> {
        Ok(Self(()))
    }
}

/// The connection of a [`super::RawClient`]. Dropping it closes the connection.
pub struct Stream {
    read: ReadHalf,
    write: WriteHalf,
    closer: Closer,
}

/// The place at which an agent listens: the process whose pipe it is.
#[derive(Clone, Debug)]
pub struct Endpoint(u32);

/// Connects to a process's pipe.
///
/// # Errors
/// When nobody listens.
pub(super) fn open(process: &Endpoint) -> Result<Stream> {
    let (read, write, closer) = controller::raw(process.0)?.split();
    let stream = Stream { read, write, closer };
    stream.set_read_timeout(Some(DEADLINE))?;
    Ok(stream)
}

impl TargetHost {
    /// Returns the place at which its agent listens.
    ///
    /// # Errors
    /// Never here.
    pub fn endpoint(&self) -> Result<Endpoint> {
        Ok(Endpoint(self.live.pid))
    }
}

impl RawClient {
    /// Waits, without reading, until the agent has closed the connection.
    ///
    /// # Errors
    /// When the deadline passes first.
    pub fn wait_for_hang_up(&self) -> Result<()> {
        // A pipe has no event for it.
        let deadline = Instant::now() + DEADLINE;
        while !self.stream.closer.is_hung_up() {
            ensure!(Instant::now() < deadline, "the agent did not close the connection");
            std::thread::sleep(Duration::from_millis(2));
        }
        Ok(())
    }
}

impl Stream {
    /// Makes reads fail after this time.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.read.set_timeout(timeout)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.read.read(buffer)
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write.flush()
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.closer.close();
    }
}
