//! The session against a real endpoint of this process.

use super::super::connect;
use super::*;
use crate::exit::Exit;
use crate::link::test_agent::{AgentEnd, facts, serve};
use redial_protocol::counters::CounterDelta;
use redial_protocol::message::{Holder, Refusal};

const PROGRAM: &str = "redial test";

fn open(pid: u32) -> Session {
    connect::open(pid, PROGRAM).expect("a session")
}

fn wait_for_end(mut agent: AgentEnd) {
    while agent.receive().is_some() {}
}

fn fold(t_ms: u64) -> Event {
    Event::Counters { delta: CounterDelta { t_ms, ..CounterDelta::default() }, dropped: 0 }
}

#[test]
fn hello_says_who_is_there_on_both_sides() {
    serve(
        |mut agent| {
            let Some(FromController::Hello(hello)) = agent.receive() else { panic!("a hello comes first") };
            assert_eq!((hello.program.as_str(), hello.pid), (PROGRAM, std::process::id()));
            assert_eq!(
                (hello.protocol, hello.version.as_str()),
                (PROTOCOL_VERSION, env!("CARGO_PKG_VERSION"))
            );
            agent.send(&FromAgent::Hello(facts(0)));
        },
        |pid| {
            let session = open(pid);
            assert_eq!(session.facts(), &facts(0));
            assert_eq!(session.pid(), pid);
        },
    );
}

#[test]
fn pages_of_a_request_come_before_its_reply_and_events_wait() {
    let page = |token| MethodPage { token: vec![token], ..MethodPage::default() };
    serve(
        |mut agent| {
            agent.hello(facts(0));
            let Request { id, command } = agent.request();
            assert_eq!(command, Command::Methods { pattern: None, limit: 5 });
            agent.event(fold(1));
            agent.event(Event::Methods { id, page: page(1) });
            agent.event(Event::Methods { id: id + 100, page: page(99) });
            agent.event(Event::Rows { id: None, rows: vec![] });
            agent.event(Event::Methods { id, page: page(2) });
            agent.reply(id, Reply::Methods { matched: 2, suggestions: vec![] });
            agent.event(fold(2));
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            let mut tokens = Vec::new();
            let command = Command::Methods { pattern: None, limit: 5 };
            let reply = session.ask(command, &mut |page| match page {
                Page::Methods(page) => tokens.extend(page.token),
                Page::Rows(_) | Page::Times(_) | Page::Il(_) => panic!("only methods were asked for"),
            });
            assert_eq!(reply.expect("a reply"), Reply::Methods { matched: 2, suggestions: vec![] });
            assert_eq!(tokens, [1, 2]);
            let mut events = (0..4).map(|_| session.next(None).expect("an event").expect("no deadline"));
            assert_eq!(events.next(), Some(fold(1)));
            assert!(matches!(events.next(), Some(Event::Methods { .. })));
            assert!(matches!(events.next(), Some(Event::Rows { id: None, .. })));
            assert_eq!(events.next(), Some(fold(2)));
        },
    );
}

#[test]
fn a_refusal_is_an_error_with_its_code_and_the_session_goes_on() {
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
            let error = session.tell(Command::ReleaseControl).expect_err("it is refused");
            assert_eq!(error.exit(), Exit::ControlHeld);
            assert!(error.to_string().contains("redial app (pid 99)"), "{error}");
            session.tell(Command::ReleaseControl).expect("it is done");
        },
    );
}

#[test]
fn an_agent_of_another_version_is_named_and_can_still_be_turned_off() {
    serve(
        |mut agent| {
            agent.hello(facts(1));
            assert_eq!(agent.receive(), Some(FromController::AllOff), "no request is sent to it");
            agent.event(fold(1));
            agent.send(&FromAgent::AllOffDone { reverted: 12, remaining: 1, change: 3 });
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            let error = session.tell(Command::Modules).expect_err("it speaks another protocol");
            assert_eq!(error.exit(), Exit::Failed);
            let text = error.to_string();
            assert!(text.contains("7.8.9") && text.contains(env!("CARGO_PKG_VERSION")), "{text}");
            assert_eq!(session.all_off().expect("frozen"), AllOff { reverted: 12, remaining: 1, change: 3 });
        },
    );
}

#[test]
fn an_agent_that_refuses_this_version_is_named() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            agent.request();
            agent.send(&FromAgent::VersionRefused {
                agent_protocol: 55,
                agent_version: "5.5.5".into(),
                message: "no".into(),
            });
            wait_for_end(agent);
        },
        |pid| {
            let error = open(pid).tell(Command::Modules).expect_err("refused");
            assert!(
                error.to_string().contains("5.5.5") && error.to_string().contains("protocol 55"),
                "{error}"
            );
        },
    );
}

#[test]
fn garbage_instead_of_frames_is_a_sentence() {
    for garbage in [&b"\xff\xff\xff\xff"[..], b"\x00\x00\x00\x00", b"\x03\x00\x00\x00abc"] {
        serve(
            |mut agent| {
                agent.hello(facts(0));
                agent.request();
                agent.raw(garbage);
                wait_for_end(agent);
            },
            |pid| {
                let error = open(pid).tell(Command::Modules).expect_err("garbage");
                assert!(matches!(error, LinkError::Garbled { .. }), "{error}");
                assert_eq!(error.exit(), Exit::Failed);
            },
        );
    }
}

#[test]
fn something_that_does_not_say_hello_is_not_believed() {
    serve(
        |mut agent| {
            agent.receive();
            agent.event(Event::Goodbye { missed_deadlines: 0 });
            wait_for_end(agent);
        },
        |pid| {
            let error = connect::open(pid, PROGRAM).err().expect("no hello");
            assert!(error.to_string().contains("no hello"), "{error}");
        },
    );
}

#[test]
fn an_agent_that_says_nothing_is_not_waited_for_long() {
    serve(wait_for_end, |pid| {
        let connection = redial_protocol::transport::connect(pid).expect("connected");
        let session = Session::open_within(Duration::from_millis(50), pid, connection, PROGRAM);
        assert!(matches!(session, Err(LinkError::Silent { .. })));
    });
}

#[test]
fn a_connection_closed_in_a_running_process_says_so() {
    for half in [&b""[..], b"\x10\x00\x00"] {
        serve(
            |mut agent| {
                agent.hello(facts(0));
                agent.request();
                agent.raw(half);
                agent.close();
            },
            |pid| {
                let error = open(pid).tell(Command::Modules).expect_err("closed");
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
fn an_interrupt_wakes_whoever_waits() {
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
fn a_session_that_holds_dials_pings_and_nobody_sees_the_replies() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            for _ in 0..3 {
                let Request { id, command } = agent.request();
                assert_eq!((id, command), (PING_ID, Command::Ping));
                agent.reply(id, Reply::Done);
            }
            agent.event(fold(1));
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            session.keep_alive(Duration::from_millis(1)).expect("pinging");
            assert_eq!(session.next(None).expect("an event"), Some(fold(1)));
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
