//! A connected controller: its state in the agent, and the frames to send to it.
#![forbid(unsafe_code)]

use super::command_work::CommandWork;
use super::outbox::Outbox;
use super::pending_changes::PendingChanges;
use super::quota::Share;
use super::shared::Server;
use super::subscription::StopSignal;
use crate::context::Context;
use crate::inbox::Job;
use crate::ledger::state::Totals;
use crate::planner::SessionId;
use crate::thrown_exceptions::SessionExceptions;
use crate::traces::SessionCalls;
use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::diagnostics::Limit;
use redial_protocol::frozen::{AgentFacts, ClientHello, RuntimeKind};
use redial_protocol::level::Level;
use redial_protocol::limits::{MAX_FRAME, MAX_SESSIONS};
use redial_protocol::message::{Event, Holder, Refusal, Reply};
use redial_protocol::packet::AgentPacket;
use redial_protocol::transport::{Closer, Peer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a restricted session waits for a place. Commands end in milliseconds; windows stay.
const PLACE_WAIT: Duration = Duration::from_secs(2);

/// A connected controller.
pub struct Session {
    pub(super) context: &'static Context,
    pub(super) server: &'static Server,
    pub(super) id: SessionId,
    pub(super) outbox: Arc<Outbox>,
    /// Its pending changes.
    pub(super) changes: Arc<PendingChanges>,
    /// Set to stop the subscription's thread.
    pub(super) watching: Option<Arc<StopSignal>>,
    /// Its stream of traced calls.
    pub(super) calls: SessionCalls,
    /// Its stream of thrown exceptions.
    pub(super) exceptions: SessionExceptions,
    /// Whether it has set held dials.
    pub(super) holds: bool,
    /// Absent because the agent was full: the session may only look and turn everything off, and must end soon.
    pub(super) place: Option<Share<MAX_SESSIONS>>,
    pub(super) begun: Instant,
    pub(super) closer: Closer,
    pub(super) peer: Peer,
    pub(super) hello: Option<ClientHello>,
    /// Whether it has turned everything off, without making room for others meanwhile.
    pub(super) was_protected: bool,
    /// Whether it has carried out a command.
    pub(super) has_worked: bool,
    /// Frames that could not be decoded.
    pub(super) bad_frames: u32,
    pub(super) work: CommandWork,
}

impl Drop for Session {
    fn drop(&mut self) {
        // First: whoever sees the connection closed may rely on it.
        self.changes.cancel_held();
        // Nobody waits for room in it any more.
        self.outbox.close();
        self.unsubscribe();
        self.stop_calls();
        self.stop_exceptions(false);
        self.place = None;
        self.server.restricted.remove(self.id);
        // Control first: a client that sees the dials go off finds control free.
        self.context.control.release(self.id);
        self.context.ledger.wake();
        self.context.inbox.put(Job::SessionEnded(self.id));
        self.closer.close();
    }
}

impl Session {
    /// Whether it is unrestricted, after waiting a moment for a place.
    pub(super) fn has_place(&mut self) -> bool {
        if self.place.is_none() {
            self.place = self.server.places.take(1, PLACE_WAIT);
            if self.place.is_some() {
                self.server.restricted.remove(self.id);
            }
        }
        self.place.is_some()
    }

    pub(super) fn unsubscribe(&mut self) {
        if let Some(stop) = self.watching.take() {
            stop.stop(self.context);
        }
    }

    /// Returns the controller, for control and audit.
    pub(super) fn holder(&self) -> Holder {
        let (pid, program) = match &self.hello {
            Some(hello) => (self.peer.pid.unwrap_or(hello.pid), hello.program.clone()),
            None => (self.peer.pid.unwrap_or(0), "unknown".to_owned()),
        };
        Holder { pid, program }
    }

    /// Returns the controller's user.
    pub(super) fn user(&self) -> &str {
        &self.peer.user
    }

    pub(super) fn send(&self, event: Event) -> bool {
        self.send_packet(&AgentPacket::Event(event))
    }

    pub(super) fn send_packet(&self, packet: &AgentPacket) -> bool {
        packet.to_frame().is_ok_and(|frame| self.outbox.put(frame))
    }

    pub(super) fn facts(&self) -> AgentFacts {
        let context = self.context;
        let (Totals { live, kept, held, .. }, compilations) = {
            let ledger = context.ledger.lock();
            (ledger.totals(), ledger.compilations())
        };
        AgentFacts {
            protocol: PROTOCOL_VERSION,
            agent_version: env!("CARGO_PKG_VERSION").into(),
            process: context.process,
            runtime_kind: if context.runtime.framework {
                RuntimeKind::Framework
            } else {
                RuntimeKind::CoreClr
            },
            runtime_version: context.runtime.version.clone(),
            levels: Level::ALL
                .into_iter()
                .filter(|level| *level <= context.settings.highest_level())
                .collect(),
            // Clients need not care about control that is about to be released.
            holder: context.control.lasting_holder(),
            live,
            kept,
            held,
            clr_kept_bytes: context.info.kept.bytes(compilations),
        }
    }
}

/// Returns the frame of a reply or, if it does not fit, of a refusal that says so.
pub(super) fn reply_frame(id: u32, reply: Reply) -> Vec<u8> {
    let frame = |reply| AgentPacket::Event(Event::Reply { id, reply }).to_frame();
    frame(reply)
        .or_else(|_| {
            frame(Reply::Refused(Refusal::OverLimit(Limit::AnswerLength { limit: MAX_FRAME as u64 })))
        })
        .unwrap_or_default()
}
