//! Both directions of one connection: sends packets, receives packets with a deadline, and explains the
//! connection's end.
#![forbid(unsafe_code)]

use super::discover;
use super::error::LinkError;
use super::reader::{self, Incoming, ReceivedPacket};
use redial_protocol::ids::ProcessKey;
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::packet::ControllerPacket;
use redial_protocol::process;
use redial_protocol::transport::{Closer, Connection, WriteHalf};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection may end this long before the system counts its process as ended.
const ENDING_PATIENCE: Duration = Duration::from_millis(500);
/// The request id of pings; their replies are ignored.
pub const PING_ID: u32 = 0;

/// One connection; dropping it closes both directions.
pub struct Wire {
    pid: u32,
    /// Tells the process from a later one with the same pid; `None` if the system does not say.
    process: Option<ProcessKey>,
    writer: Arc<Mutex<WriteHalf>>,
    incoming: Receiver<Incoming>,
    interrupt: SyncSender<Incoming>,
    closer: Closer,
    /// Dropping it ends the pinging thread.
    pinging: Option<Sender<()>>,
    /// Whether a wake-up has arrived that `next_or_wake` has not returned.
    woken: bool,
}

/// The outcome of a wait.
pub enum WireEvent {
    /// A packet.
    Packet(ReceivedPacket),
    /// The deadline passed.
    Nothing,
    /// A waker was called.
    Woken,
}

impl Wire {
    /// Starts reading from a new connection to process `pid`.
    pub fn new(pid: u32, connection: Connection) -> Result<Wire, LinkError> {
        let (read, write, closer) = connection.split();
        let (interrupt, incoming) =
            reader::start(read).map_err(|error| LinkError::Connect { pid, why: error.to_string() })?;
        Ok(Wire {
            pid,
            process: process::key_of(pid).ok(),
            writer: Arc::new(Mutex::new(write)),
            incoming,
            interrupt,
            closer,
            pinging: None,
            woken: false,
        })
    }

    /// Returns the process at the other end.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a packet.
    pub fn send(&mut self, packet: &ControllerPacket) -> Result<(), LinkError> {
        let frame = packet.to_frame().map_err(|error| LinkError::Connect {
            pid: self.pid,
            why: format!("the command cannot be sent: {error}"),
        })?;
        let written = lock(&self.writer).write_all(&frame);
        // A failed write means that the peer is gone; the reader knows why.
        if written.is_err() { self.last_words() } else { Ok(()) }
    }

    fn last_words(&mut self) -> Result<(), LinkError> {
        let deadline = Instant::now() + ENDING_PATIENCE;
        while self.packet(Some(deadline))?.is_some() && Instant::now() < deadline {}
        Err(LinkError::Closed { pid: self.pid, why: Some("it accepts no more commands".into()) })
    }

    /// Returns the next packet, or `None` at the deadline. Keeps wake-ups for `next_or_wake`.
    pub fn packet(&mut self, deadline: Option<Instant>) -> Result<Option<ReceivedPacket>, LinkError> {
        loop {
            match self.wait(deadline)? {
                WireEvent::Packet(packet) => return Ok(Some(packet)),
                WireEvent::Nothing => return Ok(None),
                WireEvent::Woken => self.woken = true,
            }
        }
    }

    /// Returns the next packet or wake-up, or `Nothing` at the deadline.
    pub fn next_or_wake(&mut self, deadline: Option<Instant>) -> Result<WireEvent, LinkError> {
        if std::mem::take(&mut self.woken) {
            return Ok(WireEvent::Woken);
        }
        self.wait(deadline)
    }

    fn wait(&mut self, deadline: Option<Instant>) -> Result<WireEvent, LinkError> {
        let incoming = match deadline {
            Some(deadline) => {
                match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(incoming) => incoming,
                    Err(RecvTimeoutError::Timeout) => return Ok(WireEvent::Nothing),
                    Err(RecvTimeoutError::Disconnected) => Incoming::Closed { why: None },
                }
            }
            None => self.incoming.recv().unwrap_or(Incoming::Closed { why: None }),
        };
        match incoming {
            Incoming::Packet(packet) => Ok(WireEvent::Packet(packet)),
            Incoming::Woken => Ok(WireEvent::Woken),
            Incoming::Interrupted => Err(LinkError::Interrupted),
            Incoming::Garbled(why) => Err(self.garbled(&why)),
            Incoming::Closed { why } => Err(self.closed(why)),
        }
    }

    /// Starts pinging, so that the agent does not take a silent session for dead and revert its held dials.
    pub fn keep_alive(&mut self, every: Duration) -> Result<(), LinkError> {
        let (stop, stopped) = channel::<()>();
        let writer = Arc::clone(&self.writer);
        let ping = ControllerPacket::Request(Request { id: PING_ID, command: WireCommand::Ping });
        let frame = ping.to_frame().map_err(|error| self.garbled(&error.to_string()))?;
        std::thread::Builder::new()
            .name("link pings".into())
            .spawn(move || {
                while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    if lock(&writer).write_all(&frame).is_err() {
                        return; // the reader says why
                    }
                }
            })
            .map_err(|error| LinkError::Connect { pid: self.pid, why: error.to_string() })?;
        self.pinging = Some(stop);
        Ok(())
    }

    /// Returns a function that ends a waiting `packet` with `Interrupted`. Any thread may call it.
    pub fn interrupter(&self) -> impl Fn() + Send + 'static {
        let interrupt = self.interrupt.clone();
        move || {
            let _ = interrupt.send(Incoming::Interrupted);
        }
    }

    /// Returns a function that ends a waiting `next_or_wake` with `Woken`. Any thread may call it; it never blocks.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let interrupt = self.interrupt.clone();
        move || {
            // If the channel is full, packets are waiting anyway, and the receiver checks for other work
            // between them.
            let _ = interrupt.try_send(Incoming::Woken);
        }
    }

    /// Returns the error for invalid data.
    pub fn garbled(&self, why: &str) -> LinkError {
        LinkError::Garbled { pid: self.pid, why: why.to_owned() }
    }

    fn closed(&self, why: Option<String>) -> LinkError {
        let deadline = Instant::now() + ENDING_PATIENCE;
        while discover::runs(self.pid) && !self.process.is_some_and(discover::is_another) {
            if Instant::now() >= deadline {
                return LinkError::Closed { pid: self.pid, why };
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        LinkError::Ended(self.pid)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.pinging = None;
        self.closer.close();
    }
}

/// Ignores poisoning: it only means that another of our threads panicked between frames.
fn lock(writer: &Mutex<WriteHalf>) -> MutexGuard<'_, WriteHalf> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}
