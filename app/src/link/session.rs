//! One conversation with an agent: hello, requests with their replies, and the event stream.
#![forbid(unsafe_code)]

use super::connect;
use super::error::LinkError;
use super::wire::{Heard, PING_ID, Wire};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::MethodPage;
use redial_protocol::frozen::{AgentFacts, ClientHello};
use redial_protocol::il::IlPage;
use redial_protocol::limits::SESSION_PING_MS;
use redial_protocol::message::{Command, Event, Reply, Request, StatusRow};
use redial_protocol::packet::{FromAgent, FromController};
use redial_protocol::times::Times;
use redial_protocol::transport::Connection;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// An agent says hello from a thread that waits for nothing; a process stopped in a debugger never does.
const HELLO_PATIENCE: Duration = Duration::from_secs(5);
/// Dialling a whole large program may wait for the runtime to suspend; an agent gives up after
/// 30 s and says so, so that more than this is a hang.
const REPLY_PATIENCE: Duration = Duration::from_secs(40);
/// How often a session that holds dials says that it is there.
pub const PING_EVERY: Duration = Duration::from_millis(SESSION_PING_MS);

/// A page that belongs to the request being answered.
#[derive(Debug)]
pub enum Page {
    /// Methods.
    Methods(Box<MethodPage>),
    /// Ledger rows.
    Rows(Vec<StatusRow>),
    /// Times of such rows.
    Times(Vec<Times>),
    /// Lines of IL.
    Il(IlPage),
}

/// What "all off" did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AllOff {
    /// Copies reverted.
    pub reverted: u64,
    /// Copies that could not be.
    pub remaining: u64,
    /// The change's number, for `Command::TakeBack`; 0: there is none.
    pub change: u64,
}

/// A connected agent that said hello.
pub struct Session {
    wire: Wire,
    facts: AgentFacts,
    /// Events that arrived while a reply was awaited.
    queued: VecDeque<Event>,
    last_id: u32,
}

impl Session {
    /// Says hello as `program` ("redial dial") over a fresh connection to process `pid`.
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
        wire.send(&FromController::Hello(ClientHello {
            protocol: PROTOCOL_VERSION,
            program: program.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        }))?;
        match wire.packet(Some(Instant::now() + patience))? {
            Some(FromAgent::Hello(facts)) => {
                Ok(Session { wire, facts, queued: VecDeque::new(), last_id: PING_ID })
            }
            Some(_) => Err(wire.garbled("its first message is no hello")),
            None => Err(connect::silent(pid, patience)),
        }
    }

    /// What the agent said of itself in its hello.
    pub fn facts(&self) -> &AgentFacts {
        &self.facts
    }

    /// The process at the other end.
    pub fn pid(&self) -> u32 {
        self.wire.pid()
    }

    /// Sends a command and waits for its reply; pages that belong to it go to `page`, all other events wait for
    /// `next`. A refusal is an error.
    pub fn ask(&mut self, command: Command, page: &mut dyn FnMut(Page)) -> Result<Reply, LinkError> {
        let id = self.send(command)?;
        loop {
            // Every page is a sign of life.
            match self.wire.packet(Some(Instant::now() + REPLY_PATIENCE))? {
                Some(FromAgent::Event(Event::Reply { id: of, reply })) if of == id => {
                    return match reply {
                        Reply::Refused(refusal) => Err(LinkError::Refused(refusal)),
                        reply => Ok(reply),
                    };
                }
                Some(FromAgent::Event(Event::Methods { id: of, page: methods })) if of == id => {
                    page(Page::Methods(Box::new(methods)));
                }
                Some(FromAgent::Event(Event::Rows { id: Some(of), rows })) if of == id => {
                    page(Page::Rows(rows))
                }
                Some(FromAgent::Event(Event::Times { id: Some(of), times })) if of == id => {
                    page(Page::Times(times))
                }
                Some(FromAgent::Event(Event::Il { id: of, page: lines })) if of == id => {
                    page(Page::Il(lines))
                }
                Some(FromAgent::Event(event)) => self.queue(event),
                Some(FromAgent::VersionRefused { agent_protocol, agent_version, .. }) => {
                    return Err(LinkError::Version { pid: self.pid(), agent_version, agent_protocol });
                }
                Some(_) => return Err(self.unasked()),
                None => return Err(self.silent()),
            }
        }
    }

    /// Sends a command without waiting; its pages and its reply, which carry the id given here, come from `next` and
    /// `hear` as any event.
    pub fn send(&mut self, command: Command) -> Result<u32, LinkError> {
        if self.facts.protocol != PROTOCOL_VERSION {
            return Err(LinkError::Version {
                pid: self.pid(),
                agent_version: self.facts.agent_version.clone(),
                agent_protocol: self.facts.protocol,
            });
        }
        self.last_id = self.last_id.checked_add(1).unwrap_or(PING_ID + 1);
        self.wire.send(&FromController::Request(Request { id: self.last_id, command }))?;
        Ok(self.last_id)
    }

    /// Sends a command whose only answer is that it was done.
    pub fn tell(&mut self, command: Command) -> Result<(), LinkError> {
        match self.ask(command, &mut |_| {})? {
            Reply::Done => Ok(()),
            _ => Err(self.wrong_reply()),
        }
    }

    /// Turns every dial off. Works with an agent of any version.
    pub fn all_off(&mut self) -> Result<AllOff, LinkError> {
        self.wire.send(&FromController::AllOff)?;
        let deadline = Instant::now() + REPLY_PATIENCE;
        loop {
            match self.wire.packet(Some(deadline))? {
                Some(FromAgent::AllOffDone { reverted, remaining, change }) => {
                    return Ok(AllOff { reverted, remaining, change });
                }
                Some(FromAgent::Event(event)) => self.queue(event),
                Some(_) => return Err(self.unasked()),
                None => return Err(self.silent()),
            }
        }
    }

    /// The next event; None when `deadline` passed first.
    pub fn next(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, LinkError> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Ok(Some(event));
            }
            match self.wire.packet(deadline)? {
                Some(FromAgent::Event(event)) => self.queue(event),
                Some(_) => return Err(self.unasked()),
                None => return Ok(None),
            }
        }
    }

    /// The next event; None when `deadline` passed first, or when a `waker` was called.
    pub fn hear(&mut self, deadline: Option<Instant>) -> Result<Option<Event>, LinkError> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Ok(Some(event));
            }
            match self.wire.hear(deadline)? {
                Heard::Packet(packet) => match *packet {
                    FromAgent::Event(event) => self.queue(event),
                    _ => return Err(self.unasked()),
                },
                Heard::Nothing | Heard::Woken => return Ok(None),
            }
        }
    }

    /// Something that makes a waiting `hear` end at once, callable from any thread; it never waits.
    pub fn waker(&self) -> impl Fn() + Send + Sync + 'static {
        self.wire.waker()
    }

    /// Pings from now on, in `PING_EVERY` unless a test is in a hurry; see `Wire::keep_alive`.
    pub fn keep_alive(&mut self, every: Duration) -> Result<(), LinkError> {
        self.wire.keep_alive(every)
    }

    /// Something that makes a waiting `next` or `ask` end with `Interrupted`, callable from any thread.
    pub fn interrupter(&self) -> impl Fn() + Send + 'static {
        self.wire.interrupter()
    }

    /// The error for a reply that is not the command's.
    pub fn wrong_reply(&self) -> LinkError {
        self.wire.garbled("the reply is of another command")
    }

    fn queue(&mut self, event: Event) {
        if !matches!(event, Event::Reply { id: PING_ID, .. }) {
            self.queued.push_back(event);
        }
    }

    fn silent(&self) -> LinkError {
        connect::silent(self.pid(), REPLY_PATIENCE)
    }

    fn unasked(&self) -> LinkError {
        self.wire.garbled("it answered something that was not asked")
    }
}

#[cfg(test)]
#[path = "session_tests.rs"]
mod tests;
