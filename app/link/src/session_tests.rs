//! Tests sessions against a real endpoint of this process.

use super::super::connect;
use super::*;
use crate::exit::Exit;
use crate::test_agent::{AgentEnd, facts, serve};
use redial_protocol::counters::CounterDelta;
use redial_protocol::message::{Holder, Refusal};

const PROGRAM: &str = "redial test";

fn open(pid: u32) -> Session {
    connect::open(pid, PROGRAM).expect("a session")
}

fn wait_for_end(mut agent: AgentEnd) {
    while agent.receive().is_some() {}
}

fn counters(t_ms: u64) -> Event {
    Event::Counters { delta: CounterDelta { t_ms, ..CounterDelta::default() }, dropped: 0 }
}

#[test]
fn hello_identifies_both_sides() {
    serve(
        |mut agent| {
            let Some(ControllerPacket::Hello(hello)) = agent.receive() else { panic!("a hello comes first") };
            assert_eq!((hello.program.as_str(), hello.pid), (PROGRAM, std::process::id()));
            assert_eq!(
                (hello.protocol, hello.version.as_str()),
                (PROTOCOL_VERSION, env!("CARGO_PKG_VERSION"))
            );
            agent.send(&AgentPacket::Hello(facts(0)));
        },
        |pid| {
            let session = open(pid);
            assert_eq!(session.facts(), &facts(0));
            assert_eq!(session.pid(), pid);
        },
    );
}

#[test]
fn pages_precede_the_reply_and_events_are_queued() {
    let page = |token| MethodPage { token: vec![token], ..MethodPage::default() };
    serve(
        |mut agent| {
            agent.hello(facts(0));
            let Request { id, command } = agent.request();
            assert_eq!(command, WireCommand::Methods { pattern: None, limit: 5 });
            agent.event(counters(1));
            agent.event(Event::Methods { id, page: page(1) });
            agent.event(Event::Methods { id: id + 100, page: page(99) });
            agent.event(Event::Rows { id: None, rows: vec![] });
            agent.event(Event::Methods { id, page: page(2) });
            agent.reply(id, Reply::Methods { matched: 2, suggestions: vec![] });
            agent.event(counters(2));
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            let mut tokens = Vec::new();
            let command = WireCommand::Methods { pattern: None, limit: 5 };
            let reply = session.ask(command, &mut |page| match page {
                ReplyPage::Methods(page) => tokens.extend(page.token),
                ReplyPage::Rows(_) | ReplyPage::Times(_) | ReplyPage::Il(_) => {
                    panic!("only methods were asked for")
                }
            });
            assert_eq!(reply.expect("a reply"), Reply::Methods { matched: 2, suggestions: vec![] });
            assert_eq!(tokens, [1, 2]);
            let mut events = (0..4).map(|_| session.next(None).expect("an event").expect("no deadline"));
            assert_eq!(events.next(), Some(counters(1)));
            assert!(matches!(events.next(), Some(Event::Methods { .. })));
            assert!(matches!(events.next(), Some(Event::Rows { id: None, .. })));
            assert_eq!(events.next(), Some(counters(2)));
        },
    );
}

#[test]
fn a_refusal_is_an_error_and_the_session_continues() {
    let holder = Holder { pid: 99, program: "redial app".into() };
    serve(
        |mut agent| {
            agent.hello(facts(0));
            let first = agent.request();
            agent.reply(first.id, Reply::Refused(Refusal::ControlHeld(holder)));
            let second = agent.request();
            assert_ne!(first.id, second.id);
            agent.reply(second.id, Reply::Done);
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            let error = session.execute(WireCommand::ReleaseControl).expect_err("it is refused");
            assert_eq!(error.exit(), Exit::ControlHeld);
            assert!(error.to_string().contains("the Redial window (pid 99)"), "{error}");
            session.execute(WireCommand::ReleaseControl).expect("it is done");
        },
    );
}

#[test]
fn all_off_works_with_another_version() {
    serve(
        |mut agent| {
            agent.hello(facts(1));
            assert_eq!(agent.receive(), Some(ControllerPacket::AllOff), "no request is sent to it");
            agent.event(counters(1));
            agent.send(&AgentPacket::AllOffDone { reverted: 12, remaining: 1, change: 3 });
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            let error = session.execute(WireCommand::Modules).expect_err("it speaks another protocol");
            assert_eq!(error.exit(), Exit::Failed);
            let text = error.to_string();
            assert!(text.contains("7.8.9") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
            assert_eq!(
                session.all_off().expect("frozen"),
                AllOffResult { reverted: 12, remaining: 1, change: 3 }
            );
        },
    );
}

#[test]
fn reports_an_agent_that_refuses_this_version() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            agent.request();
            agent.send(&AgentPacket::VersionRefused {
                agent_protocol: 55,
                agent_version: "5.5.5".into(),
                message: "no".into(),
            });
            wait_for_end(agent);
        },
        |pid| {
            let error = open(pid).execute(WireCommand::Modules).expect_err("refused");
            assert!(
                error.to_string().contains("5.5.5") && error.to_string().contains("protocol 55"),
                "{error}"
            );
        },
    );
}

#[test]
fn reports_garbage_instead_of_frames() {
    for garbage in [&b"\xff\xff\xff\xff"[..], b"\x00\x00\x00\x00", b"\x03\x00\x00\x00abc"] {
        serve(
            |mut agent| {
                agent.hello(facts(0));
                agent.request();
                agent.raw(garbage);
                wait_for_end(agent);
            },
            |pid| {
                let error = open(pid).execute(WireCommand::Modules).expect_err("garbage");
                assert!(matches!(error, LinkError::Garbled { .. }), "{error}");
                assert_eq!(error.exit(), Exit::Failed);
            },
        );
    }
}

#[test]
fn rejects_a_peer_without_hello() {
    serve(
        |mut agent| {
            agent.receive();
            agent.event(Event::Goodbye { missed_deadlines: 0 });
            wait_for_end(agent);
        },
        |pid| {
            let error = connect::open(pid, PROGRAM).err().expect("no hello");
            assert!(error.to_string().contains("not a hello"), "{error}");
        },
    );
}

#[test]
fn gives_up_on_an_agent_without_hello() {
    serve(wait_for_end, |pid| {
        let connection = redial_protocol::transport::connect(pid).expect("connected");
        let session = Session::open_within(Duration::from_millis(50), pid, connection, PROGRAM);
        assert!(matches!(session, Err(LinkError::Silent { .. })));
    });
}

#[test]
fn reports_a_connection_closed_by_a_running_process() {
    for half in [&b""[..], b"\x10\x00\x00"] {
        serve(
            |mut agent| {
                agent.hello(facts(0));
                agent.request();
                agent.raw(half);
                agent.close();
            },
            |pid| {
                let error = open(pid).execute(WireCommand::Modules).expect_err("closed");
                assert!(matches!(error, LinkError::Closed { .. }), "{error}");
                assert_eq!(
                    error.to_string().contains("in the middle of a message"),
                    !half.is_empty(),
                    "{error}"
                );
            },
        );
    }
}

#[test]
fn an_interrupt_ends_waiting() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            let interrupt = session.interrupter();
            let waker = std::thread::spawn(interrupt);
            assert!(matches!(session.next(None), Err(LinkError::Interrupted)));
            waker.join().expect("it ran");
        },
    );
}

#[test]
fn a_deadline_passes_without_an_event() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            wait_for_end(agent);
        },
        |pid| assert_eq!(open(pid).next(Some(Instant::now())).expect("no error"), None),
    );
}

#[test]
fn a_session_pings_and_hides_the_replies() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            for _ in 0..3 {
                let Request { id, command } = agent.request();
                assert_eq!((id, command), (PING_ID, WireCommand::Ping));
                agent.reply(id, Reply::Done);
            }
            agent.event(counters(1));
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            session.keep_alive(Duration::from_millis(1)).expect("pinging");
            assert_eq!(session.next(None).expect("an event"), Some(counters(1)));
        },
    );
}

#[test]
fn dropping_a_session_ends_it_for_the_agent() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            assert_eq!(agent.receive(), None);
        },
        |pid| {
            let mut session = open(pid);
            session.keep_alive(PING_EVERY).expect("pinging");
            drop(session);
        },
    );
}
