//! The endpoint of this very process: two ends, both checked, as an agent and a controller would use them.
//! One test, because a process has one endpoint.

use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::ClientHello;
use redial_protocol::message::{Command, Event, Reply, Request};
use redial_protocol::packet::{FromAgent, FromController};
use redial_protocol::transport::{
    AcceptError, BindError, ConnectError, Connection, Listener, ReadHalf, connect,
};
use redial_protocol::{PROTOCOL_VERSION, process};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// More than any system buffers for a peer that does not read.
const FLOOD: usize = 8 << 20;

#[test]
fn an_endpoint_is_found_checked_used_and_taken_away() {
    let pid = std::process::id();
    check_no_agent(pid);
    let listener = Listener::bind(process::own_key().unwrap()).unwrap();
    check_served(&listener);
    check_questions_are_answered(&listener, pid);
    check_what_was_written_is_read_after_closing(&listener, pid);
    check_closing_ends_both_sides(&listener, pid);
    check_a_read_can_time_out(&listener, pid);
    check_many_come_and_go(&listener, pid);
    check_closing_ends_accepting(&listener);
    drop(listener);
    check_no_agent(pid);
}

#[track_caller]
fn check_no_agent(pid: u32) {
    let error = connect(pid).unwrap_err();
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");
}

#[cfg(unix)]
fn check_served(listener: &Listener) {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt};
    let path = std::path::PathBuf::from(listener.name());
    let facts = std::fs::symlink_metadata(&path).unwrap();
    assert!(facts.file_type().is_socket());
    assert_eq!(facts.permissions().mode() & 0o7777, 0o600);
    let folder = std::fs::symlink_metadata(path.parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o7777, 0o700);
    let again = Listener::bind(process::own_key().unwrap());
    assert!(matches!(again, Err(BindError::Served { .. })), "{again:?}");
    // Whether it is served was asked by connecting, so that connection comes first.
    drop(listener.accept().unwrap());
}

#[cfg(windows)]
fn check_served(listener: &Listener) {
    assert!(listener.name().starts_with(r"\\.\pipe\redial-"));
    let again = Listener::bind(process::own_key().unwrap());
    assert!(matches!(again, Err(BindError::Squatted { .. })), "{again:?}");
}

/// Both ends of a new connection, the agent's first.
fn pair(listener: &Listener, pid: u32) -> (Connection, Connection) {
    std::thread::scope(|scope| {
        let agent = scope.spawn(|| listener.accept().unwrap());
        let controller = connect(pid).unwrap();
        let agent = agent.join().unwrap();
        assert_eq!(agent.peer().pid, Some(pid));
        assert_eq!(controller.peer().pid, Some(pid));
        assert_eq!(agent.peer().user, controller.peer().user);
        (agent, controller)
    })
}

fn next_body(read: &mut ReadHalf, frames: &mut FrameReader) -> Option<Vec<u8>> {
    let mut buffer = [0; 7];
    loop {
        if let Some(body) = frames.next().unwrap() {
            return Some(body);
        }
        match read.read(&mut buffer).unwrap() {
            0 => return None,
            n => frames.push(&buffer[..n]),
        }
    }
}

fn check_questions_are_answered(listener: &Listener, pid: u32) {
    let (agent, controller) = pair(listener, pid);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut read, mut write, _closer) = agent.split();
            let mut frames = FrameReader::new();
            while let Some(body) = next_body(&mut read, &mut frames) {
                if let FromController::Request(request) = FromController::from_body(&body).unwrap() {
                    let reply = Event::Reply { id: request.id, reply: Reply::Done };
                    write.write_all(&FromAgent::Event(reply).to_frame().unwrap()).unwrap();
                }
            }
            assert!(!frames.mid_frame());
        });
        let (mut read, mut write, _closer) = controller.split();
        let hello = ClientHello {
            protocol: PROTOCOL_VERSION,
            program: "redial test".to_owned(),
            version: "0".to_owned(),
            pid,
        };
        write.write_all(&FromController::Hello(hello).to_frame().unwrap()).unwrap();
        let mut frames = FrameReader::new();
        for id in 0..100 {
            let request = FromController::Request(Request { id, command: Command::Ping });
            write.write_all(&request.to_frame().unwrap()).unwrap();
            let body = next_body(&mut read, &mut frames).unwrap();
            let expected = FromAgent::Event(Event::Reply { id, reply: Reply::Done });
            assert_eq!(FromAgent::from_body(&body).unwrap(), expected);
        }
        // Dropping all of it ends the agent's loop.
    });
}

fn check_what_was_written_is_read_after_closing(listener: &Listener, pid: u32) {
    let (agent, controller) = pair(listener, pid);
    let (_agent_read, mut write, closer) = agent.split();
    write.write_all(b"goodbye").unwrap();
    closer.close();
    closer.close();
    let (mut read, ..) = controller.split();
    let mut all = Vec::new();
    read.read_to_end(&mut all).unwrap();
    assert_eq!(all, b"goodbye");
}

fn check_closing_ends_both_sides(listener: &Listener, pid: u32) {
    let (agent, controller) = pair(listener, pid);
    let (mut agent_read, mut agent_write, _agent_closer) = agent.split();
    let (mut read, mut write, closer) = controller.split();
    std::thread::scope(|scope| {
        let reading = scope.spawn(move || {
            let ended = read.read(&mut [0; 8]).unwrap();
            (read, ended)
        });
        // The agent does not read, so this cannot end by itself.
        let writing = scope.spawn(move || {
            let ended = write.write_all(&vec![0; FLOOD]);
            (write, ended.is_err())
        });
        // One byte has been written once it can be read here.
        assert_eq!(agent_read.read(&mut [0; 1]).unwrap(), 1);
        closer.close();
        let (mut read, ended) = reading.join().unwrap();
        assert_eq!(ended, 0);
        assert_eq!(read.read(&mut [0; 8]).unwrap(), 0);
        let (mut write, failed) = writing.join().unwrap();
        assert!(failed);
        assert!(write.write(b"x").is_err());
    });
    // The agent reads what had arrived, then the end; and can write no more.
    let mut rest = Vec::new();
    agent_read.read_to_end(&mut rest).unwrap();
    assert!(rest.len() < FLOOD);
    assert!(agent_write.write_all(b"x").is_err());
}

fn check_a_read_can_time_out(listener: &Listener, pid: u32) {
    let (agent, controller) = pair(listener, pid);
    let (mut read, ..) = controller.split();
    read.set_timeout(Some(Duration::from_millis(20))).unwrap();
    assert_eq!(read.read(&mut [0; 8]).unwrap_err().kind(), ErrorKind::TimedOut);
    assert!(read.set_timeout(Some(Duration::ZERO)).is_err());
    read.set_timeout(None).unwrap();
    let (_agent_read, mut write, _closer) = agent.split();
    write.write_all(b"late").unwrap();
    let mut buffer = [0; 4];
    read.read_exact(&mut buffer).unwrap();
    assert_eq!(&buffer, b"late");
}

fn check_many_come_and_go(listener: &Listener, pid: u32) {
    for _ in 0..200 {
        drop(pair(listener, pid));
    }
    let pairs: Vec<_> = (0..20).map(|_| pair(listener, pid)).collect();
    drop(pairs);
}

fn check_closing_ends_accepting(listener: &Listener) {
    std::thread::scope(|scope| {
        let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| listener.accept())).collect();
        listener.close();
        for thread in waiting {
            assert!(matches!(thread.join().unwrap(), Err(AcceptError::Closed)));
        }
        assert!(matches!(listener.accept(), Err(AcceptError::Closed)));
    });
}
