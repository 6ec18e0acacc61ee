//! The thread that sends thrown exceptions to a session, and when the runtime reports them.
#![forbid(unsafe_code)]

use super::outbox::Outbox;
use super::session::Session;
use super::shared::Server;
use crate::classes::Classes;
use crate::context::Context;
use crate::probes::exception_chain::capture_exceptions;
use crate::probes::trace;
use crate::sync::lock;
use crate::thrown_exceptions::{ExceptionStream, Sources, StreamPage};
use redial_protocol::diagnostics::Unavailable;
use redial_protocol::level::Level;
use redial_protocol::limits::EXCEPTIONS_PER_SECOND;
use redial_protocol::message::{Event, Refusal, Reply};
use redial_protocol::packet::AgentPacket;
use redial_protocol::pattern::Pattern;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the thread looks whether the session or the process ends.
const TICK: Duration = Duration::from_millis(20);
/// How often counts are sent.
const COUNTS_INTERVAL: Duration = Duration::from_millis(500);
/// Longest wait of the thread at shutdown for its last frames.
const LAST_FRAMES_WAIT: Duration = Duration::from_secs(2);
/// Longest wait for the runtime to begin or end its reports.
const EVENTS_WAIT: Duration = Duration::from_secs(10);

impl Session {
    /// Starts a stream of thrown exceptions, instead of an earlier one.
    pub(super) fn stream_exceptions(&mut self, types: Option<Pattern>, rate: Option<u32>) -> Reply {
        self.stop_exceptions(false);
        let context = self.context;
        prepare(context);
        let stream = Arc::new(ExceptionStream::new(types, allowed_rate(context, rate)));
        if !context.thrown_exceptions.add_stream(sources(context), Arc::clone(&stream)) {
            return Reply::Refused(Refusal::AgentOff(Unavailable::NoThread));
        }
        *lock(&self.exceptions) = Some(Arc::clone(&stream));
        let sender = Sender { context, server: self.server, outbox: Arc::clone(&self.outbox), stream };
        self.server.subscribed();
        if !crate::platform::spawn(c"redial-thrown", move || sender.run()) {
            self.server.unsubscribed(false);
            self.remove_exceptions();
            return Reply::Refused(Refusal::AgentOff(Unavailable::NoThread));
        }
        context.inbox.follow_exceptions(EVENTS_WAIT);
        if context.exceptions.are_on() {
            return Reply::Done;
        }
        self.stop_exceptions(false);
        Reply::Refused(Refusal::AgentOff(Unavailable::NoExceptionEvents))
    }

    /// Ends the stream of thrown exceptions, if there is one, after its last page; with `wait`, once the runtime no longer
    /// reports them unless something else needs them.
    pub(super) fn stop_exceptions(&mut self, wait: bool) {
        if let Some(stream) = self.remove_exceptions() {
            stream.stop();
            stream.wait_until_sent();
            self.context.inbox.follow_exceptions(if wait { EVENTS_WAIT } else { Duration::ZERO });
        }
    }

    fn remove_exceptions(&self) -> Option<Arc<ExceptionStream>> {
        let stream = lock(&self.exceptions).take()?;
        self.context.thrown_exceptions.remove_stream(sources(self.context), &stream);
        Some(stream)
    }
}

fn sources(context: &'static Context) -> Sources {
    Sources { info: &context.info, modules: &context.modules, callers: &context.callers }
}

/// Returns how many single exceptions a stream may send in a second.
fn allowed_rate(context: &Context, rate: Option<u32>) -> u32 {
    let allowed =
        context.settings.max_events.map_or(u32::MAX, |most| u32::try_from(most).unwrap_or(u32::MAX));
    rate.unwrap_or(EXCEPTIONS_PER_SECOND).min(allowed)
}

/// Finds what is read of exceptions. Their messages are values as those of traced calls, with the same limits.
fn prepare(context: &Context) {
    if let Some(layout) = context.info.string_layout() {
        trace::set_string_layout(layout);
    }
    let fields = Classes::exception_fields(&context.info, &context.modules, &context.settings.capture);
    if let Some(mut fields) = fields {
        if context.settings.highest_level() < Level::Trace {
            fields.message = 0;
        }
        capture_exceptions(fields);
    }
}

struct Sender {
    context: &'static Context,
    server: &'static Server,
    outbox: Arc<Outbox>,
    stream: Arc<ExceptionStream>,
}

impl Sender {
    fn run(self) {
        let served = self.send_all();
        self.stream.set_sent();
        self.server.unsubscribed(served);
    }

    /// Sends exceptions until the stream, the session or the process ends; true if all were sent at the process's end.
    fn send_all(&self) -> bool {
        let mut counted = Instant::now();
        loop {
            let is_stopping = self.context.ledger.is_stopping();
            if is_stopping {
                self.context.thrown_exceptions.collect(sources(self.context));
                self.stream.stop();
            }
            if self.outbox.is_closed() {
                return false;
            }
            if self.outbox.is_backed_up() && !is_stopping {
                std::thread::sleep(TICK);
                continue;
            }
            let due = counted.elapsed() >= COUNTS_INTERVAL;
            let page = self.stream.take(TICK, due);
            if due {
                counted = Instant::now();
            }
            let is_over = page.is_over;
            if (is_over || !page.is_empty()) && !self.send(page) {
                return false;
            }
            if is_over {
                return is_stopping && self.outbox.drain(LAST_FRAMES_WAIT);
            }
        }
    }

    fn send(&self, page: StreamPage) -> bool {
        let StreamPage { rows, counts, exceptions, totals, .. } = page;
        let event = Event::Exceptions { rows, counts, exceptions, totals };
        AgentPacket::Event(event).to_frame().is_ok_and(|frame| self.outbox.put(frame))
    }
}
