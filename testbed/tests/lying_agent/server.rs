//! A server on this process's own endpoint that speaks the protocol correctly framed and lies in every field. It
//! lies to each client by the seed that the test gave to the client's process.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use redial_protocol::frame::FrameReader;
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::process;
use redial_protocol::transport::{Connection, Listener, ReadHalf, WriteHalf};

use crate::answers::Answers;
use crate::lie::Liar;

/// Answers the packets of one client.
pub trait Script: Send {
    /// Sends the answers to a packet. Returns false to close the connection.
    fn answer(&mut self, packet: &ControllerPacket, to: &mut PacketSender) -> bool;
}

/// Makes the script of a client's first, second, … connection.
pub type MakeScript = Arc<dyn Fn(u64) -> Box<dyn Script> + Send + Sync>;

/// The scripts of clients by process id.
#[derive(Default)]
struct Scripts {
    by_client: Mutex<HashMap<u32, (MakeScript, u64)>>,
    added: Condvar,
}

/// The server. There is one per process, because a process has one endpoint.
pub struct LyingServer(Arc<Scripts>);

/// Removes a client's script at the end of its test.
pub struct ScriptGuard<'a>(&'a LyingServer, u32);

impl LyingServer {
    /// Returns the server of this process.
    ///
    /// # Errors
    /// When the endpoint cannot be made.
    pub fn get() -> Result<&'static LyingServer> {
        static SERVER: OnceLock<Result<LyingServer, String>> = OnceLock::new();
        let start = || LyingServer::start().map_err(|error| format!("{error:#}"));
        SERVER.get_or_init(start).as_ref().map_err(|why| anyhow::anyhow!("{why}"))
    }

    fn start() -> Result<LyingServer> {
        let listener = Listener::bind(process::own_key()?).context("no endpoint")?;
        let scripts = Arc::new(Scripts::default());
        let shared = Arc::clone(&scripts);
        thread::spawn(move || {
            while let Ok(connection) = listener.accept() {
                let scripts = Arc::clone(&shared);
                thread::spawn(move || serve(connection, &scripts));
            }
        });
        Ok(LyingServer(scripts))
    }

    /// Serves the process `client` with these scripts, until the guard is dropped.
    pub fn serve(&self, client: u32, scripts: MakeScript) -> ScriptGuard<'_> {
        lock(&self.0.by_client).insert(client, (scripts, 0));
        self.0.added.notify_all();
        ScriptGuard(self, client)
    }
}

impl ScriptGuard<'_> {
    /// Returns how many connections the client opened.
    pub fn connections(&self) -> u64 {
        lock(&self.0.0.by_client).get(&self.1).map_or(0, |(_, connections)| *connections)
    }
}

impl Drop for ScriptGuard<'_> {
    fn drop(&mut self) {
        lock(&self.0.0.by_client).remove(&self.1);
    }
}

/// Returns scripts that lie by a seed.
pub fn liars(seed: u64) -> MakeScript {
    Arc::new(move |connection| Box::new(Answers::new(Liar::new(seed ^ connection << 48))))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Scripts {
    /// Returns the script for the next connection of a client, once the test has set it.
    fn next(&self, client: u32) -> Box<dyn Script> {
        let mut by_client = lock(&self.by_client);
        loop {
            if let Some((make, connections)) = by_client.get_mut(&client) {
                let script = make(*connections);
                *connections += 1;
                return script;
            }
            by_client = self.added.wait(by_client).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn serve(connection: Connection, scripts: &Scripts) {
    let (read, write, closer) = connection.split();
    let mut packets = Packets { read, frames: FrameReader::new() };
    let mut sender = PacketSender { write, open: true };
    if let Some(ControllerPacket::Hello(hello)) = packets.next() {
        let mut script = scripts.next(hello.pid);
        let mut packet = Some(ControllerPacket::Hello(hello));
        while let Some(received) = packet.filter(|received| script.answer(received, &mut sender)) {
            drop(received);
            packet = packets.next();
        }
    }
    closer.close();
}

struct Packets {
    read: ReadHalf,
    frames: FrameReader,
}

impl Packets {
    fn next(&mut self) -> Option<ControllerPacket> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(body) = self.frames.next().ok()? {
                return ControllerPacket::from_body(&body).ok();
            }
            match self.read.read(&mut buffer) {
                Ok(length @ 1..) => self.frames.push(&buffer[..length]),
                _ => return None,
            }
        }
    }
}

/// Sends packets to a client.
pub struct PacketSender {
    write: WriteHalf,
    open: bool,
}

impl PacketSender {
    /// Sends a packet. Returns false after the client has gone, and if the packet fits no frame: without it the client
    /// would wait.
    pub fn send(&mut self, packet: &AgentPacket) -> bool {
        packet.to_frame().is_ok_and(|frame| self.bytes(&frame))
    }

    /// Sends bytes as they are. Returns false after the client has gone.
    pub fn bytes(&mut self, bytes: &[u8]) -> bool {
        self.open = self.open && self.write.write_all(bytes).is_ok();
        self.open
    }
}
