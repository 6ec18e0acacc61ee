//! Tests traces against a scripted agent.

use super::*;
use crate::arguments::TraceArguments;
use crate::target::Target;
use crate::traced_calls::CallFormat;
use redial_link::test_agent::{AgentEnd, facts, serve};
use redial_protocol::diagnostics::ChangeWarning;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Request};
use redial_protocol::order::{Lifetime, Order};
use redial_protocol::reason::Reason;
use redial_protocol::trace::{DroppedCalls, TracedCall, TracedMethod};
use redial_text::fixtures::{report, traced_call, traced_method};
use std::cell::RefCell;

/// The result of a trace: its exit, the numbers of its calls, and its remarks.
struct Traced {
    outcome: Result<Exit, Failure>,
    calls: usize,
    remarks: Vec<String>,
}

/// Traces this process, served by `script`, until `most` calls.
fn trace(most: usize, script: impl FnOnce(AgentEnd) + Send) -> Traced {
    trace_with(most, script, &Interrupts::default())
}

fn trace_with(most: usize, script: impl FnOnce(AgentEnd) + Send, interrupts: &Interrupts) -> Traced {
    let mut traced = None;
    serve(script, |pid| {
        let arguments = TraceArguments {
            rate: None,
            depth: None,
            when: None,
            stack: false,
            target: Target::of(pid),
            pattern: "Shop.*".into(),
            count: None,
            domain: None,
            all_domains: false,
            take: false,
            attach: false,
            wide: false,
            json: false,
            perfetto: None,
        };
        let wanted = ChangeRequest {
            target: &arguments.target,
            program: "redial test",
            name: "'Shop.*'".into(),
            orders: vec![arguments.order()],
            lines: vec![],
            options: &arguments.change(),
        };
        let remarks = RefCell::new(Vec::new());
        let say = |text| remarks.borrow_mut().push(text);
        let mut calls = 0;
        let lines = CallLines::new(pid, CallFormat::Text(None), None);
        let outcome =
            CallStream::new(&wanted, lines, &CallLines::line, &say).run(pid, interrupts, &mut |lines| {
                assert!(lines.iter().all(|line| line.contains("Pricing.Discount(")), "{lines:?}");
                calls += lines.len();
                Ok(calls < most)
            });
        traced = Some(Traced { outcome, calls, remarks: remarks.into_inner() });
    });
    traced.expect("it ended")
}

fn dropped_calls(over_rate: u64) -> DroppedCalls {
    DroppedCalls { row: RowId(7), over_rate, no_room: 0, undecided: 0 }
}

fn page(methods: Vec<TracedMethod>, calls: usize, dropped: u64, unread: u64) -> Event {
    let calls: Vec<TracedCall> = vec![traced_call(); calls];
    Event::Calls { id: None, methods, calls, dropped: vec![dropped_calls(dropped)], unread }
}

/// Answers the hello and the beginning of a trace, and returns the request for the dial.
fn begin(agent: &mut AgentEnd) -> Request {
    agent.hello(facts(0));
    let pattern = || Some("Shop.*".to_owned());
    let listed = agent.request();
    assert_eq!(listed.command, WireCommand::Calls { pattern: pattern(), in_flight: true });
    // Calls dropped before this trace.
    let before = vec![dropped_calls(50)];
    let (id, methods, calls) = (Some(listed.id), vec![], vec![]);
    agent.event(Event::Calls { id, methods, calls, dropped: before, unread: 0 });
    agent.reply(listed.id, Reply::Calls { calls: 0 });
    let stream = agent.request();
    assert_eq!(stream.command, WireCommand::StreamCalls { pattern: pattern() });
    agent.reply(stream.id, Reply::Done);
    let dial = agent.request();
    let orders = vec![Order::new("Shop.*", Level::Trace)];
    let expected = WireCommand::RequestReJit { orders, later: false, take: false, lifetime: Lifetime::Held };
    assert_eq!(dial.command, expected);
    dial
}

fn subscribe(agent: &mut AgentEnd) {
    let subscribed = agent.request();
    assert!(matches!(subscribed.command, WireCommand::Subscribe { .. }), "{subscribed:?}");
    agent.reply(subscribed.id, Reply::Done);
}

/// Answers the end of a trace.
fn finish(agent: &mut AgentEnd, remaining: u64) {
    let release = agent.request();
    assert_eq!(release.command, WireCommand::ReleaseHeld);
    agent.reply(release.id, Reply::ReleaseHeld { reverted: 2, stay: 0, remaining });
    let stop = agent.request();
    assert_eq!(stop.command, WireCommand::StopCalls);
    agent.event(page(vec![], 1, 57, 3));
    agent.reply(stop.id, Reply::Done);
    assert_eq!(agent.receive(), None, "the session ends");
}

#[test]
fn prints_calls_until_there_are_enough() {
    let traced = trace(5, |mut agent| {
        let dial = begin(&mut agent);
        // Calls may end before the change is answered.
        agent.event(page(vec![traced_method()], 1, 50, 0));
        agent.reply(dial.id, Reply::Dialled(report(2, 2, &[])));
        subscribe(&mut agent);
        agent.event(page(vec![], 3, 50, 0));
        agent.event(page(vec![], 2, 50, 0));
        finish(&mut agent, 0);
    });
    assert_eq!(traced.outcome.expect("it ends"), Exit::Done);
    assert_eq!(traced.calls, 6, "the printer cuts the last page, and nothing follows");
    assert_eq!(
        traced.remarks,
        [
            "tracing 2 methods; Ctrl-C turns them off",
            "Shop.Pricing.Discount: 7 calls over the allowed rate not captured; counts and times include them",
            "3 calls were captured but not printed: the output is too slow for their number",
        ]
    );
}

#[test]
fn an_interrupt_turns_the_dials_off_and_prints_the_rest() {
    let interrupts = Interrupts::default();
    let stop = interrupts.clone();
    let script = move |mut agent: AgentEnd| {
        let dial = begin(&mut agent);
        agent.reply(dial.id, Reply::Dialled(report(2, 2, &[])));
        subscribe(&mut agent);
        agent.event(page(vec![traced_method()], 1, 50, 0));
        stop.stop();
        finish(&mut agent, 1);
    };
    let traced = trace_with(usize::MAX, script, &interrupts);
    assert_eq!(traced.outcome.expect("it ends"), Exit::Partly, "one could not be turned off");
    assert_eq!(traced.calls, 2);
    assert!(traced.remarks.iter().any(|text| text.contains("1 method could not be turned off")));
}

#[test]
fn a_refused_trace_ends_at_once() {
    let traced = trace(5, |mut agent| {
        let dial = begin(&mut agent);
        agent.reply(dial.id, Reply::Dialled(report(2, 0, &[(Reason::Dynamic, 2)])));
        finish(&mut agent, 0);
    });
    assert_eq!((traced.outcome.expect("it ends"), traced.calls), (Exit::Failed, 0));
    assert_eq!(traced.remarks[0], "2 methods matched, 0 accepted at trace");
    assert!(traced.remarks[1].starts_with("2 methods refused: "), "{:?}", traced.remarks);
}

#[test]
fn a_trace_of_nothing_is_an_error() {
    let traced = trace(5, |mut agent| {
        let dial = begin(&mut agent);
        let suggestions = vec!["Shop.Cart.*".to_owned()];
        agent.reply(dial.id, Reply::Refused(Refusal::NothingMatched { suggestions }));
        while agent.receive().is_some() {}
    });
    let failure = traced.outcome.expect_err("nothing matched");
    assert_eq!(failure.exit(), Exit::NothingMatched);
    assert!(failure.to_string().contains("did you mean 'Shop.Cart.*'?"), "{failure}");
}

#[test]
fn warns_once_of_methods_that_are_only_counted() {
    let traced = trace(1, |mut agent| {
        let dial = begin(&mut agent);
        let warnings = vec![ChangeWarning::OnlyCounted { copies: 1 }];
        agent.reply(dial.id, Reply::Dialled(DialReport { warnings, ..report(2, 2, &[]) }));
        subscribe(&mut agent);
        agent.event(page(vec![traced_method()], 1, 50, 0));
        finish(&mut agent, 0);
    });
    assert_eq!(traced.outcome.expect("it ends"), Exit::Done);
    let warnings = traced.remarks.iter().filter(|text| text.contains("1 copy is only counted"));
    assert_eq!(warnings.count(), 1, "{:?}", traced.remarks);
}

#[test]
fn the_end_of_the_process_ends_a_trace() {
    let traced = trace(9, |mut agent| {
        let dial = begin(&mut agent);
        agent.reply(dial.id, Reply::Dialled(report(2, 2, &[])));
        subscribe(&mut agent);
        agent.event(page(vec![traced_method()], 2, 50, 0));
        agent.event(Event::Goodbye { missed_deadlines: 0 });
    });
    assert_eq!(traced.outcome.expect_err("it ended").exit(), Exit::NoProcess);
    assert_eq!(traced.calls, 2);
}
