//! The life of a member's thread, against an agent of this very process.

use super::*;
use crate::cli::arguments;
use crate::link::test_agent::{facts, serve_many};
use redial_protocol::level::Level;
use redial_protocol::message::{Command, Event, Reply};
use redial_protocol::order::Order;
use redial_protocol::packet::FromAgent;
use redial_protocol::process;
use redial_protocol::report::DialReport;

fn dialled() -> Reply {
    Reply::Dialled(DialReport { matched: 1, accepted: 1, ..DialReport::default() })
}

/// What a member's thread tells, one thing after another, while `follow` or hold keeps it.
fn told(options: arguments::Turn, script: impl FnOnce(&Receiver<News>, &Interrupts) + Send) {
    let target = Target::parse("name:Shop").expect("a target");
    let wanted = Wanted {
        target: &target,
        program: "redial test",
        orders: vec![Order::new("A.B", Level::Count)],
        lines: vec![],
        name: "'A.B'".into(),
        options: &options,
    };
    let interrupts = Interrupts::default();
    let stop = Stop::default();
    let stopping = stop.clone();
    interrupts.deliver_to(move || stopping.set());
    let (sender, news) = channel();
    let fleet = Fleet { wanted: &wanted, interrupts: &interrupts, stop, sender };
    let member = Member { key: process::own_key().expect("own key"), name: "Shop".into() };
    std::thread::scope(|scope| {
        scope.spawn(|| fleet.serve(&member, false));
        script(&news, &interrupts);
        interrupts.stop();
        assert!(matches!(news.recv(), Ok(News::Done)), "it ends when it is told to");
    });
}

#[test]
fn a_lost_connection_comes_back_and_is_dialled_again() {
    serve_many(
        |number, mut agent| {
            agent.hello(facts(0));
            let request = agent.request();
            let Command::RequestReJit { later, .. } = request.command else { panic!("{request:?}") };
            assert_eq!(later, number > 0, "what was asked for is set whether it matches by now or not");
            agent.reply(request.id, dialled());
            let release = agent.request();
            assert_eq!(release.command, Command::ReleaseControl, "kept dials need no control");
            // Nobody waits for it: the controller may be gone by now.
            agent.offer(&FromAgent::Event(Event::Reply { id: release.id, reply: Reply::Done }));
            if number > 0 {
                while agent.receive().is_some() {}
            }
        },
        |_| {
            told(arguments::Turn { follow: true, ..arguments::Turn::default() }, |news, _| {
                for again in [false, true] {
                    let Ok(News::Turned(report, replayed)) = news.recv() else { panic!("no turn") };
                    assert!(replayed == again && matches!(report.outcome, Ok(Exit::Done)));
                    assert!(report.text.contains("1 method matched"), "{}", report.text);
                    if !again {
                        assert!(matches!(news.recv(), Ok(News::Lost(_, why)) if why.contains("closed")));
                    }
                }
            });
        },
    );
}

#[test]
fn held_dials_of_those_that_are_not_followed_are_lost_with_the_connection() {
    serve_many(
        |_, mut agent| {
            agent.hello(facts(0));
            let request = agent.request();
            agent.reply(request.id, dialled());
            let subscribed = agent.request();
            agent.reply(subscribed.id, Reply::Done);
        },
        |_| {
            told(arguments::Turn { hold: true, ..arguments::Turn::default() }, |news, _| {
                assert!(
                    matches!(news.recv(), Ok(News::Turned(report, false)) if report.exit() == Exit::Done)
                );
                let Ok(News::Turned(report, true)) = news.recv() else { panic!("no end") };
                assert!(report.outcome.is_err_and(|failure| failure.to_string().contains("closed")));
            });
        },
    );
}
