//! Bytes to packets and back: the connection of a [`super::Controller`], its reading and its pinging thread.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use redial_protocol::frame::FrameReader;
use redial_protocol::message::{WireCommand, Request};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::transport::{self, ConnectError, Connection, ReadHalf, WriteHalf};

use crate::host::DEADLINE;

/// Id of the requests of the pinging thread, whose replies are dropped.
pub(super) const PING_ID: u32 = 0;

/// The connection to `pid`'s agent, waiting for its endpoint to appear; nothing is said yet.
///
/// # Errors
/// When the process ends, may not be connected to, or offers no endpoint before the deadline.
pub fn raw(pid: u32) -> Result<Connection> {
    let deadline = Instant::now() + DEADLINE;
    loop {
        match transport::connect(pid) {
            // The agent listens from a thread of its own, and a name that appears is no event to wait for.
            Err(ConnectError::NoAgent { .. }) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(2));
            }
            connected => return connected.with_context(|| format!("cannot connect to {pid}")),
        }
    }
}

/// Reads packets until the connection ends; the last thing sent says how it ended.
pub(super) fn read_packets(mut read: ReadHalf, to: &Sender<Result<AgentPacket, String>>, received: &AtomicU64) {
    let mut frames = FrameReader::new();
    let mut buffer = vec![0u8; 64 << 10];
    let why = 'ended: loop {
        match read.read(&mut buffer) {
            Ok(0) => break "it closed the connection".to_owned(),
            Ok(length) => {
                received.fetch_add(length as u64, Ordering::Relaxed);
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
    // A controller that was dropped wants no last word.
    let _ = to.send(Err(why));
}

/// Pings every now and then until the answer is dropped.
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

/// A poisoned lock only means that a test failed elsewhere.
pub(super) fn lock(writer: &Mutex<WriteHalf>) -> MutexGuard<'_, WriteHalf> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}
