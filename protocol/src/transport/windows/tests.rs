//! Attacks on both ends. `testbed/tests/pipes.rs` reads the access list back; Wine does not enforce it.

use super::client::connect;
use super::listener::Listener;
use crate::endpoint;
use crate::ids::ProcessKey;
use crate::process::{self, ProcessError};
use crate::transport::{AcceptError, BindError, ConnectError};
use interprocess::os::windows::named_pipe::{PipeListener, PipeListenerOptions, pipe_mode::Bytes};
use std::process::{Command, Stdio};

fn squat(process: ProcessKey) -> PipeListener<Bytes, Bytes> {
    PipeListenerOptions::new().path(endpoint::pipe_name(process)).create_duplex().unwrap()
}

#[test]
fn refuses_a_server_in_another_process() {
    // Waits for input, which ends with the test.
    let mut child = Command::new("cmd").args(["/c", "pause"]).stdin(Stdio::piped()).spawn().unwrap();
    let squatter = squat(process::key_of(child.id()).unwrap());
    let error = connect(child.id()).unwrap_err();
    assert!(matches!(error, ConnectError::WrongServer { .. }), "{error}");
    assert!(error.to_string().ends_with(&format!("is served by process {}", std::process::id())), "{error}");
    drop(squatter);
    let error = connect(child.id()).unwrap_err();
    assert!(matches!(error, ConnectError::NoAgent { .. }), "{error}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn refuses_a_squatted_name() {
    let me = process::own_key().unwrap();
    // Another name than this process's own, so that this test can run beside the one of the endpoint.
    let other = ProcessKey { start: me.start + 1, ..me };
    let squatter = squat(other);
    let error = Listener::bind(other).unwrap_err();
    assert!(matches!(error, BindError::Squatted { .. }), "{error}");
    drop(squatter);
    drop(Listener::bind(other).unwrap());
}

#[test]
fn ends_of_a_listener_remove_a_name_that_nobody_serves() {
    let me = process::own_key().unwrap();
    let other = ProcessKey { start: me.start + 2, ..me };
    for end in [Listener::unlink, Listener::close] {
        let listener = Listener::bind(other).unwrap();
        end(&listener);
        drop(Listener::bind(other).unwrap());
        assert!(matches!(listener.accept(), Err(AcceptError::Closed)));
        end(&listener);
    }
}

#[test]
fn last_thread_that_accepts_removes_the_name() {
    let me = process::own_key().unwrap();
    let other = ProcessKey { start: me.start + 3, ..me };
    let listener = Listener::bind(other).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| assert!(matches!(listener.accept(), Err(AcceptError::Closed))));
        }
        listener.close();
    });
    drop(Listener::bind(other).unwrap());
}

#[test]
fn identifies_processes_by_creation_time_and_owner() {
    let me = process::own_key().unwrap();
    assert_eq!(me.pid, std::process::id());
    assert!(me.start > 0);
    assert_eq!(process::key_of(me.pid).unwrap(), me);
    assert!(process::owner_of(me.pid).unwrap().sid.starts_with("S-1-5-"));
    // Pids are multiples of four.
    let nobody = u32::MAX - 3;
    assert!(matches!(process::key_of(nobody), Err(ProcessError::NoSuchProcess { .. })));
    assert!(matches!(connect(nobody), Err(ConnectError::NoSuchProcess { .. })));
}

#[test]
fn an_ended_process_with_an_open_handle_is_gone() {
    let mut child = Command::new("cmd").args(["/c", "exit 3"]).spawn().unwrap();
    child.wait().unwrap();
    let gone = process::key_of(child.id());
    assert!(matches!(gone, Err(ProcessError::NoSuchProcess { .. })), "{gone:?}");
}

#[test]
fn enabling_the_debug_privilege_is_idempotent() {
    // Both calls return the same, and this process can still be inspected.
    assert_eq!(process::enable_debug_privilege(), process::enable_debug_privilege());
    assert!(process::owner_of(std::process::id()).is_ok());
}
