//! One session with an agent: hello, requests with their replies, and the event stream.
#![forbid(unsafe_code)]

use super::error::LinkError;
use super::reader::ReceivedPacket;
use super::reply_limits::{ReplyLimits, ReplyMeter, UsedLimits, memory, too_many_bytes};
use super::reply_timer::ReplyTimer;
use super::silent::silent;
use super::wire::{PING_ID, Wire, WireEvent};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::MethodPage;
use redial_protocol::frozen::{AgentFacts, ClientHello};
use redial_protocol::il::IlPage;
use redial_protocol::limits::SESSION_PING_MS;
use redial_protocol::message::{Event, Reply, Request, StatusRow, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::times::Times;
use redial_protocol::trace::{DroppedCalls, TracedCall, TracedMethod};
use redial_protocol::transport::Connection;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An agent answers a hello from a thread that never blocks, unless a debugger stopped the process.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// How often a session that holds dials pings the agent.
pub const PING_EVERY: Duration = Duration::from_millis(SESSION_PING_MS);

/// A page of the reply to the current request.
#[derive(Debug)]
pub enum ReplyPage {
    /// Methods.
    Methods(Box<MethodPage>),
    /// Ledger rows.
    Rows(Vec<StatusRow>),
    /// Times of ledger rows.
    Times(Vec<Times>),
    /// Lines of IL.
    Il(IlPage),
    /// Traced calls.
    Calls {
        /// Methods that these and later calls refer to.
        methods: Vec<TracedMethod>,
        /// Calls.
        calls: Vec<TracedCall>,
        /// Numbers of dropped calls.
        dropped: Vec<DroppedCalls>,
    },
}

/// The result of "all off".
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllOffResult {
    /// Copies reverted.
    pub reverted: u64,
    /// Copies that could not be reverted.
    pub remaining: u64,
    /// The change's number for `WireCommand::UndoChange`; 0: there is none.
    pub change: u64,
}

/// A session with an agent that answered the hello.
pub struct Session {
    wire: Wire,
    facts: AgentFacts,
    limits: ReplyLimits,
    used: UsedLimits,
    /// Events that arrived while waiting for a reply, each with its memory.
    queued: VecDeque<(Event, usize)>,
    /// Memory of all of them.
    queued_bytes: usize,
    last_id: u32,
    /// Whether an answer did not arrive in time.
    is_silent: bool,
}

impl Session {
    /// Sends a hello as `program` ("redial dial") over a new connection to process `pid`.
    pub fn open(pid: u32, connection: Connection, program: &str) -> Result<Session, LinkError> {
        Session::open_within(HELLO_PATIENCE, ReplyLimits::default(), pid, connection, program)
    }

    fn open_within(
        patience: Duration,
        limits: ReplyLimits,
        pid: u32,
        connection: Connection,
        program: &str,
    ) -> Result<Session, LinkError> {
        let mut wire = Wire::new(pid, connection)?;
        wire.send(&ControllerPacket::Hello(ClientHello {
            protocol: PROTOCOL_VERSION,
            program: program.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        }))?;
        match wire.packet(Some(Instant::now() + patience))?.map(|received| *received.packet) {
            Some(AgentPacket::Hello(facts)) => Ok(Session {
                wire,
                facts,
                limits,
                used: UsedLimits::default(),
                queued: VecDeque::new(),
                queued_bytes: 0,
                last_id: PING_ID,
                is_silent: false,
            }),
            Some(_) => Err(wire.garbled("its first message is not a hello")),
            None => Err(silent(pid, patience)),
        }
    }

    /// Returns the facts in the agent's hello.
    pub fn facts(&self) -> &AgentFacts {
        &self.facts
    }

    /// Returns the process at the other end.
    pub fn pid(&self) -> u32 {
        self.wire.pid()
    }

    /// Sends a command and waits for its reply. Passes the reply's pages to `page` and queues all other
    /// events for `next`. A refusal is an error, and so are answers or a queue beyond the limits: all answers since
    /// `forget_answers` together have the limits of one. Fails at once if an earlier answer did not arrive in time.
    pub fn ask(&mut self, command: WireCommand, page: &mut dyn FnMut(ReplyPage)) -> Result<Reply, LinkError> {
        if self.is_silent {
            return Err(silent(self.pid(), self.limits.page));
        }
        let mut meter = ReplyMeter::new(self.pid(), self.limits.bytes, self.used.bytes, &command);
        let id = self.send(command)?;
        let mut timer = ReplyTimer::resume(self.limits.page, self.limits.total, self.used.time);
        let reply = self.receive(id, page, &mut meter, &mut timer);
        self.used = UsedLimits { bytes: meter.used(), time: timer.spent() };
        reply
    }

    /// Grants the next answers the whole limits again, because the caller keeps nothing of the earlier ones.
    pub fn forget_answers(&mut self) {
        self.used = UsedLimits::default();
    }

    fn receive(
        &mut self,
        id: u32,
        page: &mut dyn FnMut(ReplyPage),
        meter: &mut ReplyMeter,
        timer: &mut ReplyTimer,
    ) -> Result<Reply, LinkError> {
        loop {
            let ReceivedPacket { packet, bytes } = self.packet_within(timer)?;
            let event = match *packet {
                AgentPacket::Event(event) => event,
                AgentPacket::VersionRefused { agent_protocol, agent_version, .. } => {
                    return Err(LinkError::Version { pid: self.pid(), agent_version, agent_protocol });
                }
                _ => return Err(self.unexpected_reply()),
            };
            let is_page = belongs_to(&event, id);
            if is_page {
                meter.count(&event, bytes)?;
            }
            match event {
                Event::Reply { id: of, reply } if of == id => {
                    return match reply {
                        Reply::Refused(refusal) => Err(LinkError::Refused(refusal)),
                        reply => Ok(reply),
                    };
                }
                Event::Methods { id: of, page: methods } if of == id => {
                    page(ReplyPage::Methods(Box::new(methods)));
                }
                Event::Rows { id: Some(of), rows } if of == id => page(ReplyPage::Rows(rows)),
                Event::Times { id: Some(of), times } if of == id => page(ReplyPage::Times(times)),
                Event::Il { id: of, page: lines } if of == id => page(ReplyPage::Il(lines)),
                Event::Calls { id: Some(of), methods, calls, dropped, .. } if of == id => {
                    page(ReplyPage::Calls { methods, calls, dropped });
                }
                event => self.queue(event, bytes)?,
            }
            if is_page {
                // Here, not before `page`: the time that our own work takes is not the agent's.
                timer.progress();
            }
        }
    }

    /// Returns the next packet of an answer.
    fn packet_within(&mut self, timer: &ReplyTimer) -> Result<ReceivedPacket, LinkError> {
        let packet = self.wire.packet(Some(timer.deadline()))?;
        let checked = timer.check(self.pid());
        self.is_silent = checked.is_err() || packet.is_none();
        checked?;
        packet.ok_or_else(|| timer.expired(self.pid()))
    }

    /// Sends a command without waiting and returns its id. Its pages and reply carry that id and arrive
    /// through `next` and `next_or_wake` like any event.
    pub fn send(&mut self, command: WireCommand) -> Result<u32, LinkError> {
        if !redial_protocol::drives(self.facts.protocol) {
            return Err(LinkError::Version {
                pid: self.pid(),
                agent_version: self.facts.agent_version.clone(),
                agent_protocol: self.facts.protocol,
            });
        }
        self.last_id = self.last_id.checked_add(1).unwrap_or(PING_ID + 1);
        self.wire.send(&ControllerPacket::Request(Request { id: self.last_id, command }))?;
        Ok(self.last_id)
    }

    /// Sends a command whose only reply is `Done`.
    pub fn execute(&mut self, command: WireCommand) -> Result<(), LinkError> {
        match self.ask(command, &mut |_| {})? {
            Reply::Done => Ok(()),
            _ => Err(self.wrong_reply()),
        }
    }

    /// Turns every dial off. Works with an agent of any version. Drops the events that arrive meanwhile.
    pub fn all_off(&mut self) -> Result<AllOffResult, LinkError> {
        self.wire.send(&ControllerPacket::AllOff)?;
        let timer = ReplyTimer::start(self.limits.page, self.limits.total);
        loop {
            match *self.packet_within(&timer)?.packet {
                AgentPacket::AllOffDone { reverted, remaining, change } => {
                    return Ok(AllOffResult { reverted, remaining, change });
                }
                AgentPacket::Event(_) => {}
                _ => return Err(self.unexpected_reply()),
            }
        }
    }

    /// Returns the next event, or `None` at `deadline`. Returns an event that is there even after `deadline`, so
    /// a caller that loops until `None` must look at the time itself.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, LinkError> {
        loop {
            if let Some(event) = self.dequeue() {
                return Ok(Some(event));
            }
            let Some(received) = self.wire.packet(deadline)? else { return Ok(None) };
            let event = self.event(received)?;
            if event.is_some() || is_past(deadline) {
                return Ok(event);
            }
        }
    }

    /// As `next`, but also returns `None` after a `waker` was called.
    pub fn next_or_wake(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, LinkError> {
        loop {
            if let Some(event) = self.dequeue() {
                return Ok(Some(event));
            }
            let event = match self.wire.next_or_wake(deadline)? {
                WireEvent::Packet(received) => self.event(received)?,
                WireEvent::Nothing | WireEvent::Woken => return Ok(None),
            };
            if event.is_some() || is_past(deadline) {
                return Ok(event);
            }
        }
    }

    /// Returns a function that ends a waiting `next_or_wake` at once. Any thread may call it; it never blocks.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        self.wire.waker()
    }

    /// Starts pinging, normally at `PING_EVERY`; see `Wire::keep_alive`.
    pub fn keep_alive(&mut self, every: Duration) -> Result<(), LinkError> {
        self.wire.keep_alive(every)
    }

    /// Returns a function that ends a waiting `next` or `ask` with `Interrupted`. Any thread may call it.
    pub fn interrupter(&self) -> impl Fn() + Send + 'static {
        self.wire.interrupter()
    }

    /// Returns the error for a reply to another command.
    pub fn wrong_reply(&self) -> LinkError {
        self.wire.garbled("the reply belongs to another command")
    }

    /// Returns the event of a packet, or `None` for the reply to a ping.
    fn event(&self, received: ReceivedPacket) -> Result<Option<Event>, LinkError> {
        match *received.packet {
            AgentPacket::Event(event) => Ok(Some(event).filter(|event| !answers_ping(event))),
            _ => Err(self.unexpected_reply()),
        }
    }

    fn queue(&mut self, event: Event, bytes: usize) -> Result<(), LinkError> {
        if answers_ping(&event) {
            return Ok(());
        }
        let memory = memory(&event, bytes);
        self.queued_bytes = self.queued_bytes.saturating_add(memory);
        self.queued.push_back((event, memory));
        match self.queued_bytes > self.limits.bytes {
            true => Err(too_many_bytes(self.pid(), self.limits.bytes)),
            false => Ok(()),
        }
    }

    fn dequeue(&mut self) -> Option<Event> {
        let (event, memory) = self.queued.pop_front()?;
        self.queued_bytes = self.queued_bytes.saturating_sub(memory);
        Some(event)
    }

    fn unexpected_reply(&self) -> LinkError {
        self.wire.garbled("it sent an unexpected reply")
    }
}

fn answers_ping(event: &Event) -> bool {
    matches!(event, Event::Reply { id: PING_ID, .. })
}

fn is_past(deadline: Option<Instant>) -> bool {
    deadline.is_some_and(|deadline| deadline <= Instant::now())
}

/// Returns whether an event is the reply to this request or one of its pages.
fn belongs_to(event: &Event, id: u32) -> bool {
    match event {
        Event::Reply { id: of, .. } | Event::Methods { id: of, .. } | Event::Il { id: of, .. } => *of == id,
        Event::Rows { id: of, .. } | Event::Times { id: of, .. } | Event::Calls { id: of, .. } => {
            *of == Some(id)
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
