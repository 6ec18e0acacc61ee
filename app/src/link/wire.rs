//! The two directions of one connection: packets out, packets in with a deadline, and what the end of it means.
#![forbid(unsafe_code)]

use super::discover;
use super::error::LinkError;
use super::reader::{self, Incoming};
use redial_protocol::message::{Command, Request};
use redial_protocol::packet::{FromAgent, FromController};
use redial_protocol::transport::{Closer, Connection, WriteHalf};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection ends a moment before the process that is ending counts as ended.
const ENDING_PATIENCE: Duration = Duration::from_millis(500);
/// Request id of pings, whose replies nobody waits for.
pub const PING_ID: u32 = 0;

/// One connection. Dropping it closes both directions.
pub struct Wire {
    pid: u32,
    writer: Arc<Mutex<WriteHalf>>,
    incoming: Receiver<Incoming>,
    interrupt: SyncSender<Incoming>,
    closer: Closer,
    /// Dropping it ends the pinging thread.
    pinging: Option<Sender<()>>,
    /// A wake-up arrived that nobody was told of yet.
    woken: bool,
}

/// What a wait ended with.
pub enum Heard {
    /// A packet.
    Packet(Box<FromAgent>),
    /// The deadline passed.
    Nothing,
    /// A `waker` was called.
    Woken,
}

impl Wire {
    /// Starts reading from a fresh connection to process `pid`.
    pub fn new(pid: u32, connection: Connection) -> Result<Wire, LinkError> {
        let (read, write, closer) = connection.split();
        let (interrupt, incoming) =
            reader::start(read).map_err(|error| LinkError::Connect { pid, why: error.to_string() })?;
        Ok(Wire {
            pid,
            writer: Arc::new(Mutex::new(write)),
            incoming,
            interrupt,
            closer,
            pinging: None,
            woken: false,
        })
    }

    /// The process at the other end.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Sends a packet.
    pub fn send(&mut self, packet: &FromController) -> Result<(), LinkError> {
        let frame = packet.to_frame().map_err(|error| LinkError::Connect {
            pid: self.pid,
            why: format!("the command cannot be sent: {error}"),
        })?;
        let written = lock(&self.writer).write_all(&frame);
        // A failed write means that the other side is gone; the reader knows how it went.
        if written.is_err() { self.last_words() } else { Ok(()) }
    }

    fn last_words(&mut self) -> Result<(), LinkError> {
        let deadline = Instant::now() + ENDING_PATIENCE;
        while self.packet(Some(deadline))?.is_some() {}
        Err(LinkError::Closed { pid: self.pid, why: Some("it takes no more commands".into()) })
    }

    /// The next packet, or None at the deadline. Wake-ups are kept for `hear`.
    pub fn packet(&mut self, deadline: Option<Instant>) -> Result<Option<FromAgent>, LinkError> {
        loop {
            match self.wait(deadline)? {
                Heard::Packet(packet) => return Ok(Some(*packet)),
                Heard::Nothing => return Ok(None),
                Heard::Woken => self.woken = true,
            }
        }
    }

    /// The next packet or wake-up, or nothing at the deadline.
    pub fn hear(&mut self, deadline: Option<Instant>) -> Result<Heard, LinkError> {
        if std::mem::take(&mut self.woken) {
            return Ok(Heard::Woken);
        }
        self.wait(deadline)
    }

    fn wait(&mut self, deadline: Option<Instant>) -> Result<Heard, LinkError> {
        let incoming = match deadline {
            Some(deadline) => {
                match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                    Ok(incoming) => incoming,
                    Err(RecvTimeoutError::Timeout) => return Ok(Heard::Nothing),
                    Err(RecvTimeoutError::Disconnected) => Incoming::Closed { why: None },
                }
            }
            None => self.incoming.recv().unwrap_or(Incoming::Closed { why: None }),
        };
        match incoming {
            Incoming::Packet(packet) => Ok(Heard::Packet(packet)),
            Incoming::Woken => Ok(Heard::Woken),
            Incoming::Interrupted => Err(LinkError::Interrupted),
            Incoming::Garbled(why) => Err(self.garbled(&why)),
            Incoming::Closed { why } => Err(self.closed(why)),
        }
    }

    /// Pings from now on, so that the agent does not take a silent session for dead and revert its held dials.
    pub fn keep_alive(&mut self, every: Duration) -> Result<(), LinkError> {
        let (stop, stopped) = channel::<()>();
        let writer = Arc::clone(&self.writer);
        let ping = FromController::Request(Request { id: PING_ID, command: Command::Ping });
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

    /// Something that makes a waiting `packet` end with `Interrupted`, callable from any thread.
    pub fn interrupter(&self) -> impl Fn() + Send + 'static {
        let interrupt = self.interrupt.clone();
        move || {
            let _ = interrupt.send(Incoming::Interrupted);
        }
    }

    /// Something that makes a waiting `hear` end with `Woken`, callable from any thread; it never waits.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        let interrupt = self.interrupt.clone();
        move || {
            // Full: then packets wait already, and whoever takes them looks at everything else between them.
            let _ = interrupt.try_send(Incoming::Woken);
        }
    }

    /// The error for something that makes no sense.
    pub fn garbled(&self, why: &str) -> LinkError {
        LinkError::Garbled { pid: self.pid, why: why.to_owned() }
    }

    fn closed(&self, why: Option<String>) -> LinkError {
        let deadline = Instant::now() + ENDING_PATIENCE;
        while discover::runs(self.pid) {
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

/// A poisoned lock only means that another thread of ours panicked between frames.
fn lock(writer: &Mutex<WriteHalf>) -> MutexGuard<'_, WriteHalf> {
    writer.lock().unwrap_or_else(PoisonError::into_inner)
}
