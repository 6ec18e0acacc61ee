//! The connection of a [`super::Controller`]: conversion between bytes and packets, the reading and the pinging
//! thread.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redial_protocol::frame::FrameReader;
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::transport::{self, ConnectError, Connection, ReadHalf, WriteHalf};

use crate::host::DEADLINE;

/// Request id of the pinging thread. Its replies are dropped.
pub(super) const PING_ID: u32 = 0;

/// The bytes that arrived on a connection.
#[derive(Default)]
pub(super) struct Received {
    length: AtomicU64,
    /// The bytes themselves since a test wants them.
    recorded: Mutex<Option<Vec<u8>>>,
}

impl Received {
    fn add(&self, bytes: &[u8]) {
        self.length.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(recorded) = lock(&self.recorded).as_mut() {
            recorded.extend_from_slice(bytes);
        }
    }

    /// Returns the number of bytes.
    pub(super) fn length(&self) -> u64 {
        self.length.load(Ordering::Relaxed)
    }

    /// Keeps the bytes from now on.
    pub(super) fn record(&self) {
        *lock(&self.recorded) = Some(Vec::new());
    }

    /// Returns the bytes kept so far.
    pub(super) fn recorded(&self) -> Vec<u8> {
        lock(&self.recorded).clone().unwrap_or_default()
    }
}

/// Waits for the endpoint of `pid`'s agent and connects to it, without sending anything.
///
/// # Errors
/// When the process ends, refuses the connection, or offers no endpoint before the deadline.
pub fn raw(pid: u32) -> Result<Connection> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match transport::connect(pid) {
            // The agent listens on its own thread, and no event announces the endpoint's name.
            Err(ConnectError::NoAgent { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            connected => return connected.with_context(|| format!("cannot connect to {pid}")),
        }
    }
}

/// Reads packets until the connection ends, and sends the reason of its end last.
pub(super) fn read_packets(
    mut read: ReadHalf,
    to: &Sender<Result<AgentPacket, String>>,
    received: &Received,
) {
    let mut frames = FrameReader::new();
    let mut buffer = vec![0u8; 64 << 10];
    let why = 'ended: loop {
        match read.read(&mut buffer) {
            Ok(0) => break "it closed the connection".to_owned(),
            Ok(length) => {
                received.add(&buffer[..length]);
                frames.push(&buffer[..length]);
            }
            Err(error) => break error.to_string(),
        }
        loop {
            match frames.next() {
                Ok(None) => break,
                Ok(Some(body)) => match AgentPacket::from_body(&body) {
                    Ok(packet) => {
                        if to.send(Ok(packet)).is_err() {
                            return;
                        }
                    }
                    Err(error) => break 'ended error.to_string(),
                },
                Err(error) => break 'ended error.to_string(),
            }
        }
    };
    // A dropped controller needs no final message.
    let _ = to.send(Err(why));
}

/// Pings at the given interval until the caller drops the returned sender.
pub(super) fn ping(writer: &Arc<Mutex<WriteHalf>>, every: Duration) -> Result<Sender<()>> {
    let frame = ControllerPacket::Request(Request { id: PING_ID, command: WireCommand::Ping }).to_frame()?;
    let (stop, stopped) = channel::<()>();
    let writer = Arc::clone(writer);
    std::thread::spawn(move || {
        while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            if lock(&writer).write_all(&frame).is_err() {
                return;
            }
        }
    });
    Ok(stop)
}

/// Locks a part of the connection. A poisoned lock only means that a test failed elsewhere.
pub(super) fn lock<T>(part: &Mutex<T>) -> MutexGuard<'_, T> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
