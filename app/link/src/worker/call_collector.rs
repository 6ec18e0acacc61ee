//! Traced calls of a session: a stream of those that end, a list of those that ended before, and those in flight.

use super::active_changes::CommandSink;
use super::error_text;
use crate::error::LinkError;
use redial_model::events::{EventsUpdate, MAX_BYTES, TracedEvent, method_bytes};
use redial_model::ids::ConnectionId;
use redial_protocol::limits::TRACED_CALLS_PER_PAGE;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::trace::{DroppedCalls, TracedCall, TracedMethod};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Most memory for methods, bytes. Thousands of methods take a few MiB.
const MAX_METHOD_BYTES: usize = 32 << 20;

/// A page of calls.
pub struct CallPage {
    pub methods: Vec<TracedMethod>,
    pub calls: Vec<TracedCall>,
    pub dropped: Vec<DroppedCalls>,
    pub unread: u64,
}

/// The agent sent more than an agent sends.
#[derive(Debug)]
pub struct TooMuch;

/// Calls of an answer that is not complete.
#[derive(Default)]
struct PartialList {
    events: Vec<Arc<TracedEvent>>,
    bytes: usize,
}

impl PartialList {
    fn add(&mut self, events: Vec<Arc<TracedEvent>>) -> Result<(), TooMuch> {
        self.bytes += events.iter().map(|event| event.bytes()).sum::<usize>();
        self.events.extend(events);
        if self.bytes > MAX_BYTES { Err(TooMuch) } else { Ok(()) }
    }
}

/// The traced calls of a session.
#[derive(Default)]
pub struct CallCollector {
    connection: ConnectionId,
    /// By plan.
    methods: HashMap<u32, Arc<TracedMethod>>,
    method_bytes: usize,
    /// The outstanding list of earlier calls, and the calls of the stream that arrived before it.
    earlier: Option<(u32, PartialList, PartialList)>,
    /// The calls of that list: the stream may have them, too.
    listed: HashSet<u64>,
    in_flight: Option<(u32, PartialList)>,
    unread: u64,
}

impl CallCollector {
    /// Collects calls of a connection's process.
    pub fn new(connection: ConnectionId) -> CallCollector {
        CallCollector { connection, ..CallCollector::default() }
    }

    /// Starts or stops the stream.
    pub fn collect(&mut self, wanted: bool, session: &mut impl CommandSink) -> Result<(), LinkError> {
        if !wanted {
            self.earlier = None;
            return session.send(WireCommand::StopCalls).map(drop);
        }
        // In this order, so that no call is missed.
        session.send(WireCommand::StreamCalls { pattern: None })?;
        let id = session.send(WireCommand::Calls { pattern: None, in_flight: false })?;
        self.earlier = Some((id, PartialList::default(), PartialList::default()));
        Ok(())
    }

    /// Requests the calls in flight.
    pub fn ask_in_flight(&mut self, session: &mut impl CommandSink) -> Result<(), LinkError> {
        let id = session.send(WireCommand::Calls { pattern: None, in_flight: true })?;
        self.in_flight = Some((id, PartialList::default()));
        Ok(())
    }

    /// Takes a page of the stream, or of the answer to the request with that id.
    ///
    /// # Errors
    /// If there is more than an agent sends.
    pub fn take(&mut self, id: Option<u32>, page: CallPage) -> Result<Vec<EventsUpdate>, TooMuch> {
        self.take_methods(page.methods)?;
        let mut updates = Vec::new();
        if !page.dropped.is_empty() {
            updates.push(EventsUpdate::Dropped(page.dropped));
        }
        let event = |call: TracedCall| {
            let method = self.methods.get(&call.plan)?;
            Some(Arc::new(TracedEvent::new(Arc::clone(method), call).of(self.connection)))
        };
        let events: Vec<Arc<TracedEvent>> = page.calls.into_iter().filter_map(event).collect();
        match (id, &mut self.earlier, &mut self.in_flight) {
            (None, Some((_, _, early)), _) => {
                self.unread = page.unread;
                early.add(events)?;
            }
            (None, None, _) => {
                self.unread = page.unread;
                let events = events.into_iter().filter(|event| !self.listed.remove(&event.call.number));
                updates.push(EventsUpdate::Ended(events.collect(), page.unread));
            }
            (Some(id), Some((of, list, _)), _) if id == *of => list.add(events)?,
            (Some(id), _, Some((of, list))) if id == *of => list.add(events)?,
            (Some(_), ..) => {}
        }
        Ok(updates)
    }

    fn take_methods(&mut self, methods: Vec<TracedMethod>) -> Result<(), TooMuch> {
        for method in methods {
            // Every answer has them again; those known already are shared.
            if self.methods.get(&method.plan).is_some_and(|known| **known == method) {
                continue;
            }
            self.method_bytes += method_bytes(&method);
            if let Some(replaced) = self.methods.insert(method.plan, Arc::new(method)) {
                self.method_bytes -= method_bytes(&replaced);
            }
        }
        if self.method_bytes > MAX_METHOD_BYTES { Err(TooMuch) } else { Ok(()) }
    }

    /// Takes the answer to a request. None if it is not one of these.
    pub fn answered(&mut self, id: u32, reply: &Reply) -> Option<Vec<EventsUpdate>> {
        if let Some((_, list)) = self.in_flight.take_if(|(of, _)| *of == id) {
            let answer = match reply {
                Reply::Refused(refusal) => Err(error_text::refused(&LinkError::Refused(refusal.clone())).why),
                _ => Ok(list.events),
            };
            return Some(vec![EventsUpdate::InFlight(answer)]);
        }
        let (_, list, early) = self.earlier.take_if(|(of, ..)| *of == id)?;
        let mut events = list.events;
        self.listed = events.iter().map(|event| event.call.number).collect();
        events.extend(early.events.into_iter().filter(|event| !self.listed.remove(&event.call.number)));
        events.sort_by_key(|event| event.call.number);
        let mut updates = Vec::new();
        let mut events = events.into_iter().peekable();
        while events.peek().is_some() {
            let page = events.by_ref().take(TRACED_CALLS_PER_PAGE).collect();
            updates.push(EventsUpdate::Earlier(page));
        }
        updates.push(EventsUpdate::Ended(Vec::new(), self.unread));
        Some(updates)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_text::fixtures::{traced_call, traced_method};

    #[derive(Default)]
    struct Sent(Vec<WireCommand>);

    impl CommandSink for Sent {
        fn send(&mut self, command: WireCommand) -> Result<u32, LinkError> {
            self.0.push(command);
            Ok(self.0.len() as u32)
        }
    }

    fn page(numbers: &[u64], unread: u64) -> CallPage {
        let call = |number: &u64| TracedCall { number: *number, ..traced_call() };
        CallPage {
            methods: vec![traced_method()],
            calls: numbers.iter().map(call).collect(),
            dropped: vec![],
            unread,
        }
    }

    fn numbers(updates: Vec<EventsUpdate>) -> Vec<(&'static str, Vec<u64>)> {
        let of = |events: Vec<Arc<TracedEvent>>| events.iter().map(|event| event.call.number).collect();
        let parts = updates.into_iter().map(|update| match update {
            EventsUpdate::Earlier(events) => ("earlier", of(events)),
            EventsUpdate::Ended(events, _) => ("ended", of(events)),
            EventsUpdate::InFlight(events) => ("in flight", of(events.unwrap_or_default())),
            EventsUpdate::Dropped(_) => ("dropped", vec![]),
        });
        parts.collect()
    }

    #[test]
    fn list_and_stream_have_each_call_once() {
        let (mut calls, mut sent) = (CallCollector::default(), Sent::default());
        calls.collect(true, &mut sent).expect("sent");
        assert!(matches!(&sent.0[..], [WireCommand::StreamCalls { .. }, WireCommand::Calls { .. }]));
        // The stream may run ahead of the list, and behind it.
        assert!(calls.take(None, page(&[4, 5], 2)).expect("few").is_empty());
        assert!(calls.take(Some(2), page(&[1, 3, 4, 6], 0)).expect("few").is_empty());
        assert!(calls.answered(9, &Reply::Done).is_none());
        let all = numbers(calls.answered(2, &Reply::Calls { calls: 4 }).expect("the list"));
        assert_eq!(all, [("earlier", vec![1, 3, 4, 5, 6]), ("ended", vec![])]);
        let later = numbers(calls.take(None, page(&[6, 7], 2)).expect("few"));
        assert_eq!(later, [("ended", vec![7])]);
    }

    #[test]
    fn calls_in_flight_are_a_list_of_their_own() {
        let (mut calls, mut sent) = (CallCollector::default(), Sent::default());
        calls.ask_in_flight(&mut sent).expect("sent");
        assert!(calls.take(Some(1), page(&[0, 0], 0)).expect("few").is_empty());
        assert!(calls.take(Some(1), page(&[0], 0)).expect("few").is_empty());
        let all = numbers(calls.answered(1, &Reply::Calls { calls: 3 }).expect("the list"));
        assert_eq!(all, [("in flight", vec![0; 3])]);
        assert!(calls.answered(1, &Reply::Calls { calls: 3 }).is_none());
    }

    #[test]
    fn an_agent_cannot_fill_the_memory() {
        let mut calls = CallCollector::default();
        let mut plan = 0;
        let refused = std::iter::repeat_with(|| {
            plan += 1;
            let method = TracedMethod { plan, method: "x".repeat(1 << 20), ..traced_method() };
            calls.take(None, CallPage { methods: vec![method], ..page(&[], 0) })
        });
        assert!(refused.take(64).any(|taken| taken.is_err()));
    }
}
