//! One connection: reads frames, answers, ends. A second thread writes, so that a slow peer only delays itself.
#![forbid(unsafe_code)]

use super::command_work::CommandWork;
use super::commands::takes_turns;
use super::outbox::{NextFrame, Outbox};
use super::session::Session;
use super::shared::Server;
use crate::audit;
use crate::context::Context;
use crate::inbox::AllOffResult;
use crate::ledger::state::Totals;
use crate::planner::SessionId;
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::diagnostics::AuditedChange;
use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::ClientHello;
use redial_protocol::limits::MAX_BAD_FRAMES;
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::transport::{Closer, Connection, ReadHalf, WriteHalf};
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often a waiting reader checks its deadlines.
const TICK: Duration = Duration::from_millis(500);
/// Longest wait for all dials to go off before reporting to the peer that some are still on.
const ALL_OFF_WAIT: Duration = Duration::from_secs(30);
/// Bytes read at a time. Most requests are short, and many connections end without one.
const CHUNK: usize = 8 << 10;
/// Longest frame that takes no part of the sessions' memory for long ones.
const SHORT_FRAME: usize = 64 << 10;

/// Serves a connection until it ends; a restricted session only gets the frozen part of the protocol.
pub fn serve(context: &'static Context, server: &'static Server, id: u64, connection: Connection) {
    let peer = connection.peer().clone();
    let (read, write, closer) = connection.split();
    let stop_reading = closer.clone();
    let outbox = Outbox::new(server.outboxes.clone(), move |outbox| {
        crate::platform::spawn(c"redial-write", move || write_frames(&outbox, write, &stop_reading))
    });
    let mut session = Session {
        context,
        server,
        id: SessionId(id),
        outbox,
        changes: Arc::default(),
        watching: None,
        calls: Arc::default(),
        exceptions: Arc::default(),
        holds: false,
        place: server.places.take(1, Duration::ZERO),
        begun: Instant::now(),
        closer,
        peer,
        hello: None,
        bad_frames: 0,
        was_protected: false,
        has_worked: false,
        work: CommandWork::new(),
    };
    if session.place.is_none() {
        server.restricted.add(session.id, session.closer.clone(), false);
    }
    session.read_frames(read);
    let has_worked = session.has_worked;
    drop(session);
    if has_worked {
        crate::platform::release_kept_blocks();
    }
}

fn write_frames(outbox: &Outbox, mut write: WriteHalf, closer: &Closer) {
    loop {
        match outbox.next(Duration::from_secs(60)) {
            NextFrame::Frame(frame) => {
                if write.write_all(&frame).is_err() {
                    outbox.close();
                    closer.close();
                    return;
                }
            }
            NextFrame::Nothing => {}
            NextFrame::Closed => return,
        }
    }
}

impl Session {
    fn read_frames(&mut self, mut read: ReadHalf) {
        // Without a timeout, deadlines are only checked when bytes arrive.
        drop(read.set_timeout(Some(TICK)));
        let mut frames = FrameReader::new();
        let mut chunk = vec![0u8; CHUNK];
        let mut last_word = Instant::now();
        let mut frame_begun: Option<Instant> = None;
        let mut memory = None;
        loop {
            match read.read(&mut chunk) {
                Ok(0) => return,
                Ok(n) => {
                    frames.push(chunk.get(..n).unwrap_or_default());
                    loop {
                        match frames.next() {
                            Ok(Some(body)) => {
                                frame_begun = None;
                                if !self.take(&body) || self.context.is_stopped() {
                                    return;
                                }
                                drop(body);
                                memory = None;
                                // Read the time anew: while the agent answered, the peer was not silent.
                                last_word = Instant::now();
                            }
                            Ok(None) => break,
                            // The length itself is wrong, so no later frame can be found.
                            Err(_) => return,
                        }
                    }
                }
                Err(e)
                    if matches!(
                        e.kind(),
                        ErrorKind::TimedOut | ErrorKind::WouldBlock | ErrorKind::Interrupted
                    ) =>
                {
                    // Between commands nobody needs them.
                    crate::platform::release_kept_blocks();
                }
                Err(_) => return,
            }
            let length = frames.announced().filter(|length| *length > SHORT_FRAME);
            if let Some(length) = length.filter(|_| memory.is_none()) {
                let longest = self.context.settings.frame_deadline;
                memory = self.hello.as_ref().and_then(|_| self.server.frames.take(length, longest));
                // No message before hello is that long, or other sessions do not finish theirs.
                if memory.is_none() {
                    return;
                }
                // The deadline does not include the wait for others.
                frame_begun = None;
            }
            if !frames.mid_frame() {
                frame_begun = None;
            } else if frame_begun.get_or_insert_with(Instant::now).elapsed()
                > self.context.settings.frame_deadline
            {
                return;
            }
            let short = self.place.is_none() || self.hello.is_none();
            if short && self.begun.elapsed() > self.context.settings.frame_deadline
                || self.context.is_stopped()
            {
                return;
            }
            if !self.report_overdue_changes() {
                return;
            }
            if self.changes.are_any() {
                last_word = Instant::now();
            }
            if self.outbox.is_closed() || self.holds && last_word.elapsed() > self.context.settings.silence {
                return;
            }
        }
    }

    /// Handles one frame. False ends the session.
    fn take(&mut self, body: &[u8]) -> bool {
        if let Some(hello) = self.other_version().filter(|_| ControllerPacket::is_request(body)) {
            let refusal = AgentPacket::version_refused(env!("CARGO_PKG_VERSION"), hello);
            return self.send_packet(&refusal);
        }
        let packet = ControllerPacket::from_body(body);
        // Requests that take turns are limited by their processor time.
        let takes_turns =
            matches!(&packet, Ok(ControllerPacket::Request(request)) if takes_turns(&request.command));
        let pause = if takes_turns { None } else { self.server.pace.pause(Instant::now()) };
        if let Some(pause) = pause {
            // The rest of a flood whose client has gone would keep control for as long as its pauses take.
            if self.closer.is_hung_up() {
                if let Ok(ControllerPacket::AllOff) = packet {
                    self.all_off();
                }
                return false;
            }
            std::thread::sleep(pause);
        }
        match packet {
            Ok(ControllerPacket::Hello(hello)) => {
                self.hello = Some(hello);
                self.server.restricted.greet(self.id);
                self.send_packet(&AgentPacket::Hello(self.facts()))
            }
            Ok(ControllerPacket::Status) => self.send_packet(&AgentPacket::Status(self.facts())),
            Ok(ControllerPacket::AllOff) => self.all_off(),
            // Before hello, a client may only look and turn everything off.
            Ok(ControllerPacket::Request(_)) if self.hello.is_none() => self.bad_frame(),
            Ok(ControllerPacket::Request(request)) => self.execute(request.id, request.command),
            Err(_) => self.bad_frame(),
        }
    }

    fn all_off(&mut self) -> bool {
        let record = audit::record(self.user(), &self.holder().program, AuditedChange::AllOff);
        self.context.audit.put(record.clone().into());
        // While it waits for its first answer, it does not make room for others. A flood is not protected.
        let is_protected = !std::mem::replace(&mut self.was_protected, true);
        if is_protected {
            self.server.restricted.remove(self.id);
        }
        let copies_on = || {
            let Totals { kept, held, awaiting_revert, .. } = self.context.ledger.lock().totals();
            kept + held + awaiting_revert
        };
        let before = copies_on();
        let done = self.context.inbox.all_off(record, ALL_OFF_WAIT);
        if is_protected && self.place.is_none() {
            self.server.restricted.add(self.id, self.closer.clone(), self.hello.is_some());
        }
        // The runtime may take longer for the requests of copies that are off already.
        let done = done.unwrap_or_else(|| {
            let remaining = copies_on();
            AllOffResult { reverted: before.saturating_sub(remaining), remaining, change: 0 }
        });
        let AllOffResult { reverted, remaining, change } = done;
        self.send_packet(&AgentPacket::AllOffDone { reverted, remaining, change })
    }

    fn bad_frame(&mut self) -> bool {
        self.bad_frames += 1;
        self.bad_frames < MAX_BAD_FRAMES
    }

    fn other_version(&self) -> Option<&ClientHello> {
        self.hello.as_ref().filter(|hello| hello.protocol != PROTOCOL_VERSION)
    }
}
