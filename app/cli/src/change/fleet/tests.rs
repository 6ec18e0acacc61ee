//! Tests of a member's thread against an agent in the test process.

use super::*;
use crate::arguments;
use redial_link::test_agent::{facts, serve_many};
use redial_protocol::level::Level;
use redial_protocol::message::{Event, Reply, WireCommand};
use redial_protocol::order::Order;
use redial_protocol::packet::AgentPacket;
use redial_protocol::process;
use redial_protocol::report::DialReport;

fn dialled() -> Reply {
    Reply::Dialled(DialReport { matched: 1, accepted: 1, ..DialReport::default() })
}

/// Runs a member's thread with `follow` or hold; `script` reads its messages.
fn run_member(
    options: arguments::ChangeArguments,
    script: impl FnOnce(&Receiver<MemberMessage>, &Interrupts) + Send,
) {
    let target = Target::parse("name:Shop").expect("a target");
    let wanted = ChangeRequest {
        target: &target,
        program: "redial test",
        orders: vec![Order::new("A.B", Level::Count)],
        lines: vec![],
        name: "'A.B'".into(),
        options: &options,
    };
    let interrupts = Interrupts::default();
    let stop = StopFlag::default();
    let stopping = stop.clone();
    interrupts.deliver_to(move || stopping.set());
    let (sender, messages) = channel();
    let fleet = FleetChange { wanted: &wanted, interrupts: &interrupts, stop, sender };
    let member = TargetProcess { key: process::own_key().expect("own key"), name: "Shop".into() };
    std::thread::scope(|scope| {
        scope.spawn(|| fleet.serve(&member, false));
        script(&messages, &interrupts);
        interrupts.stop();
        assert!(matches!(messages.recv(), Ok(MemberMessage::Done)), "it ends when stopped");
    });
}

#[test]
fn reconnects_and_dials_again() {
    serve_many(
        |number, mut agent| {
            agent.hello(facts(0));
            let request = agent.request();
            let WireCommand::RequestReJit { later, .. } = request.command else { panic!("{request:?}") };
            assert_eq!(later, number > 0, "the second time, orders are set even if they match nothing");
            agent.reply(request.id, dialled());
            let release = agent.request();
            assert_eq!(release.command, WireCommand::ReleaseControl, "kept dials need no control");
            // The controller may be gone by now.
            agent.offer(&AgentPacket::Event(Event::Reply { id: release.id, reply: Reply::Done }));
            if number > 0 {
                while agent.receive().is_some() {}
            }
        },
        |_| {
            run_member(
                arguments::ChangeArguments { follow: true, ..arguments::ChangeArguments::default() },
                |messages, _| {
                    for again in [false, true] {
                        let Ok(MemberMessage::Turned(report, replayed)) = messages.recv() else {
                            panic!("no change")
                        };
                        assert!(replayed == again && matches!(report.outcome, Ok(Exit::Done)));
                        assert!(report.text.contains("1 method matched"), "{}", report.text);
                        if !again {
                            assert!(
                                matches!(messages.recv(), Ok(MemberMessage::Lost(_, why)) if why.contains("closed"))
                            );
                        }
                    }
                },
            );
        },
    );
}

#[test]
fn without_follow_held_dials_end_with_the_connection() {
    serve_many(
        |_, mut agent| {
            agent.hello(facts(0));
            let request = agent.request();
            agent.reply(request.id, dialled());
            let subscribed = agent.request();
            agent.reply(subscribed.id, Reply::Done);
        },
        |_| {
            run_member(
                arguments::ChangeArguments { hold: true, ..arguments::ChangeArguments::default() },
                |messages, _| {
                    assert!(
                        matches!(messages.recv(), Ok(MemberMessage::Turned(report, false)) if report.exit() == Exit::Done)
                    );
                    let Ok(MemberMessage::Turned(report, true)) = messages.recv() else { panic!("no end") };
                    assert!(report.outcome.is_err_and(|failure| failure.to_string().contains("closed")));
                },
            );
        },
    );
}
