//! Tests of the frozen layer with hand-written bytes, which must never change and must always be readable.

use redial_protocol::frozen::{AgentFacts, ClientHello, FrozenError, RuntimeKind};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;
use redial_protocol::limits::MAX_WORD;
use redial_protocol::message::Holder;
use redial_protocol::packet::{AgentPacket, ControllerPacket, PacketError};

const CLIENT_HELLO: &[u8] = b"\x01\x07\0\0\0\x03\0abc\x01\0x\x04\x03\x02\x01";

const AGENT_HELLO: &[u8] = b"\x81\x07\0\0\0\x01\0v\x05\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x01\x03\x004.8\
    \x03\0\x01\x09\x01\x2a\0\0\0\x01\0p\
    \x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0";

const VERSION_REFUSED: &[u8] = b"\x84\x07\0\0\0\x01\0v\x02\0no";

const ALL_OFF_DONE: &[u8] = b"\x83\xc8\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0";

fn client_hello() -> ClientHello {
    ClientHello { protocol: 7, program: "abc".into(), version: "x".into(), pid: 0x0102_0304 }
}

fn agent_facts() -> AgentFacts {
    AgentFacts {
        protocol: 7,
        agent_version: "v".into(),
        process: ProcessKey { pid: 5, start: 0x0102_0304_0506_0708 },
        runtime_kind: RuntimeKind::Framework,
        runtime_version: "4.8".into(),
        // The level 9 in the bytes is unknown to this version.
        levels: vec![Level::Off, Level::Count],
        holder: Some(Holder { pid: 42, program: "p".into() }),
        live: 1,
        kept: 2,
        held: 3,
        clr_kept_bytes: 4,
    }
}

#[test]
fn reads_hand_written_bytes() {
    assert_eq!(ControllerPacket::from_body(CLIENT_HELLO).unwrap(), ControllerPacket::Hello(client_hello()));
    assert_eq!(ControllerPacket::from_body(b"\x02").unwrap(), ControllerPacket::Status);
    assert_eq!(ControllerPacket::from_body(b"\x03").unwrap(), ControllerPacket::AllOff);
    assert_eq!(AgentPacket::from_body(AGENT_HELLO).unwrap(), AgentPacket::Hello(agent_facts()));
    let status = [b"\x82", &AGENT_HELLO[1..]].concat();
    assert_eq!(AgentPacket::from_body(&status).unwrap(), AgentPacket::Status(agent_facts()));
    assert_eq!(
        AgentPacket::from_body(ALL_OFF_DONE).unwrap(),
        AgentPacket::AllOffDone { reverted: 200, remaining: 1, change: 0 }
    );
    let refused =
        AgentPacket::VersionRefused { agent_protocol: 7, agent_version: "v".into(), message: "no".into() };
    assert_eq!(AgentPacket::from_body(VERSION_REFUSED).unwrap(), refused);
}

#[test]
fn frozen_frames_are_length_and_body() {
    let frame = ControllerPacket::Hello(client_hello()).to_frame().unwrap();
    assert_eq!(frame, [&[CLIENT_HELLO.len() as u8, 0, 0, 0], CLIENT_HELLO].concat());
    assert_eq!(ControllerPacket::AllOff.to_frame().unwrap(), [1, 0, 0, 0, 3]);
}

#[test]
fn version_refusal_names_both_versions() {
    let refused = AgentPacket::version_refused("0.1.0", &ClientHello { protocol: 99, ..client_hello() });
    let AgentPacket::VersionRefused { agent_protocol, message, .. } = &refused else { unreachable!() };
    assert_eq!(*agent_protocol, redial_protocol::PROTOCOL_VERSION);
    assert_eq!(
        message,
        "abc x speaks protocol 99, but the agent in this process is version 0.1.0 and speaks protocol 5; \
         between them only hello, status and off work"
    );
    let frame = refused.to_frame().unwrap();
    assert_eq!(AgentPacket::from_body(&frame[4..]).unwrap(), refused);
}

#[test]
fn recognises_requests_of_any_version_without_decoding() {
    assert!(ControllerPacket::is_request(b"\x10anything"));
    assert!(!ControllerPacket::is_request(b"\x01"));
    assert!(!ControllerPacket::is_request(b""));
}

#[test]
fn long_words_are_cut_at_a_character() {
    // The limit is in the middle of a two-byte character.
    let program = "é".repeat(MAX_WORD / 2 - 1) + "xéé";
    let hello = ControllerPacket::Hello(ClientHello { program: program.clone(), ..client_hello() });
    let frame = hello.to_frame().unwrap();
    let ControllerPacket::Hello(read) = ControllerPacket::from_body(&frame[4..]).unwrap() else {
        unreachable!()
    };
    assert_eq!(read.program, program[..MAX_WORD - 1]);
    assert_eq!(read.pid, client_hello().pid);
}

#[test]
fn wrong_bytes_are_refused_with_a_sentence() {
    let body = |rest: &[u8]| [b"\x01\x07\0\0\0", rest].concat();
    for (bytes, expected) in [
        (b"".to_vec(), "the body is empty"),
        (b"\x7f".to_vec(), "a body of the unknown kind 0x7f"),
        (b"\x81".to_vec(), "a body of the unknown kind 0x81"),
        (b"\x01\x07\0\0".to_vec(), "the message ends inside its field 'protocol'"),
        (body(b"\x04\0abc"), "the message ends inside its field 'program'"),
        (body(b"\x01\x01abc"), "the field 'program' is 257 bytes long; the limit is 256 bytes"),
        (body(b"\xff\xff"), "the field 'program' is 65535 bytes long; the limit is 256 bytes"),
        (body(b"\x02\0\xc3\x28\0\0"), "the field 'program' is not valid UTF-8"),
        (body(b"\x01\0a\x01\0b\x01\0\0"), "the message ends inside its field 'pid'"),
    ] {
        assert_eq!(ControllerPacket::from_body(&bytes).unwrap_err().to_string(), expected);
    }
    let mut presence = AGENT_HELLO.to_vec();
    let at = AGENT_HELLO.len() - 32 - 3 - 4 - 1;
    assert_eq!(presence[at], 1);
    presence[at] = 2;
    let error = AgentPacket::from_body(&presence).unwrap_err();
    assert_eq!(error, PacketError::Frozen(FrozenError::BadPresence { field: "holder", byte: 2 }));
}

#[test]
fn unknown_runtime_kinds_pass_through() {
    for byte in 0..=u8::MAX {
        assert_eq!(RuntimeKind::from_byte(byte).byte(), byte);
    }
}
