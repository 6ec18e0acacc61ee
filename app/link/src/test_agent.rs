//! A scripted agent for tests of the link, on a real endpoint of this process.

use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, Request};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::transport::{Closer, Listener, ReadHalf, WriteHalf};
use redial_protocol::{PROTOCOL_VERSION, process};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// Serializes tests that use the process's only endpoint.
pub fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Serves one connection with `script` while `controller` runs against this process's own pid.
pub fn serve(script: impl FnOnce(AgentEnd) + Send, controller: impl FnOnce(u32)) {
    let _alone = alone();
    let listener = Listener::bind(process::own_key().expect("own key")).expect("endpoint");
    std::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let (read, write, closer) = listener.accept().expect("a controller").split();
            script(AgentEnd { read, write, closer, frames: FrameReader::new() });
        });
        controller(std::process::id());
        server.join().expect("the script ran to its end");
    });
}

/// Serves every connection with `script`, each in its own thread and with its index (0, 1, …), while
/// `controller` runs against this process's own pid.
pub fn serve_many(script: impl Fn(usize, AgentEnd) + Sync, controller: impl FnOnce(u32)) {
    let _alone = alone();
    let listener = Listener::bind(process::own_key().expect("own key")).expect("endpoint");
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0.. {
                let (read, write, closer) = listener.accept().expect("a controller").split();
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let script = &script;
                scope.spawn(move || {
                    script(number, AgentEnd { read, write, closer, frames: FrameReader::new() })
                });
            }
        });
        // If the controller panics, the accepting thread must end, or the panic never surfaces.
        let _last = LastConnection(&over);
        controller(std::process::id());
    });
}

/// Ends the accepting thread of `serve_many` on drop.
struct LastConnection<'a>(&'a AtomicBool);

impl Drop for LastConnection<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
        drop(redial_protocol::transport::connect(std::process::id()));
    }
}

/// The agent's end of a connection.
pub struct AgentEnd {
    read: ReadHalf,
    write: WriteHalf,
    closer: Closer,
    frames: FrameReader,
}

impl AgentEnd {
    /// Returns the next packet; `None` at the end.
    pub fn receive(&mut self) -> Option<ControllerPacket> {
        let mut buffer = [0u8; 1024];
        loop {
            if let Some(body) = self.frames.next().expect("frames") {
                return Some(ControllerPacket::from_body(&body).expect("a packet"));
            }
            match self.read.read(&mut buffer) {
                Ok(length) if length > 0 => self.frames.push(&buffer[..length]),
                _ => return None,
            }
        }
    }

    /// Returns the next request.
    pub fn request(&mut self) -> Request {
        match self.receive() {
            Some(ControllerPacket::Request(request)) => request,
            other => panic!("not a request: {other:?}"),
        }
    }

    /// Answers the hello with these facts.
    pub fn hello(&mut self, facts: AgentFacts) {
        assert!(matches!(self.receive(), Some(ControllerPacket::Hello(_))));
        self.send(&AgentPacket::Hello(facts));
    }

    /// Sends a packet.
    pub fn send(&mut self, packet: &AgentPacket) {
        self.raw(&packet.to_frame().expect("a frame"));
    }

    /// Sends a packet to a controller that may be gone; returns whether it was sent.
    pub fn offer(&mut self, packet: &AgentPacket) -> bool {
        self.write.write_all(&packet.to_frame().expect("a frame")).is_ok()
    }

    /// Sends an event.
    pub fn event(&mut self, event: Event) {
        self.send(&AgentPacket::Event(event));
    }

    /// Sends a reply.
    pub fn reply(&mut self, id: u32, reply: Reply) {
        self.event(Event::Reply { id, reply });
    }

    /// Sends any bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.write.write_all(bytes).expect("sent");
    }

    /// Closes the connection.
    pub fn close(self) {
        self.closer.close();
    }
}

/// Returns an agent's facts at this protocol version plus `newer`.
pub fn facts(newer: u32) -> AgentFacts {
    AgentFacts {
        protocol: PROTOCOL_VERSION + newer,
        agent_version: "7.8.9".into(),
        process: ProcessKey { pid: std::process::id(), start: 1 },
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.31".into(),
        levels: vec![Level::Off, Level::Count],
        holder: None,
        live: 1,
        kept: 2,
        held: 3,
        clr_kept_bytes: 4,
    }
}
