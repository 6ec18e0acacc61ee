//! A hostile client that does everything at once to an endpoint: garbage, huge claims, half frames, connects without
//! end, idle sessions, stopped readers, requests, changes and subscriptions without a pause, floods of "all off", foreign
//! versions.
//!
//! Each kind has a fixed highest rate, so that the client offers the same to an agent and to a server that discards
//! everything; an agent may take less.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::frozen::ClientHello;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_FRAME;
use redial_protocol::message::{Request, WireCommand};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::packet::ControllerPacket;

use crate::noise::noise;

/// Longest wait for the peer before an actor looks whether it is over.
const TICK: Duration = Duration::from_millis(50);
/// Sessions that say nothing.
const IDLE: usize = 64;
/// Sessions that ask for more than any buffer holds, and read nothing.
const STOPPED_READERS: usize = 8;
/// Requests of each of these.
const UNREAD: u32 = 20;
/// Half-open frames.
const HALF_OPEN: usize = 8;
/// Garbage frames written at a time; the agent closes the connection after three.
const BURST: usize = 10;

/// A kind of hostility: its name, and what it does until it is over.
type Kind = (&'static str, fn(&Actor));

const KINDS: [Kind; 15] = [
    ("unread requests", stopped_readers),
    ("status requests", |actor| asks(actor, Duration::from_micros(500), status)),
    ("agent status requests", |actor| asks(actor, Duration::from_millis(1), agent_status)),
    ("methods requests", |actor| asks(actor, Duration::from_millis(1), methods)),
    ("plans", |actor| asks(actor, Duration::from_millis(1), plan)),
    ("subscriptions", |actor| asks(actor, Duration::from_millis(1), subscription)),
    ("changes", |actor| asks(actor, Duration::from_millis(1), change)),
    ("long requests", |actor| asks(actor, Duration::from_millis(50), long_request)),
    ("all-off requests", all_off),
    ("idle sessions", idle),
    ("bytes of half-open frames", half_open),
    ("garbage frames", garbage),
    ("claims", claims),
    ("connects", connects),
    ("foreign hellos", foreign),
];

/// The hostile client. Dropping it ends it and closes all its connections.
pub struct Hostility {
    stop: Arc<AtomicBool>,
    counts: Arc<[AtomicU64; KINDS.len()]>,
    begun: Instant,
    actors: Vec<JoinHandle<()>>,
}

impl Hostility {
    /// Begins to act on the socket at `path`.
    pub fn start(path: &Path) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let counts: Arc<[AtomicU64; KINDS.len()]> = Arc::default();
        let act = |(kind, (_, act)): (usize, &Kind)| {
            let actor =
                Actor { path: path.to_owned(), stop: Arc::clone(&stop), counts: Arc::clone(&counts), kind };
            let act = *act;
            std::thread::spawn(move || act(&actor))
        };
        let actors = KINDS.iter().enumerate().map(act).collect();
        Self { stop, counts, begun: Instant::now(), actors }
    }

    /// Returns how much of each kind there was per second so far.
    pub fn rates(&self) -> Vec<(&'static str, f64)> {
        let seconds = self.begun.elapsed().as_secs_f64();
        let rate = |count: &AtomicU64| count.load(Ordering::Relaxed) as f64 / seconds;
        KINDS.iter().zip(self.counts.iter()).map(|((name, _), count)| (*name, rate(count))).collect()
    }
}

impl Drop for Hostility {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // A panicked actor has already reported it.
        self.actors.drain(..).for_each(|actor| drop(actor.join()));
    }
}

/// One kind of hostility at work.
struct Actor {
    path: PathBuf,
    stop: Arc<AtomicBool>,
    counts: Arc<[AtomicU64; KINDS.len()]>,
    kind: usize,
}

impl Actor {
    fn goes_on(&self) -> bool {
        !self.stop.load(Ordering::Relaxed)
    }

    fn count(&self, more: u64) {
        self.counts[self.kind].fetch_add(more, Ordering::Relaxed);
    }

    /// Connects; `None` if the peer does not listen, or refuses.
    fn connect(&self) -> Option<UnixStream> {
        let connected = UnixStream::connect(&self.path);
        match connected.and_then(|stream| {
            stream.set_read_timeout(Some(TICK))?;
            stream.set_write_timeout(Some(TICK))?;
            Ok(stream)
        }) {
            Ok(stream) => Some(stream),
            Err(_) => {
                std::thread::sleep(TICK);
                None
            }
        }
    }

    /// Writes all bytes; false if the peer has closed the connection, or it is over.
    fn write(&self, mut stream: &UnixStream, mut bytes: &[u8]) -> bool {
        while self.goes_on() {
            match stream.write(bytes) {
                Ok(written) if written == bytes.len() => return true,
                Ok(written) => bytes = &bytes[written..],
                Err(error) if is_late(&error) => {}
                Err(_) => return false,
            }
        }
        false
    }

    /// Reads and discards until the peer closes the connection, or it is over.
    fn read_all(&self, mut stream: &UnixStream) {
        let mut buffer = vec![0; 256 << 10];
        while self.goes_on() {
            match stream.read(&mut buffer) {
                Ok(1..) => {}
                Err(error) if is_late(&error) => {}
                _ => return,
            }
        }
    }
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

/// Keeps a highest rate.
struct Pace {
    every: Duration,
    next: Instant,
}

impl Pace {
    fn of(every: Duration) -> Self {
        Self { every, next: Instant::now() }
    }

    fn wait(&mut self) {
        let now = Instant::now();
        // A delay of more than a tick is not made up for.
        self.next = (self.next + self.every).max(now.checked_sub(TICK).unwrap_or(now));
        std::thread::sleep(self.next.saturating_duration_since(now));
    }
}

fn frame(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_le_bytes(), body].concat()
}

fn packet(packet: &ControllerPacket) -> Vec<u8> {
    packet.to_frame().unwrap_or_default()
}

fn hello(protocol: u32) -> Vec<u8> {
    packet(&ControllerPacket::Hello(ClientHello {
        protocol,
        program: "hostile".to_owned(),
        version: "1".to_owned(),
        pid: 1,
    }))
}

fn request(command: WireCommand) -> Vec<u8> {
    packet(&ControllerPacket::Request(Request { id: 1, command }))
}

fn status() -> Vec<u8> {
    request(WireCommand::Status { pattern: None })
}

fn agent_status() -> Vec<u8> {
    request(WireCommand::AgentStatus)
}

fn methods() -> Vec<u8> {
    request(WireCommand::Methods { pattern: None, limit: u64::MAX })
}

fn plan() -> Vec<u8> {
    let orders = vec![Order::new("*".to_owned(), Level::Count)];
    request(WireCommand::Plan { orders, lifetime: Lifetime::Kept })
}

/// Begins the one subscription of the session anew. The first answer has every row.
fn subscription() -> Vec<u8> {
    request(WireCommand::Subscribe { pattern: None, interval_ms: 10 })
}

/// Takes control and sets an order that matches nothing yet: an instrumented method would make the host slower by
/// itself.
fn change() -> Vec<u8> {
    let orders = vec![Order::new("Nowhere!Nothing.Never()".to_owned(), Level::Time)];
    request(WireCommand::RequestReJit { orders, later: true, take: true, lifetime: Lifetime::Held })
}

fn long_request() -> Vec<u8> {
    let pattern = Some("x".repeat(MAX_FRAME - 64));
    request(WireCommand::Methods { pattern, limit: 1 })
}

/// Sends a request again and again, and discards the answers.
fn asks(actor: &Actor, every: Duration, request: fn() -> Vec<u8>) {
    let request = request();
    session(actor, every, &hello(PROTOCOL_VERSION), &request);
}

fn all_off(actor: &Actor) {
    session(actor, Duration::from_millis(1), &[], &packet(&ControllerPacket::AllOff));
}

fn session(actor: &Actor, every: Duration, first: &[u8], again: &[u8]) {
    let mut pace = Pace::of(every);
    while actor.goes_on() {
        let Some(stream) = actor.connect() else { continue };
        std::thread::scope(|scope| {
            scope.spawn(|| actor.read_all(&stream));
            let mut open = first.is_empty() || actor.write(&stream, first);
            while open && actor.goes_on() {
                open = actor.write(&stream, again);
                actor.count(u64::from(open));
                pace.wait();
            }
            drop(stream.shutdown(std::net::Shutdown::Both));
        });
    }
}

fn stopped_readers(actor: &Actor) {
    let asked = methods();
    let mut sessions: Vec<Option<UnixStream>> = (0..STOPPED_READERS).map(|_| None).collect();
    while actor.goes_on() {
        for session in &mut sessions {
            if session.as_ref().is_some_and(is_open) {
                continue;
            }
            *session = actor.connect();
            let Some(stream) = session else { continue };
            if actor.write(stream, &hello(PROTOCOL_VERSION)) {
                let requests = asked.repeat(UNREAD as usize);
                actor.count(u64::from(UNREAD) * u64::from(actor.write(stream, &requests)));
            }
        }
        std::thread::sleep(TICK);
    }
}

/// Returns whether the peer has not closed a connection, without reading.
fn is_open(stream: &UnixStream) -> bool {
    use std::os::fd::AsRawFd;
    let mut wait = libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLRDHUP, revents: 0 };
    // SAFETY: one live structure, and its count.
    unsafe { libc::poll(&mut wait, 1, 0) == 0 }
}

fn idle(actor: &Actor) {
    let mut sessions: Vec<Option<UnixStream>> = (0..IDLE).map(|_| None).collect();
    while actor.goes_on() {
        for session in &mut sessions {
            if !session.as_ref().is_some_and(is_open) {
                *session = actor.connect();
                actor.count(u64::from(session.is_some()));
            }
        }
        std::thread::sleep(TICK);
    }
}

fn half_open(actor: &Actor) {
    let begin = [hello(PROTOCOL_VERSION), 5_000u32.to_le_bytes().to_vec()].concat();
    let mut sessions: Vec<Option<UnixStream>> = (0..HALF_OPEN).map(|_| None).collect();
    while actor.goes_on() {
        for session in &mut sessions {
            match session {
                Some(stream) if actor.write(stream, &[0]) => actor.count(1),
                _ => {
                    *session = actor.connect().filter(|stream| actor.write(stream, &begin));
                }
            }
        }
        std::thread::sleep(TICK);
    }
}

/// Sends 10,000 garbage frames a second.
fn garbage(actor: &Actor) {
    let burst: Vec<u8> = (0..BURST as u64).flat_map(|seed| frame(&noise(seed, 40))).collect();
    let mut pace = Pace::of(Duration::from_micros(100) * BURST as u32);
    let mut stream = None;
    while actor.goes_on() {
        match &stream {
            Some(open) if actor.write(open, &burst) => actor.count(BURST as u64),
            _ => {
                stream = actor.connect();
                continue;
            }
        }
        pace.wait();
    }
}

/// Claims a string of 31 MiB in a body of 4 MiB, before and after the hello.
fn claims(actor: &Actor) {
    let mut claim = vec![0x10, 1, 1, 1, 0xfc];
    claim.extend((31u32 << 20).to_le_bytes());
    claim.resize(MAX_FRAME, b'x');
    let claim = frame(&claim);
    let greeted = [hello(PROTOCOL_VERSION), claim.clone()].concat();
    let mut pace = Pace::of(Duration::from_millis(50));
    while actor.goes_on() {
        for bytes in [&claim, &greeted] {
            let Some(stream) = actor.connect() else { continue };
            actor.count(u64::from(actor.write(&stream, bytes)));
            pace.wait();
        }
    }
}

/// Connects and disconnects 1,000 times a second.
fn connects(actor: &Actor) {
    let mut pace = Pace::of(Duration::from_millis(1));
    while actor.goes_on() {
        actor.count(u64::from(actor.connect().is_some()));
        pace.wait();
    }
}

/// Sends a hello of another version and a request.
fn foreign(actor: &Actor) {
    let bytes = [hello(PROTOCOL_VERSION + 1), methods()].concat();
    let mut pace = Pace::of(Duration::from_millis(5));
    while actor.goes_on() {
        let Some(stream) = actor.connect() else { continue };
        actor.count(u64::from(actor.write(&stream, &bytes)));
        pace.wait();
    }
}
