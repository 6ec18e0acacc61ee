//! The thread that sends traced calls to a session as they end.
#![forbid(unsafe_code)]

use super::outbox::Outbox;
use super::session::Session;
use super::shared::Server;
use super::traced_calls::{CALLS_PER_PAGE, CallPages};
use crate::context::Context;
use crate::ledger::row_filter::RowFilter;
use crate::sync::lock;
use crate::traces::{CallStream, StreamedCalls};
use redial_protocol::diagnostics::Unavailable;
use redial_protocol::limits::TRACED_CALLS_PER_PAGE;
use redial_protocol::message::{Event, Refusal, Reply};
use redial_protocol::packet::AgentPacket;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the thread looks whether the session or the process ends.
const TICK: Duration = Duration::from_millis(20);
/// Methods that one report checks for dropped calls although none of their calls was captured. The next report goes on
/// with further methods. A page has room for these methods and for those of its calls.
const MAX_UNDESCRIBED: usize = TRACED_CALLS_PER_PAGE - CALLS_PER_PAGE;
/// How often dropped calls are reported.
const DROPPED_INTERVAL: Duration = Duration::from_millis(500);
/// Longest wait of the thread at shutdown for its last frames.
const LAST_FRAMES_WAIT: Duration = Duration::from_secs(2);

impl Session {
    /// Starts a stream of traced calls, instead of an earlier one.
    pub(super) fn stream_calls(&mut self, filter: Option<RowFilter>) -> Reply {
        self.stop_calls();
        let stream = Arc::new(CallStream::new(filter));
        let sender = Sender {
            context: self.context,
            server: self.server,
            outbox: Arc::clone(&self.outbox),
            stream: Arc::clone(&stream),
        };
        self.context.traces.add_stream(Arc::clone(&stream));
        self.server.subscribed();
        if !crate::platform::spawn(c"redial-calls", move || sender.run()) {
            self.context.traces.remove_stream(&stream);
            self.server.unsubscribed(false);
            return Reply::Refused(Refusal::AgentOff(Unavailable::NoThread));
        }
        *lock(&self.calls) = Some(stream);
        Reply::Done
    }

    /// Ends the stream of traced calls, if there is one, after its last page.
    pub(super) fn stop_calls(&mut self) {
        let stream = lock(&self.calls).take();
        if let Some(stream) = stream {
            self.context.traces.collect();
            self.context.traces.remove_stream(&stream);
            stream.stop();
            stream.wait_until_sent();
        }
    }
}

struct Sender {
    context: &'static Context,
    server: &'static Server,
    outbox: Arc<Outbox>,
    stream: Arc<CallStream>,
}

impl Sender {
    fn run(self) {
        let served = self.send_all();
        self.stream.set_sent();
        self.server.unsubscribed(served);
    }

    /// Sends calls until the stream, the session or the process ends; true if all were sent at the process's end.
    fn send_all(&self) -> bool {
        let mut pages = CallPages::new(self.context);
        let mut reported = Instant::now();
        let mut unread_before = 0;
        let mut place = 0;
        loop {
            let is_stopping = self.context.ledger.is_stopping();
            if is_stopping {
                self.context.traces.collect();
                self.stream.stop();
            }
            if self.outbox.is_closed() {
                self.context.traces.remove_stream(&self.stream);
                return false;
            }
            if self.outbox.is_backed_up() && !is_stopping {
                std::thread::sleep(TICK);
                continue;
            }
            let StreamedCalls { calls, unread, is_over } = self.stream.take(CALLS_PER_PAGE, TICK);
            let due = is_over || reported.elapsed() >= DROPPED_INTERVAL;
            let (mut methods, dropped) = if due {
                reported = Instant::now();
                let mut rows = self.context.traces.active_from(place, MAX_UNDESCRIBED);
                place = if rows.len() < MAX_UNDESCRIBED { 0 } else { place + MAX_UNDESCRIBED };
                // The filter may read metadata, so it gets the rows without a lock.
                rows.retain(|row| self.stream.wants(row));
                pages.dropped(&rows)
            } else {
                Default::default()
            };
            if !calls.is_empty() || !dropped.is_empty() || unread != unread_before {
                let (of_calls, calls) = pages.page(&calls);
                methods.extend(of_calls);
                unread_before = unread;
                let page = Event::Calls { id: None, methods, calls, dropped, unread };
                if !AgentPacket::Event(page).to_frame().is_ok_and(|frame| self.outbox.put(frame)) {
                    self.context.traces.remove_stream(&self.stream);
                    return false;
                }
            }
            if is_over {
                return is_stopping && self.outbox.drain(LAST_FRAMES_WAIT);
            }
        }
    }
}
