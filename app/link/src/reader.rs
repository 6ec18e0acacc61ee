//! The thread that reads packets from an agent. Its channel is bounded: a slow consumer slows reading, so
//! that the agent drops (and counts) events instead of this process growing.
#![forbid(unsafe_code)]

use redial_protocol::frame::FrameReader;
use redial_protocol::packet::AgentPacket;
use std::io::Read;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// Packets waiting in the channel. A packet is usually some hundred bytes, but may take `MAX_FRAME`.
const WAITING: usize = 8;
const READ_AT_ONCE: usize = 64 << 10;

/// A packet with its size.
#[derive(Debug)]
pub struct ReceivedPacket {
    /// The packet.
    pub packet: Box<AgentPacket>,
    /// Length of its frame's body, bytes.
    pub bytes: usize,
}

/// A message in the channel.
#[derive(Debug)]
pub enum Incoming {
    /// A packet.
    Packet(ReceivedPacket),
    /// The connection ended; nothing follows.
    Closed {
        /// The operating system's reason, if any.
        why: Option<String>,
    },
    /// The peer sent an invalid packet; the connection is given up.
    Garbled(String),
    /// The user interrupted the command.
    Interrupted,
    /// Another thread wants the receiver's attention.
    Woken,
}

/// Starts reading. The thread ends with the connection or when the receiver is gone.
pub fn start(
    mut from: impl Read + Send + 'static,
) -> std::io::Result<(SyncSender<Incoming>, Receiver<Incoming>)> {
    let (sender, receiver) = sync_channel(WAITING);
    let to = sender.clone();
    std::thread::Builder::new().name("link reader".into()).spawn(move || {
        let last = read(&mut from, &to);
        let _ = to.send(last);
    })?;
    Ok((sender, receiver))
}

fn read(from: &mut impl Read, to: &SyncSender<Incoming>) -> Incoming {
    let mut frames = FrameReader::new();
    let mut buffer = vec![0u8; READ_AT_ONCE];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) if frames.mid_frame() => {
                return Incoming::Closed { why: Some("in the middle of a message".into()) };
            }
            Ok(0) => return Incoming::Closed { why: None },
            Ok(length) => length,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Incoming::Closed { why: reason(&error) },
        };
        frames.push(buffer.get(..length).unwrap_or_default());
        loop {
            let body = match frames.next() {
                Ok(Some(body)) => body,
                Ok(None) => break,
                Err(error) => return Incoming::Garbled(error.to_string()),
            };
            let packet = match AgentPacket::from_body(&body) {
                Ok(packet) => ReceivedPacket { packet: Box::new(packet), bytes: body.len() },
                Err(error) => return Incoming::Garbled(error.to_string()),
            };
            if to.send(Incoming::Packet(packet)).is_err() {
                return Incoming::Closed { why: None };
            }
        }
    }
}

/// Returns the reason for a failed read. A process that ended with unread data causes a reset, which needs no
/// reason.
fn reason(error: &std::io::Error) -> Option<String> {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset, NotConnected, UnexpectedEof};
    match error.kind() {
        BrokenPipe | ConnectionReset | NotConnected | UnexpectedEof => None,
        _ => Some(error.to_string()),
    }
}
