//! Tests sessions against a real endpoint of this process.

use super::super::connect;
use super::*;
use crate::exit::Exit;
use crate::test_agent::{AgentEnd, facts, serve};
use redial_protocol::counters::CounterDelta;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Holder, Refusal};
use redial_protocol::trace::{Outcome, TracedCall, Value};

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
                ReplyPage::Rows(_) | ReplyPage::Times(_) | ReplyPage::Il(_) | ReplyPage::Calls { .. } => {
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
        let patience = Duration::from_millis(50);
        let session = Session::open_within(patience, ReplyLimits::default(), pid, connection, PROGRAM);
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

/// Opens a session with small limits.
fn open_limited(pid: u32, limits: ReplyLimits) -> Session {
    let connection = redial_protocol::transport::connect(pid).expect("connected");
    Session::open_within(HELLO_PATIENCE, limits, pid, connection, PROGRAM).expect("a session")
}

/// Serves a request with `event` (made from the request's id) again and again until the session ends, while
/// `controller` uses a session with these limits.
fn flood(limits: ReplyLimits, event: impl Fn(u32) -> Event + Sync, controller: impl FnOnce(&mut Session)) {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            let id = match agent.receive() {
                Some(ControllerPacket::Request(request)) => request.id,
                _ => 0,
            };
            while agent.offer(&AgentPacket::Event(event(id))) {}
        },
        |pid| controller(&mut open_limited(pid, limits)),
    );
}

fn methods(limit: u64) -> WireCommand {
    WireCommand::Methods { pattern: None, limit }
}

fn limits(page_ms: u64, total_ms: u64, bytes: usize) -> ReplyLimits {
    let ms = Duration::from_millis;
    ReplyLimits { page: ms(page_ms), total: ms(total_ms), bytes }
}

const LONG: u64 = 600_000;

#[test]
fn endless_pages_end_at_the_limit_of_bytes() {
    let empty = |id| Event::Methods { id, page: MethodPage::default() };
    flood(limits(LONG, LONG, 1 << 20), empty, |session| {
        let error = session.ask(methods(u64::MAX), &mut |_| {}).expect_err("it never ends");
        assert!(matches!(error, LinkError::TooMuch { .. }), "{error}");
        assert!(
            error.to_string().ends_with("sends more than 1 MiB in answer to one command; it may be faulty"),
            "{error}"
        );
        assert_eq!(error.exit(), Exit::Failed);
    });
}

#[test]
fn more_methods_than_asked_for_are_an_error() {
    let page = |id| Event::Methods { id, page: MethodPage { token: vec![1; 10], ..MethodPage::default() } };
    flood(limits(LONG, LONG, usize::MAX), page, |session| {
        let mut tokens = 0;
        let error = session.ask(methods(25), &mut |page| {
            if let ReplyPage::Methods(page) = page {
                tokens += page.token.len();
            }
        });
        let error = error.expect_err("it never ends").to_string();
        assert!(error.contains("sends more than 25 methods") && tokens == 20, "{tokens}: {error}");
    });
}

#[test]
fn pages_of_calls_end_at_the_limits() {
    let (start_unix_ns, arguments, arguments_after, stack) = (1, vec![], vec![], vec![]);
    let (plan, number, duration_ns, thread, depth, course) = (1, 1, None, 0, 0, None);
    let small = TracedCall {
        plan,
        number,
        start_unix_ns,
        duration_ns,
        thread,
        depth,
        arguments,
        arguments_after,
        outcome: Outcome::Returned(None),
        stack,
        course,
    };
    let nulls = Value::Collection { type_name: String::new(), length: 0, items: vec![Value::Null; 1_000] };
    let large = TracedCall { arguments: vec![nulls; 60], ..small.clone() };
    // 60,000 values take at least 3 MB in memory, and 60 kB in a frame.
    let limited = [(small, 1_000, usize::MAX, "262,144 calls"), (large, 1, 16 << 20, "16 MiB")];
    for (call, number, bytes, limit) in limited {
        let page = |id| {
            let calls = vec![call.clone(); number];
            Event::Calls { id: Some(id), methods: vec![], calls, dropped: vec![], unread: 0 }
        };
        flood(limits(LONG, LONG, bytes), page, |session| {
            let mut pages = 0;
            let listed = WireCommand::Calls { pattern: None, in_flight: false };
            let error = session.ask(listed, &mut |_| pages += 1).expect_err("it never ends");
            assert!(error.to_string().contains(&format!("sends more than {limit}")), "{error}");
            assert!(pages == 262 || bytes < usize::MAX && pages < 6, "{pages}");
        });
    }
}

#[test]
fn pages_do_not_extend_the_total_time() {
    let empty = |id| Event::Rows { id: Some(id), rows: vec![] };
    flood(limits(LONG, 50, usize::MAX), empty, |session| {
        let error =
            session.ask(WireCommand::Status { pattern: None }, &mut |_| {}).expect_err("it never ends");
        assert!(matches!(error, LinkError::Unfinished { .. }), "{error}");
    });
}

#[test]
fn foreign_events_do_not_extend_the_time_for_a_page() {
    for event in [counters(1), Event::Reply { id: PING_ID, reply: Reply::Done }] {
        flood(
            limits(50, LONG, usize::MAX),
            |_| event.clone(),
            |session| {
                let error = session.execute(WireCommand::Modules).expect_err("it never answers");
                assert!(matches!(error, LinkError::Silent { .. }), "{error}");
                session.limits.page = Duration::from_millis(LONG);
                let error = session.execute(WireCommand::Modules).expect_err("it does not wait again");
                assert!(matches!(error, LinkError::Silent { .. }), "{error}");
            },
        );
    }
}

#[test]
fn the_queue_of_events_is_bounded() {
    let progress = |id| Event::Progress { id, done: 1, total: 2 };
    let delta = |_| Event::Counters {
        delta: CounterDelta { t_ms: 1, rows: vec![RowId(1); 1000], calls: vec![1; 1000] },
        dropped: 0,
    };
    let check = |session: &mut Session| {
        let error = session.execute(WireCommand::Modules).expect_err("it never answers");
        assert!(matches!(error, LinkError::TooMuch { .. }), "{error}");
        let kept: usize = session.queued.iter().map(|(_, memory)| memory).sum();
        assert_eq!(kept, session.queued_bytes);
        assert!(kept < 2 << 20, "{kept}");
        // What is taken from the queue makes room.
        while session.dequeue().is_some() {}
        assert_eq!(session.queued_bytes, 0);
    };
    flood(limits(LONG, LONG, 1 << 20), progress, check);
    flood(limits(LONG, LONG, 1 << 20), delta, check);
}

/// Serves events that follow the hello at once, while `controller` uses a session whose answers are overdue from the
/// start. All fit into the channel of the reader. It begins when the first of them has arrived.
fn overdue(packets: Vec<AgentPacket>, controller: impl FnOnce(&mut Session)) {
    let hello = AgentPacket::Hello(facts(0));
    let first = AgentPacket::Event(counters(0));
    let frames: Vec<u8> = [&hello, &first]
        .into_iter()
        .chain(&packets)
        .flat_map(|packet| packet.to_frame().expect("short"))
        .collect();
    serve(
        |mut agent| {
            agent.receive();
            agent.raw(&frames);
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open_limited(pid, limits(0, LONG, usize::MAX));
            assert_eq!(session.next(None).expect("an event"), Some(counters(0)));
            // The others are close behind. Without them a test only checks less.
            std::thread::sleep(Duration::from_millis(20));
            controller(&mut session);
        },
    );
}

#[test]
fn all_off_ends_at_the_deadline_although_packets_wait() {
    let mut packets = vec![AgentPacket::Event(counters(1)); 4];
    packets.push(AgentPacket::AllOffDone { reverted: 1, remaining: 0, change: 0 });
    overdue(packets, |session| {
        let error = session.all_off().expect_err("its answer comes too late");
        assert!(matches!(error, LinkError::Silent { .. }), "{error}");
        assert!(session.queued.is_empty());
    });
}

#[test]
fn all_off_queues_none_of_the_events_before_its_answer() {
    serve(
        |mut agent| {
            agent.hello(facts(0));
            assert_eq!(agent.receive(), Some(ControllerPacket::AllOff));
            for number in 0..100 {
                agent.event(counters(number));
            }
            agent.send(&AgentPacket::AllOffDone { reverted: 1, remaining: 0, change: 0 });
            wait_for_end(agent);
        },
        |pid| {
            let mut session = open(pid);
            assert_eq!(session.all_off().expect("an answer").reverted, 1);
            assert!(session.queued.is_empty());
        },
    );
}

#[test]
fn replies_to_pings_do_not_outlast_a_deadline() {
    let pong = AgentPacket::Event(Event::Reply { id: PING_ID, reply: Reply::Done });
    let mut packets = vec![pong; 4];
    packets.push(AgentPacket::Event(counters(1)));
    for take in [Session::next, Session::next_or_wake] {
        overdue(packets.clone(), |session| {
            assert_eq!(take(session, Some(Instant::now())).expect("no error"), None);
            // The event is still there.
            while session.next(None).expect("no error").is_none() {}
        });
    }
}
