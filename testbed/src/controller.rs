//! A controller for tests. It speaks the protocol to an agent directly, without the `redial` program.
//!
//! ```no_run
//! # fn test() -> anyhow::Result<()> {
//! use redial_protocol::{level::Level, message::Event, state::CopyState};
//! use redial_testbed::controller::{Controller, Lifetime};
//!
//! let mut controller = Controller::connect(4711)?;
//! controller.subscribe(None)?;
//! let report = controller.dial("Shop!Shop.Cart.*", Level::Count, Lifetime::Kept)?;
//! assert_eq!(report.accepted, report.matched);
//! controller.wait_for("a copy that is live", |event| match event {
//!     Event::Transition(transition) => (transition.state == CopyState::Live).then_some(transition.row),
//!     _ => None,
//! })?;
//! let row = controller.row("Shop!Shop.Cart.Add(int)")?;
//! controller.off("Shop!*")?;
//! # Ok(()) }
//! ```
//! - [`Controller::connect`] waits for the endpoint, sends a hello and then pings, so that a slow test loses no held dials.
//!   [`Controller::connect_silent`] never pings. Dropping a controller ends its session.
//! - [`Controller::ask`] sends any command and returns the reply with its pages. [`Controller::dial`], [`Controller::off`],
//!   [`Controller::status`], [`Controller::row`] and others are shortcuts that turn a refusal into an error.
//! - Events queue in order until a test takes them ([`Controller::next_event`], [`Controller::wait_for`], …). Waiting for a
//!   reply loses none.
//! - [`Controller::dials`] returns the rows that result from the events taken so far.
//! - Every wait has the generous deadline [`crate::host::DEADLINE`]. A missed deadline is an error with the last events.

use std::collections::{BTreeMap, VecDeque};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::{DomainRow, MethodPage, ModuleRow};
use redial_protocol::frozen::{AgentFacts, ClientHello};
use redial_protocol::ids::RowId;
use redial_protocol::il::IlLine;
use redial_protocol::limits::SESSION_PING_MS;
use redial_protocol::message::{AgentStatus, Event, Reply, Request, StatusRow, WireCommand};
pub use redial_protocol::order::Lifetime;
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::times::Times;
use redial_protocol::transport::{Closer, WriteHalf};

use crate::host::DEADLINE;

mod changes;
mod times;
mod wire;

pub use wire::raw;
use wire::{PING_ID, Received, lock, ping, read_packets};

/// The program name that this controller reports by default.
pub const PROGRAM: &str = "redial testbed";
const EVENTS_IN_ERROR: usize = 40; // maximum number of events in an error

/// A reply and the pages before it.
#[derive(Debug)]
pub struct Answer {
    /// The reply.
    pub reply: Reply,
    /// Rows, from `Status`.
    pub rows: Vec<StatusRow>,
    /// Pages, from `Methods`.
    pub methods: Vec<MethodPage>,
    /// Times, from `Status`.
    pub times: Vec<Times>,
    /// Lines, from `Il`.
    pub il: Vec<IlLine>,
    /// Pages, from `Calls`.
    pub calls: Vec<Event>,
}

/// Rows by id, according to the events taken so far.
pub type Dials = BTreeMap<RowId, StatusRow>;

/// Returns `Module!Type.Method(PARAMS)`, the pattern that names a row's method.
pub fn full_name(row: &StatusRow) -> String {
    format!("{}!{}{}", row.module, row.method, row.signature)
}

/// A session with an agent. Dropping it ends the session at once.
pub struct Controller {
    pid: u32,
    writer: Arc<Mutex<WriteHalf>>,
    closer: Closer,
    incoming: Receiver<Result<AgentPacket, String>>,
    facts: AgentFacts,
    received: Arc<Received>,
    last_id: u32,
    queued: VecDeque<Event>,
    taken: VecDeque<Event>,
    dials: Dials,
    /// Dropping it ends the pinging thread.
    _pinging: Option<Sender<()>>,
}

impl Controller {
    /// Connects to the agent in process `pid`, sends a hello as [`PROGRAM`], and pings from then on.
    ///
    /// # Errors
    /// Fails like [`raw`], or when the agent sends no hello.
    pub fn connect(pid: u32) -> Result<Self> {
        Self::open(pid, PROGRAM, Some(Duration::from_millis(SESSION_PING_MS)))
    }

    /// Like [`Controller::connect`], but reports the program name `program`.
    ///
    /// # Errors
    /// Fails like [`Controller::connect`].
    pub fn connect_as(pid: u32, program: &str) -> Result<Self> {
        Self::open(pid, program, Some(Duration::from_millis(SESSION_PING_MS)))
    }

    /// Like [`Controller::connect`], but sends no pings.
    ///
    /// # Errors
    /// Fails like [`Controller::connect`].
    pub fn connect_silent(pid: u32) -> Result<Self> {
        Self::open(pid, PROGRAM, None)
    }

    fn open(pid: u32, program: &str, ping_every: Option<Duration>) -> Result<Self> {
        let (read, write, closer) = raw(pid)?.split();
        let (sender, incoming) = channel();
        let received = Arc::new(Received::default());
        let counter = Arc::clone(&received);
        std::thread::spawn(move || read_packets(read, &sender, &counter));
        let writer = Arc::new(Mutex::new(write));
        let hello = ClientHello {
            protocol: PROTOCOL_VERSION,
            program: program.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
        };
        lock(&writer).write_all(&ControllerPacket::Hello(hello).to_frame()?)?;
        let facts = match incoming.recv_timeout(DEADLINE) {
            Ok(Ok(AgentPacket::Hello(facts))) => facts,
            Ok(Ok(other)) => bail!("{pid} answered hello with {other:?}"),
            Ok(Err(why)) => bail!("{pid} said no hello: {why}"),
            Err(_) => bail!("{pid} said no hello in time"),
        };
        let pinging = ping_every.map(|every| ping(&writer, every)).transpose()?;
        Ok(Self {
            pid,
            writer,
            closer,
            incoming,
            facts,
            received,
            last_id: PING_ID,
            queued: VecDeque::new(),
            taken: VecDeque::new(),
            dials: Dials::new(),
            _pinging: pinging,
        })
    }

    /// Returns the id of the agent's process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns the facts from the agent's hello.
    pub fn facts(&self) -> &AgentFacts {
        &self.facts
    }

    /// Returns the number of bytes read from the connection so far.
    pub fn received_bytes(&self) -> u64 {
        self.received.length()
    }

    /// Keeps the bytes that arrive from now on, for [`Controller::recorded_bytes`].
    pub fn record(&self) {
        self.received.record();
    }

    /// Returns the bytes that arrived since [`Controller::record`].
    pub fn recorded_bytes(&self) -> Vec<u8> {
        self.received.recorded()
    }

    /// Writes raw bytes, such as half a frame or garbage.
    ///
    /// # Errors
    /// When the agent has closed the connection.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        lock(&self.writer).write_all(bytes).with_context(|| format!("{} takes no more bytes", self.pid))
    }

    /// Sends a packet without waiting for an answer.
    ///
    /// # Errors
    /// Fails like [`Controller::send_bytes`], or when the packet does not fit a frame.
    pub fn send(&mut self, packet: &ControllerPacket) -> Result<()> {
        self.send_bytes(&packet.to_frame()?)
    }

    /// Sends a command and waits for its reply, which may be a refusal. Other events stay queued.
    ///
    /// # Errors
    /// When the session ends or the deadline passes.
    pub fn ask(&mut self, command: WireCommand) -> Result<Answer> {
        let what = format!("the reply to {command:?}");
        self.last_id += 1;
        let id = self.last_id;
        self.send(&ControllerPacket::Request(Request { id, command }))?;
        let (mut rows, mut methods, mut il, mut times) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut calls = Vec::new();
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.packet(deadline, &what)? {
                AgentPacket::Event(Event::Reply { id: of, reply }) if of == id => {
                    return Ok(Answer { reply, rows, methods, il, times, calls });
                }
                AgentPacket::Event(Event::Rows { id: Some(of), rows: page }) if of == id => rows.extend(page),
                AgentPacket::Event(Event::Methods { id: of, page }) if of == id => methods.push(page),
                AgentPacket::Event(Event::Il { id: of, page }) if of == id => il.extend(page.lines),
                AgentPacket::Event(Event::Times { id: Some(of), times: page }) if of == id => {
                    times.extend(page)
                }
                AgentPacket::Event(event @ Event::Calls { id: Some(of), .. }) if of == id => {
                    calls.push(event)
                }
                AgentPacket::Event(event) => self.queued.push_back(event),
                other => bail!("waiting for {what}, {} sent {other:?}", self.pid),
            }
        }
    }

    /// Sends a command that the agent only confirms.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when the agent sends another reply.
    pub fn execute(&mut self, command: WireCommand) -> Result<()> {
        match self.ask(command)?.reply {
            Reply::Done => Ok(()),
            other => Err(anyhow!("answered {other:?}")),
        }
    }

    /// Returns the matching copies that are or were dialled.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when fewer rows arrived than were announced.
    pub fn status(&mut self, pattern: Option<&str>) -> Result<Vec<StatusRow>> {
        let answer = self.ask(WireCommand::Status { pattern: pattern.map(str::to_owned) })?;
        match answer.reply {
            Reply::Status { rows } => {
                ensure!(
                    rows == answer.rows.len() as u64,
                    "{rows} rows announced, {} sent",
                    answer.rows.len()
                );
                Ok(answer.rows)
            }
            other => Err(anyhow!("status answered {other:?}")),
        }
    }

    /// Returns the one matching row.
    ///
    /// # Errors
    /// Fails like [`Controller::status`], or when not exactly one row matches.
    pub fn row(&mut self, pattern: &str) -> Result<StatusRow> {
        let mut rows = self.status(Some(pattern))?;
        match (rows.pop(), rows.len()) {
            (Some(row), 0) => Ok(row),
            (_, others) => {
                Err(anyhow!("{pattern} matches {} rows, not one", if others == 0 { 0 } else { others + 1 }))
            }
        }
    }

    /// Returns the AppDomains and modules.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when the agent sends another reply.
    pub fn modules(&mut self) -> Result<(Vec<DomainRow>, Vec<ModuleRow>)> {
        match self.ask(WireCommand::Modules)?.reply {
            Reply::Modules { domains, modules } => Ok((domains, modules)),
            other => Err(anyhow!("modules answered {other:?}")),
        }
    }

    /// Returns the agent's own state.
    ///
    /// # Errors
    /// Fails like [`Controller::ask`], or when the agent sends another reply.
    pub fn agent_status(&mut self) -> Result<AgentStatus> {
        match self.ask(WireCommand::AgentStatus)?.reply {
            Reply::AgentStatus(status) => Ok(status),
            other => Err(anyhow!("agent status answered {other:?}")),
        }
    }

    /// Subscribes to rows, transitions and counters, with counters every 20 ms. The first rows are queued when
    /// it returns.
    ///
    /// # Errors
    /// Fails like [`Controller::tell`].
    pub fn subscribe(&mut self, pattern: Option<&str>) -> Result<()> {
        self.execute(WireCommand::Subscribe { pattern: pattern.map(str::to_owned), interval_ms: 20 })
    }

    /// Takes the next event, except replies to pings.
    ///
    /// # Errors
    /// When the session ends or the deadline passes.
    pub fn next_event(&mut self) -> Result<Event> {
        self.next_before(Instant::now() + DEADLINE, "an event")
    }

    /// Takes the events that arrived before the latest reply and have not been taken.
    ///
    /// # Errors
    /// None.
    pub fn take_queued(&mut self) -> Result<Vec<Event>> {
        let count = self.queued.len();
        (0..count).map(|_| self.next_event()).collect()
    }

    /// Takes events until `found` returns a value for one. `what` describes that event in the error.
    ///
    /// # Errors
    /// When the session ends or the deadline passes. The error lists the last events.
    pub fn wait_for<T>(&mut self, what: &str, mut found: impl FnMut(&Event) -> Option<T>) -> Result<T> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            if let Some(answer) = found(&self.next_before(deadline, what)?) {
                return Ok(answer);
            }
        }
    }

    /// Takes events until the resulting rows satisfy `wanted`. Takes none if they already do, except rows that have
    /// arrived: `wanted` sees all first rows of a subscription.
    ///
    /// # Errors
    /// Fails like [`Controller::wait_for`].
    pub fn wait_until(&mut self, what: &str, wanted: impl Fn(&Dials) -> bool) -> Result<()> {
        self.take_until(what, wanted).map(drop)
    }

    /// Like [`Controller::wait_until`], but returns the events taken.
    ///
    /// # Errors
    /// Fails like [`Controller::wait_for`].
    pub fn take_until(&mut self, what: &str, wanted: impl Fn(&Dials) -> bool) -> Result<Vec<Event>> {
        let deadline = Instant::now() + DEADLINE;
        let mut events = Vec::new();
        while matches!(self.queued.front(), Some(Event::Rows { .. })) || !wanted(&self.dials) {
            events.push(self.next_before(deadline, what)?);
        }
        Ok(events)
    }

    /// Takes events until the agent has closed the connection.
    ///
    /// # Errors
    /// When the deadline passes first.
    pub fn wait_for_end(&mut self) -> Result<()> {
        let deadline = Instant::now() + DEADLINE;
        loop {
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Ok(AgentPacket::Event(event))) => self.queued.push_back(event),
                Ok(Ok(_)) => {}
                Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => bail!("{} did not close the connection", self.pid),
            }
        }
    }

    /// Returns the rows according to the events taken so far.
    pub fn dials(&self) -> &Dials {
        &self.dials
    }

    fn next_before(&mut self, deadline: Instant, what: &str) -> Result<Event> {
        let event = match self.queued.pop_front() {
            Some(event) => event,
            None => match self.packet(deadline, what)? {
                AgentPacket::Event(event) => event,
                other => bail!("waiting for {what}, {} sent {other:?}", self.pid),
            },
        };
        apply(&mut self.dials, &event);
        if self.taken.len() >= EVENTS_IN_ERROR {
            self.taken.pop_front();
        }
        self.taken.push_back(event.clone());
        Ok(event)
    }

    fn packet(&mut self, deadline: Instant, what: &str) -> Result<AgentPacket> {
        loop {
            match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Ok(AgentPacket::Event(Event::Reply { id: PING_ID, .. }))) => {}
                Ok(Ok(packet)) => return Ok(packet),
                Ok(Err(why)) => {
                    bail!("waiting for {what}: {} ended the session: {why}{}", self.pid, self.last_events())
                }
                Err(_) => bail!("{} did not send {what} in time{}", self.pid, self.last_events()),
            }
        }
    }

    /// Formats the last events for errors.
    fn last_events(&self) -> String {
        let last_events: Vec<String> = self.taken.iter().map(|event| format!("\n  {event:?}")).collect();
        format!("; the last events were:{}", last_events.concat())
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.closer.close();
    }
}

fn apply(dials: &mut Dials, event: &Event) {
    match event {
        Event::Rows { rows, .. } => dials.extend(rows.iter().map(|row| (row.row, row.clone()))),
        Event::Transition(transition) => {
            if let Some(row) = dials.get_mut(&transition.row) {
                row.wanted = transition.wanted;
                row.options = transition.options;
                row.state = transition.state;
                row.version = transition.version;
                (row.note, row.times_note) = (transition.note, transition.times_note.clone());
            }
        }
        Event::Counters { delta, .. } => {
            for (row, calls) in delta.rows.iter().zip(&delta.calls) {
                if let Some(row) = dials.get_mut(row) {
                    row.calls += calls;
                }
            }
        }
        _ => {}
    }
}
