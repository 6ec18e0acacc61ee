//! The endpoint of this very process: two ends, both checked, as an agent and a controller would use them.
#![cfg(unix)]

use redial_protocol::frame::FrameReader;
use redial_protocol::frozen::ClientHello;
use redial_protocol::message::{Command, Event, Reply, Request};
use redial_protocol::packet::{FromAgent, FromController};
use redial_protocol::transport::{AcceptError, BindError, ConnectError, Listener, connect};
use redial_protocol::{PROTOCOL_VERSION, process};
use std::io::{Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

#[test]
fn an_endpoint_is_found_checked_used_and_taken_away() {
    let pid = std::process::id();
    let error = connect(pid).unwrap_err();
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");

    let listener = Listener::bind(process::own_key().unwrap()).unwrap();
    let path = std::path::PathBuf::from(listener.name());
    let facts = std::fs::symlink_metadata(&path).unwrap();
    assert!(facts.file_type().is_socket());
    assert_eq!(facts.permissions().mode() & 0o7777, 0o600);
    let folder = std::fs::symlink_metadata(path.parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o7777, 0o700);
    assert!(matches!(Listener::bind(process::own_key().unwrap()), Err(BindError::Served { .. })));
    // That question came as a connection, which ended at once; so the listener sees it first.
    drop(listener.accept().unwrap());

    std::thread::scope(|scope| {
        scope.spawn(|| {
            let connection = listener.accept().unwrap();
            assert_eq!(connection.peer().pid, Some(pid));
            let (mut read, mut write, _closer) = connection.split();
            let (mut frames, mut buffer) = (FrameReader::new(), [0; 7]);
            while let Ok(n @ 1..) = read.read(&mut buffer) {
                frames.push(&buffer[..n]);
                while let Some(body) = frames.next().unwrap() {
                    if let FromController::Request(request) = FromController::from_body(&body).unwrap() {
                        let reply = Event::Reply { id: request.id, reply: Reply::Done };
                        write.write_all(&FromAgent::Event(reply).to_frame().unwrap()).unwrap();
                    }
                }
            }
            assert!(!frames.mid_frame());
        });
        let connection = connect(pid).unwrap();
        assert_eq!(connection.peer().pid, Some(pid));
        let (mut read, mut write, closer) = connection.split();
        let hello = ClientHello {
            protocol: PROTOCOL_VERSION,
            program: "redial test".to_owned(),
            version: "0".to_owned(),
            pid,
        };
        write.write_all(&FromController::Hello(hello).to_frame().unwrap()).unwrap();
        let request = FromController::Request(Request { id: 7, command: Command::Ping });
        write.write_all(&request.to_frame().unwrap()).unwrap();
        let (mut frames, mut buffer) = (FrameReader::new(), [0; 64]);
        let body = loop {
            let n = read.read(&mut buffer).unwrap();
            assert_ne!(n, 0);
            frames.push(&buffer[..n]);
            if let Some(body) = frames.next().unwrap() {
                break body;
            }
        };
        let expected = FromAgent::Event(Event::Reply { id: 7, reply: Reply::Done });
        assert_eq!(FromAgent::from_body(&body).unwrap(), expected);

        // A waiting read ends when another thread closes, and so does the agent's.
        let waiting = scope.spawn(move || read.read(&mut [0; 8]).unwrap());
        closer.close();
        assert_eq!(waiting.join().unwrap(), 0);
        assert!(write.write(b"x").is_err());
    });

    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| listener.accept());
        listener.close();
        assert!(matches!(waiting.join().unwrap(), Err(AcceptError::Closed)));
        assert!(matches!(listener.accept(), Err(AcceptError::Closed)));
    });
    assert!(!path.exists());
    assert!(matches!(connect(pid), Err(ConnectError::NoAgent { .. })));
}
