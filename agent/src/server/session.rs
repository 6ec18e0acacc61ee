//! One connection: reads frames, answers, ends. A second thread writes, so that a peer that reads slowly holds up
//! nobody but itself.
#![forbid(unsafe_code)]

use super::outbox::{Next, Outbox};
use super::subscription::Stop;
use super::turns::Turns;
use super::{PLACE_WAIT, answer, audit};
use crate::agent::Agent;
use crate::planner::SessionId;
use crate::rejit::AllOff;
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::{AgentFacts, ClientHello, RuntimeKind};
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_BAD_FRAMES;
use redial_protocol::message::{Event, Holder};
use redial_protocol::packet::{FromAgent, FromController};
use redial_protocol::transport::{Closer, Connection, Peer, ReadHalf, WriteHalf};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a waiting reader looks at its deadlines.
const TICK: Duration = Duration::from_millis(500);
/// Longest wait for all dials to go off before the peer is told that they have not.
const ALL_OFF_WAIT: Duration = Duration::from_secs(30);
/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// A connected controller.
pub struct Session {
    pub(super) agent: &'static Agent,
    pub(super) id: SessionId,
    pub(super) outbox: Arc<Outbox>,
    /// Turns on their way.
    pub(super) turns: Arc<Turns>,
    /// Set to stop the subscription's thread.
    pub(super) watching: Option<Arc<Stop>>,
    /// Whether it has set held dials.
    pub(super) holds: bool,
    /// Whether it has no place, as the agent was full when it came: it may look and stop, within a short time.
    restricted: bool,
    begun: Instant,
    closer: Closer,
    peer: Peer,
    hello: Option<ClientHello>,
    bad_frames: u32,
}

impl Drop for Session {
    fn drop(&mut self) {
        // First: nobody waits for room in it any more.
        self.outbox.close();
        self.unsubscribe();
        if !self.restricted {
            self.agent.server.places.give_back();
        }
        answer::forget(self.agent, self.id);
        self.closer.close();
    }
}

/// Serves a connection until it ends; as long as the agent is full only what is frozen.
pub fn serve(agent: &'static Agent, id: u64, connection: Connection) {
    let peer = connection.peer().clone();
    let (read, write, closer) = connection.split();
    let outbox = Arc::new(Outbox::default());
    let writer = Arc::clone(&outbox);
    let stop_reading = closer.clone();
    if !crate::platform::spawn("redial-write", move || write_frames(&writer, write, &stop_reading)) {
        closer.close();
        return;
    }
    let mut session = Session {
        agent,
        id: SessionId(id),
        outbox,
        turns: Arc::default(),
        watching: None,
        holds: false,
        restricted: !agent.server.places.take(Duration::ZERO),
        begun: Instant::now(),
        closer,
        peer,
        hello: None,
        bad_frames: 0,
    };
    session.read_frames(read);
}

fn write_frames(outbox: &Outbox, mut write: WriteHalf, closer: &Closer) {
    loop {
        match outbox.next(Duration::from_secs(60)) {
            Next::Frame(frame) => {
                if write.write_all(&frame).is_err() {
                    outbox.close();
                    closer.close();
                    return;
                }
            }
            Next::Nothing => {}
            Next::Closed => return,
        }
    }
}

impl Session {
    fn read_frames(&mut self, mut read: ReadHalf) {
        // Without time-outs the deadlines are looked at only when bytes come.
        drop(read.set_timeout(Some(TICK)));
        let mut frames = FrameReader::new();
        let mut chunk = vec![0u8; CHUNK];
        let mut last_word = Instant::now();
        let mut frame_begun: Option<Instant> = None;
        loop {
            match read.read(&mut chunk) {
                Ok(0) => return,
                Ok(n) => {
                    frames.push(chunk.get(..n).unwrap_or_default());
                    loop {
                        match frames.next() {
                            Ok(Some(body)) => {
                                frame_begun = None;
                                if !self.take(&body) {
                                    return;
                                }
                                // Not from before: what an answer takes is our silence, not the peer's.
                                last_word = Instant::now();
                            }
                            Ok(None) => break,
                            // The length itself is wrong: nothing after it can be told apart.
                            Err(_) => return,
                        }
                    }
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::TimedOut | ErrorKind::WouldBlock | ErrorKind::Interrupted
                    ) => {}
                Err(_) => return,
            }
            if !frames.mid_frame() {
                frame_begun = None;
            } else if frame_begun.get_or_insert_with(Instant::now).elapsed()
                > self.agent.settings.frame_deadline
            {
                return;
            }
            let short = self.restricted || self.hello.is_none();
            if short && self.begun.elapsed() > self.agent.settings.frame_deadline || self.agent.is_stopped() {
                return;
            }
            if !self.tell_overdue_turns() {
                return;
            }
            if self.turns.wait() {
                last_word = Instant::now();
            }
            if self.outbox.is_closed() || self.holds && last_word.elapsed() > self.agent.settings.silence {
                return;
            }
        }
    }

    /// Acts on one frame. False ends the session.
    fn take(&mut self, body: &[u8]) -> bool {
        if let Some(hello) = self.other_version().filter(|_| FromController::is_request(body)) {
            let refusal = FromAgent::version_refused(env!("CARGO_PKG_VERSION"), hello);
            return self.send_packet(&refusal);
        }
        match FromController::from_body(body) {
            Ok(FromController::Hello(hello)) => {
                self.hello = Some(hello);
                self.send_packet(&FromAgent::Hello(self.facts()))
            }
            Ok(FromController::Status) => self.send_packet(&FromAgent::Status(self.facts())),
            Ok(FromController::AllOff) => self.all_off(),
            // Whoever has not said hello may look and stop, no more.
            Ok(FromController::Request(_)) if self.hello.is_none() => self.bad_frame(),
            Ok(FromController::Request(request)) => self.obey(request.id, request.command),
            Err(_) => self.bad_frame(),
        }
    }

    /// Whether it may do more than look and stop, after waiting a moment for a place.
    pub(super) fn has_place(&mut self) -> bool {
        self.restricted = self.restricted && !self.agent.server.places.take(PLACE_WAIT);
        !self.restricted
    }

    fn bad_frame(&mut self) -> bool {
        self.bad_frames += 1;
        self.bad_frames < MAX_BAD_FRAMES
    }

    fn other_version(&self) -> Option<&ClientHello> {
        self.hello.as_ref().filter(|hello| hello.protocol != PROTOCOL_VERSION)
    }

    fn all_off(&mut self) -> bool {
        let what = audit::entry(self.user(), &self.who().program, "all off".into());
        self.agent.server.audit.put(what.clone());
        let done = self.agent.all_off(what, ALL_OFF_WAIT).unwrap_or_else(|| {
            let (_, kept, held) = self.agent.ledger.book().totals();
            AllOff { remaining: kept + held, ..AllOff::default() }
        });
        let AllOff { reverted, remaining, change } = done;
        self.send_packet(&FromAgent::AllOffDone { reverted, remaining, change })
    }

    pub(super) fn unsubscribe(&mut self) {
        if let Some(stop) = self.watching.take() {
            stop.stop(self.agent);
        }
    }

    /// The controller, for control and audit.
    pub(super) fn who(&self) -> Holder {
        let (pid, program) = match &self.hello {
            Some(hello) => (self.peer.pid.unwrap_or(hello.pid), hello.program.clone()),
            None => (self.peer.pid.unwrap_or(0), "unknown".to_owned()),
        };
        Holder { pid, program }
    }

    /// The user it runs as.
    pub(super) fn user(&self) -> &str {
        &self.peer.user
    }

    pub(super) fn send(&self, event: Event) -> bool {
        self.send_packet(&FromAgent::Event(event))
    }

    fn send_packet(&self, packet: &FromAgent) -> bool {
        packet.to_frame().is_ok_and(|frame| self.outbox.put(frame))
    }

    fn facts(&self) -> AgentFacts {
        let agent = self.agent;
        let ((live, kept, held), compilations) = {
            let book = agent.ledger.book();
            (book.totals(), book.compilations())
        };
        AgentFacts {
            protocol: PROTOCOL_VERSION,
            agent_version: env!("CARGO_PKG_VERSION").into(),
            process: agent.process,
            runtime_kind: if agent.runtime.framework { RuntimeKind::Framework } else { RuntimeKind::CoreClr },
            runtime_version: agent.runtime.version.clone(),
            levels: Level::ALL.into_iter().filter(|level| *level <= agent.max_level()).collect(),
            // Nobody has to mind who is about to give it back.
            holder: agent.server.control.lasting_holder(),
            live,
            kept,
            held,
            clr_kept_bytes: answer::clr_kept_bytes(compilations),
        }
    }
}
