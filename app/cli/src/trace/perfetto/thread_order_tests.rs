//! Tests of the order of events, read back as Perfetto reads them.

use super::super::proto::{EventType, Trace};
use super::*;
use prost::Message;
use redial_protocol::trace::TracedCall;

/// A call with the calls inside it.
#[derive(Clone, Debug)]
struct Node {
    name: String,
    start: u64,
    end: u64,
    callees: Vec<Node>,
}

fn node(name: &str, start: u64, end: u64, callees: Vec<Node>) -> Node {
    Node { name: name.to_owned(), start, end, callees }
}

impl Node {
    /// Returns `name(callee, …)`.
    fn nesting(&self) -> String {
        let callees: Vec<String> = self.callees.iter().map(Node::nesting).collect();
        format!("{}[{}-{}]({})", self.name, self.start, self.end, callees.join(""))
    }

    /// Appends its calls in the order of their ends.
    fn calls(&self, depth: u32, to: &mut Vec<CallEvent>) {
        self.callees.iter().for_each(|callee| callee.calls(depth + 1, to));
        to.push(call(&self.name, depth, self.start, Some(self.end)));
    }

    /// Removes calls that are not captured; calls inside them stay.
    fn without(self, is_dropped: &mut impl FnMut() -> bool) -> Vec<Node> {
        let drops = is_dropped();
        let callees: Vec<Node> =
            self.callees.into_iter().flat_map(|callee| callee.without(is_dropped)).collect();
        if drops { callees } else { vec![Node { callees, ..self }] }
    }
}

fn call(name: &str, depth: u32, start: u64, end: Option<u64>) -> CallEvent {
    let kind = if end.is_some() { EventType::SliceBegin } else { EventType::Instant };
    let event = TrackEvent {
        kind: Some(kind.into()),
        track_uuid: Some(1),
        name: Some(name.to_owned()),
        ..TrackEvent::default()
    };
    CallEvent { thread: 1, is_async: false, depth, start, end, event }
}

/// Sorts events as Perfetto does, and nests them.
fn nested(bytes: &[u8]) -> String {
    let mut packets = Trace::decode(bytes).expect("a trace").packet;
    packets.sort_by_key(|packet| packet.timestamp);
    let mut open: Vec<Node> = vec![node("", 0, 0, vec![])];
    for packet in packets {
        let (time, event) = (packet.timestamp.expect("a time"), packet.track_event.expect("an event"));
        let name = event.name.clone().unwrap_or_default();
        match event.kind() {
            EventType::SliceBegin => open.push(node(&name, time, 0, vec![])),
            EventType::SliceEnd => {
                let ended = open.pop().expect("one is open");
                let around = open.last_mut().expect("the end of a call that began");
                around.callees.push(Node { end: time, ..ended });
            }
            EventType::Instant => {
                open.last_mut().expect("open").callees.push(node(&name, time, time, vec![]))
            }
            EventType::Unspecified => panic!("{event:?}"),
        }
    }
    assert_eq!(open.len(), 1, "all have ended");
    open[0].callees.iter().map(Node::nesting).collect()
}

/// Writes calls; `between` acts after each.
fn written(calls: Vec<CallEvent>, between: impl Fn(&mut ThreadOrder, &mut Vec<u8>)) -> String {
    let (mut order, mut out) = (ThreadOrder::default(), Vec::new());
    for call in calls {
        order.add(call, &mut out);
        between(&mut order, &mut out);
    }
    order.release(&mut out);
    assert_eq!(order.bytes(), 0);
    nested(&out)
}

fn nothing(_: &mut ThreadOrder, _: &mut Vec<u8>) {}

#[track_caller]
fn check(root: &Node, depth: u32) {
    let mut calls = Vec::new();
    root.calls(depth, &mut calls);
    assert_eq!(written(calls.clone(), nothing), root.nesting());
    assert_eq!(written(calls, ThreadOrder::release_later), root.nesting());
}

#[test]
fn calls_that_begin_and_end_together_are_nested() {
    for depth in [0, 1, 7] {
        check(&node("a", 5, 5, vec![node("b", 5, 5, vec![node("c", 5, 5, vec![])])]), depth);
        let first = node("b", 5, 7, vec![node("c", 5, 6, vec![]), node("d", 6, 6, vec![])]);
        let second = node("e", 7, 9, vec![node("f", 7, 7, vec![]), node("g", 7, 9, vec![])]);
        check(&node("a", 5, 9, vec![first, second, node("h", 9, 9, vec![])]), depth);
        let twice = vec![node("b", 5, 5, vec![]), node("c", 5, 5, vec![node("d", 5, 5, vec![])])];
        check(&node("a", 5, 6, twice), depth);
    }
}

/// A small generator of numbers, the same in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    /// Makes a call from `start` on, whose callees and pauses take `least` to 2 ns.
    fn tree(&mut self, start: u64, levels: u32, least: u64, name: &mut u32) -> Node {
        *name += 1;
        let own = name.to_string();
        let mut now = start;
        let mut callees = Vec::new();
        if levels > 0 {
            for _ in 0..self.below(5) {
                now += self.below(2);
                let callee = self.tree(now, levels - 1, least, name);
                now = callee.end;
                callees.push(callee);
            }
        }
        node(&own, start, (now + self.below(2)).max(start + least), callees)
    }
}

#[test]
fn random_calls_keep_their_nesting() {
    let mut numbers = Numbers(1);
    for round in 0..300 {
        let root = numbers.tree(100, 4, round % 2, &mut 0);
        check(&root, (round % 3) as u32);
    }
}

#[test]
fn calls_whose_caller_was_not_captured_keep_their_nesting() {
    let mut numbers = Numbers(2);
    for _ in 0..300 {
        let root = numbers.tree(100, 4, 1, &mut 0);
        let mut calls = Vec::new();
        root.calls(1, &mut calls);
        let rest = node("", 0, 0, root.without(&mut || numbers.below(3) == 0));
        let mut names = Vec::new();
        rest.calls(0, &mut names);
        calls.retain(|call| names.iter().any(|one| one.event.name == call.event.name));
        let expected: String = rest.callees.iter().map(Node::nesting).collect();
        assert_eq!(written(calls, nothing), expected);
    }
}

#[test]
fn a_caller_begins_no_later_than_its_callees() {
    // The clocks were read anew between the two.
    let calls = vec![call("b", 1, 100, Some(150)), call("a", 0, 103, Some(180))];
    assert_eq!(written(calls, nothing), "a[100-180](b[100-150]())");
}

#[test]
fn instants_are_inside_their_callers() {
    let calls = vec![call("b", 1, 5, None), call("c", 1, 8, None), call("a", 0, 5, Some(9))];
    assert_eq!(written(calls, nothing), "a[5-9](b[5-5]()c[8-8]())");
}

#[test]
fn times_at_the_end_of_all_times_do_not_overflow() {
    let calls = vec![call("b", 1, u64::MAX, Some(u64::MAX)), call("a", 0, u64::MAX, Some(5))];
    let max = u64::MAX;
    assert_eq!(written(calls, nothing), format!("a[{max}-{max}](b[{max}-{max}]())"));
}

#[test]
fn what_is_held_is_written_by_and_by() {
    let (mut order, mut out) = (ThreadOrder::default(), Vec::new());
    for start in 0..1_000 {
        order.add(call("inner", 2, 10 * start, Some(10 * start + 5)), &mut out);
    }
    assert!(order.bytes() > 1_000 * 20, "no caller arrived");
    order.add(call("outer", 1, 0, Some(20_000)), &mut out);
    assert!(order.bytes() < 300, "only the first may begin with a further caller: {}", order.bytes());
    assert!(nested_is_complete(order, out, 1_001));
}

fn nested_is_complete(mut order: ThreadOrder, mut out: Vec<u8>, calls: usize) -> bool {
    order.release(&mut out);
    nested(&out).matches('[').count() == calls
}

#[test]
fn early_release_keeps_first_calls_of_each_depth() {
    let (mut order, mut out) = (ThreadOrder::default(), Vec::new());
    for start in 0..100 {
        order.add(call("inner", 1, 10 * start, Some(10 * start + 5)), &mut out);
        if start % 10 == 9 {
            order.release_later(&mut out);
            assert!(order.bytes() < 200, "{}", order.bytes());
        }
    }
    order.add(call("outer", 0, 0, Some(2_000)), &mut out);
    assert_eq!(order.bytes(), 0);
    assert!(nested(&out).starts_with("outer[0-2000](inner[0-5]()inner[10-15]()"));
}

#[test]
fn a_call_keeps_all_its_facts() {
    let traced: TracedCall = redial_text::fixtures::traced_call();
    let event = TrackEvent { categories: vec!["Shop".into()], ..call("a", 0, 0, Some(1)).event };
    let mut out = Vec::new();
    let end = traced.duration_ns.map(|duration| traced.start_unix_ns + duration);
    let whole = CallEvent {
        thread: 1,
        is_async: false,
        depth: 0,
        start: traced.start_unix_ns,
        end,
        event: event.clone(),
    };
    ThreadOrder::default().add(whole, &mut out);
    let packets = Trace::decode(&out[..]).expect("a trace").packet;
    assert_eq!(packets.len(), 2);
    assert!(packets.iter().any(|packet| packet.track_event.as_ref() == Some(&event)));
    assert!(packets.iter().all(|packet| packet.trusted_packet_sequence_id == Some(1)));
}
