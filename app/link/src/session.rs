//! One session with an agent: hello, requests with their replies, and the event stream.
#![forbid(unsafe_code)]

use super::error::LinkError;
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
use redial_protocol::transport::Connection;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An agent answers a hello from a thread that never blocks, unless a debugger stopped the process.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// Dialling a whole large program may wait for the runtime to suspend. An agent gives up after 30 s and says
/// so; longer than this is a hang.
const REPLY_PATIENCE: Duration = Duration::from_secs(40);
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
    /// Events that arrived while waiting for a reply.
    queued: VecDeque<Event>,
    last_id: u32,
}

impl Session {
    /// Sends a hello as `program` ("redial dial") over a new connection to process `pid`.
    pub fn open(pid: u32, connection: Connection, program: &str) -> Result<Session, LinkError> {
        Session::open_within(HELLO_PATIENCE, pid, connection, program)
    }

    fn open_within(
        patience: Duration,
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
        match wire.packet(Some(Instant::now() + patience))? {
            Some(AgentPacket::Hello(facts)) => {
                Ok(Session { wire, facts, queued: VecDeque::new(), last_id: PING_ID })
            }
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
    /// events for `next`. A refusal is an error.
    pub fn ask(&mut self, command: WireCommand, page: &mut dyn FnMut(ReplyPage)) -> Result<Reply, LinkError> {
        let id = self.send(command)?;
        loop {
            // Every page restarts the time limit.
            match self.wire.packet(Some(Instant::now() + REPLY_PATIENCE))? {
                Some(AgentPacket::Event(Event::Reply { id: of, reply })) if of == id => {
                    return match reply {
                        Reply::Refused(refusal) => Err(LinkError::Refused(refusal)),
                        reply => Ok(reply),
                    };
                }
                Some(AgentPacket::Event(Event::Methods { id: of, page: methods })) if of == id => {
                    page(ReplyPage::Methods(Box::new(methods)));
                }
                Some(AgentPacket::Event(Event::Rows { id: Some(of), rows })) if of == id => {
                    page(ReplyPage::Rows(rows))
                }
                Some(AgentPacket::Event(Event::Times { id: Some(of), times })) if of == id => {
                    page(ReplyPage::Times(times))
                }
                Some(AgentPacket::Event(Event::Il { id: of, page: lines })) if of == id => {
                    page(ReplyPage::Il(lines))
                }
                Some(AgentPacket::Event(event)) => self.queue(event),
                Some(AgentPacket::VersionRefused { agent_protocol, agent_version, .. }) => {
                    return Err(LinkError::Version { pid: self.pid(), agent_version, agent_protocol });
                }
                Some(_) => return Err(self.unexpected_reply()),
                None => return Err(self.silent()),
            }
        }
    }

    /// Sends a command without waiting and returns its id. Its pages and reply carry that id and arrive
    /// through `next` and `next_or_wake` like any event.
    pub fn send(&mut self, command: WireCommand) -> Result<u32, LinkError> {
        if self.facts.protocol != PROTOCOL_VERSION {
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

    /// Turns every dial off. Works with an agent of any version.
    pub fn all_off(&mut self) -> Result<AllOffResult, LinkError> {
        self.wire.send(&ControllerPacket::AllOff)?;
        let deadline = Instant::now() + REPLY_PATIENCE;
        loop {
            match self.wire.packet(Some(deadline))? {
                Some(AgentPacket::AllOffDone { reverted, remaining, change }) => {
                    return Ok(AllOffResult { reverted, remaining, change });
                }
                Some(AgentPacket::Event(event)) => self.queue(event),
                Some(_) => return Err(self.unexpected_reply()),
                None => return Err(self.silent()),
            }
        }
    }

    /// Returns the next event, or `None` at `deadline`.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, LinkError> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Ok(Some(event));
            }
            match self.wire.packet(deadline)? {
                Some(AgentPacket::Event(event)) => self.queue(event),
                Some(_) => return Err(self.unexpected_reply()),
                None => return Ok(None),
            }
        }
    }

    /// Returns the next event, or `None` at `deadline` or after a `waker` was called.
    pub fn next_or_wake(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, LinkError> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Ok(Some(event));
            }
            match self.wire.next_or_wake(deadline)? {
                WireEvent::Packet(packet) => match *packet {
                    AgentPacket::Event(event) => self.queue(event),
                    _ => return Err(self.unexpected_reply()),
                },
                WireEvent::Nothing | WireEvent::Woken => return Ok(None),
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

    fn queue(&mut self, event: Event) {
        if !matches!(event, Event::Reply { id: PING_ID, .. }) {
            self.queued.push_back(event);
        }
    }

    fn silent(&self) -> LinkError {
        silent(self.pid(), REPLY_PATIENCE)
    }

    fn unexpected_reply(&self) -> LinkError {
        self.wire.garbled("it sent an unexpected reply")
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
