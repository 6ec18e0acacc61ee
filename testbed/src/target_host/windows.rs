//! Raw connections to a host's pipe.

use std::io::{self, Read, Write};
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use redial_protocol::transport::{Closer, ReadHalf, WriteHalf};

use crate::controller;
use crate::host::DEADLINE;
use crate::under_agent::LiveHost;

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

/// Connects to a host's pipe.
///
/// # Errors
/// When nobody listens.
pub(super) fn connect(host: &LiveHost, _folder: &SocketFolder) -> Result<Stream> {
    let (read, write, closer) = controller::raw(host.pid)?.split();
    let stream = Stream { read, write, closer };
    stream.set_read_timeout(Some(DEADLINE))?;
    Ok(stream)
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
