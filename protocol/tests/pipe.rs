//! Both ends of this process's own endpoint, used as an agent and a controller would. There is only one test,
//! because a process has one endpoint.

use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::ClientHello;
use redial_protocol::message::{Event, Reply, Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::transport::{
    AcceptError, BindError, ConnectError, Connection, Listener, ReadHalf, connect,
};
use redial_protocol::{PROTOCOL_VERSION, process};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

/// More bytes than any system buffers for a peer that does not read.
const FLOOD: usize = 8 << 20;

#[test]
fn endpoint_works_from_bind_to_close() {
    let pid = std::process::id();
    check_no_agent(pid);
    let listener = Listener::bind(process::own_key().unwrap()).unwrap();
    check_served(&listener);
    check_requests_are_answered(&listener, pid);
    check_written_bytes_are_readable_after_closing(&listener, pid);
    check_hang_ups_show_without_reading(&listener, pid);
    check_closing_ends_both_sides(&listener, pid);
    check_a_read_can_time_out(&listener, pid);
    check_many_connections(&listener, pid);
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
    let metadata = std::fs::symlink_metadata(&path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
    let folder = std::fs::symlink_metadata(path.parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o7777, 0o700);
    let second = Listener::bind(process::own_key().unwrap());
    assert!(matches!(second, Err(BindError::Served { .. })), "{second:?}");
    // Binding again connected to check whether the socket is served; that connection comes first.
    drop(listener.accept().unwrap());
}

#[cfg(windows)]
fn check_served(listener: &Listener) {
    assert!(listener.name().starts_with(r"\\.\pipe\redial-"));
    let second = Listener::bind(process::own_key().unwrap());
    assert!(matches!(second, Err(BindError::Squatted { .. })), "{second:?}");
}

/// Returns both ends of a new connection, the agent's first.
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

fn check_requests_are_answered(listener: &Listener, pid: u32) {
    let (agent, controller) = pair(listener, pid);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let (mut read, mut write, _closer) = agent.split();
            let mut frames = FrameReader::new();
            while let Some(body) = next_body(&mut read, &mut frames) {
                if let ControllerPacket::Request(request) = ControllerPacket::from_body(&body).unwrap() {
                    let reply = Event::Reply { id: request.id, reply: Reply::Done };
                    write.write_all(&AgentPacket::Event(reply).to_frame().unwrap()).unwrap();
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
        write.write_all(&ControllerPacket::Hello(hello).to_frame().unwrap()).unwrap();
        let mut frames = FrameReader::new();
        for id in 0..100 {
            let request = ControllerPacket::Request(Request { id, command: WireCommand::Ping });
            write.write_all(&request.to_frame().unwrap()).unwrap();
            let body = next_body(&mut read, &mut frames).unwrap();
            let expected = AgentPacket::Event(Event::Reply { id, reply: Reply::Done });
            assert_eq!(AgentPacket::from_body(&body).unwrap(), expected);
        }
        // Dropping both halves ends the agent's loop.
    });
}

fn check_written_bytes_are_readable_after_closing(listener: &Listener, pid: u32) {
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

/// Bytes that were written before do not hide that the peer has gone.
fn check_hang_ups_show_without_reading(listener: &Listener, pid: u32) {
    let (agent, controller) = pair(listener, pid);
    let (_agent_read, _agent_write, agent_closer) = agent.split();
    let (read, mut write, closer) = controller.split();
    assert!(!agent_closer.is_hung_up());
    write.write_all(b"before").unwrap();
    assert!(!agent_closer.is_hung_up());
    drop((read, write));
    assert!(!agent_closer.is_hung_up(), "one part of it is still there");
    drop(closer);
    assert!(agent_closer.is_hung_up());
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
        // The agent does not read, so this cannot complete.
        let writing = scope.spawn(move || {
            let ended = write.write_all(&vec![0; FLOOD]);
            (write, ended.is_err())
        });
        // A byte that can be read here has been written.
        assert_eq!(agent_read.read(&mut [0; 1]).unwrap(), 1);
        closer.close();
        let (mut read, ended) = reading.join().unwrap();
        assert_eq!(ended, 0);
        assert_eq!(read.read(&mut [0; 8]).unwrap(), 0);
        let (mut write, failed) = writing.join().unwrap();
        assert!(failed);
        assert!(write.write(b"x").is_err());
    });
    // The agent reads the bytes that had arrived, then the end, and can no longer write.
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

fn check_many_connections(listener: &Listener, pid: u32) {
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
