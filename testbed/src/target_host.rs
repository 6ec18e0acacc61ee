//! Hosts whose socket lies in a folder of the test, and connections to it that ignore the protocol.

use std::io::{ErrorKind, Read, Write};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::ClientHello;
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};

use crate::host::DEADLINE;
use crate::process_facts::{self, Fact};
use crate::under_agent::{self, LiveHost};

#[cfg_attr(windows, path = "target_host/windows.rs")]
#[cfg_attr(not(windows), path = "target_host/linux.rs")]
mod os;

pub use os::{Endpoint, SocketFolder, Stream};

/// A host whose socket lies in the test's own folder.
pub struct TargetHost {
    /// The host.
    pub live: LiveHost,
    /// The folder of its socket.
    pub folder: SocketFolder,
}

impl TargetHost {
    /// Starts `command` with the agent.
    ///
    /// # Errors
    /// Fails like [`under_agent::start`].
    pub fn start(mut command: Command) -> Result<Self> {
        let folder = SocketFolder::of(&mut command)?;
        Ok(Self { live: under_agent::start(command)?, folder })
    }

    /// Opens a connection that ignores the protocol.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn connect(&self) -> Result<RawClient> {
        RawClient::connect(&self.endpoint()?)
    }

    /// Returns what the system reports about it.
    ///
    /// # Errors
    /// When it has ended.
    pub fn fact(&self, fact: Fact) -> Result<u64> {
        process_facts::of(self.live.pid, fact)
    }

    /// Returns a number that grows by one with each connection.
    ///
    /// # Errors
    /// When it has ended.
    pub fn connections(&self) -> Result<usize> {
        process_facts::connections(self.live.pid)
    }

    /// Waits until it has no more threads and connections than these.
    ///
    /// # Errors
    /// When the deadline passes first.
    pub fn wait_for_no_more_than(&self, threads: u64, connections: usize) -> Result<()> {
        // No event announces the end of the last thread.
        let deadline = Instant::now() + DEADLINE;
        loop {
            let (now, open) = (self.fact(Fact::Threads)?, self.connections()?);
            if now <= threads && open <= connections {
                return Ok(());
            }
            ensure!(
                Instant::now() < deadline,
                "{threads} threads became {now}, {connections} connections {open}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// One end of a connection that may send anything.
pub struct RawClient {
    /// The connection.
    pub stream: Stream,
    frames: FrameReader,
}

impl RawClient {
    /// Opens a connection that ignores the protocol.
    ///
    /// # Errors
    /// When nobody listens.
    pub fn connect(endpoint: &Endpoint) -> Result<Self> {
        Ok(RawClient { stream: os::open(endpoint)?, frames: FrameReader::new() })
    }

    /// Exchanges hellos.
    ///
    /// # Errors
    /// When the agent answers with anything else, or closes the connection.
    pub fn hello(&mut self) -> Result<()> {
        let hello =
            ClientHello { protocol: PROTOCOL_VERSION, program: "rude".into(), version: "1".into(), pid: 1 };
        self.send(&ControllerPacket::Hello(hello))?;
        match self.packet()? {
            Some(AgentPacket::Hello(_)) => Ok(()),
            other => bail!("hello was answered with {other:?}"),
        }
    }

    /// Sends a packet.
    ///
    /// # Errors
    /// When the agent has closed the connection.
    pub fn send(&mut self, packet: &ControllerPacket) -> Result<()> {
        Ok(self.stream.write_all(&packet.to_frame()?)?)
    }

    /// Sends a request without waiting for the answer.
    ///
    /// # Errors
    /// When the agent has closed the connection.
    pub fn ask(&mut self, id: u32, command: WireCommand) -> Result<()> {
        self.send(&ControllerPacket::Request(Request { id, command }))
    }

    /// Writes a length and a body. An already closed connection is not an error.
    pub fn body(&mut self, body: &[u8]) {
        let mut frame = (body.len() as u32).to_le_bytes().to_vec();
        frame.extend_from_slice(body);
        drop(self.stream.write_all(&frame));
    }

    /// Returns the next packet, or `None` after the agent closed the connection.
    ///
    /// # Errors
    /// When the agent sends something else, or nothing before the deadline.
    pub fn packet(&mut self) -> Result<Option<AgentPacket>> {
        let mut buffer = vec![0; 64 << 10];
        loop {
            if let Some(body) = self.frames.next()? {
                return Ok(Some(AgentPacket::from_body(&body)?));
            }
            match self.stream.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                read => self.frames.push(&buffer[..read.context("the connection is still open")?]),
            }
        }
    }

    /// Checks that the agent closes the connection without another packet.
    ///
    /// # Errors
    /// When it sends one, or leaves the connection open until the deadline.
    pub fn ensure_closed(&mut self) -> Result<()> {
        let next = self.packet()?;
        ensure!(next.is_none(), "instead of closing it answered {next:?}");
        Ok(())
    }
}
