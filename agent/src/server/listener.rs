//! The listener's thread: accepts connections and starts a session for each.
#![forbid(unsafe_code)]

use super::shared::Server;
use super::{connection, endpoint};
use crate::context::Context;
use redial_protocol::limits::MAX_SESSIONS;
use redial_protocol::transport::AcceptError;
use redial_protocol::unreachable_note;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Sessions beyond the limit: they may look, turn everything off, and wait for a place.
const SPARE_SESSIONS: usize = 48;
/// Longest wait until sessions without a place have ended for a later one.
const ROOM_WAIT: Duration = Duration::from_millis(500);
/// Pause after a failed accept (out of descriptors), so that the listener does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The part of the limit on descriptors that sessions may take.
const SESSIONS_PART: u64 = 16;
/// Descriptors that stay free for the host.
const HOST_DESCRIPTORS: usize = 16;
/// The same beside a single session, so that a host short of descriptors can still be controlled.
const HOST_DESCRIPTORS_BESIDE_ONE: usize = 4;

/// Whether one more session takes descriptors that the host may need. A host without any cannot even load an assembly.
fn takes_from_host(sessions: usize) -> bool {
    let kept = if sessions == 0 { HOST_DESCRIPTORS_BESIDE_ONE } else { HOST_DESCRIPTORS };
    let Some((limit, free)) = crate::platform::descriptors(kept) else { return false };
    free < kept || (sessions > 0 && sessions as u64 >= limit / SESSIONS_PART)
}

/// Ends the oldest sessions without a place until the newest session fits; false if they do not end in time.
fn makes_room(server: &Server) -> bool {
    let deadline = Instant::now() + ROOM_WAIT;
    while server.sessions.load(Ordering::Acquire) > MAX_SESSIONS + SPARE_SESSIONS {
        if Instant::now() >= deadline {
            return false;
        }
        server.restricted.end_oldest();
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

/// Runs the listener. Without an endpoint the agent stays unreachable, but still carries out the launcher's orders.
pub fn listen(context: &'static Context, server: &'static Server) {
    if server.listener.get().is_none() {
        match endpoint::make(context.process) {
            Ok(listener) => server.offer(listener),
            Err(error) => return unreachable_note::leave(&error.to_string()),
        }
    }
    let Some(listener) = server.listener.get() else { return };
    loop {
        match listener.accept() {
            Ok(connection) => {
                let before = server.sessions.fetch_add(1, Ordering::AcqRel);
                if !makes_room(server) || takes_from_host(before) {
                    server.sessions.fetch_sub(1, Ordering::AcqRel);
                    continue;
                }
                let id = server.next_session.fetch_add(1, Ordering::Relaxed) + 1;
                let started = crate::platform::spawn(c"redial-session", move || {
                    crate::guard::guard_always((), || connection::serve(context, server, id, connection));
                    server.sessions.fetch_sub(1, Ordering::AcqRel);
                });
                if !started {
                    server.sessions.fetch_sub(1, Ordering::AcqRel);
                }
            }
            Err(AcceptError::NotAdmitted { .. }) => {}
            Err(AcceptError::Closed) => return,
            Err(AcceptError::Io(_)) => std::thread::sleep(ACCEPT_PAUSE),
        }
    }
}
