//! Golden bytes: the layout of every message, committed, so that none changes by accident.
//!
//! `REDIAL_BLESS=1 cargo test -p redial-protocol --test golden` writes them anew. For the frozen kinds (hello,
//! status, all_off, all_off_done, version_refused) that must only ever append bytes.

mod samples;

use redial_protocol::packet::{FromAgent, FromController, PacketError};
use redial_protocol::reason::Reason;
use std::collections::BTreeSet;
use std::fmt::{Debug, Write};
use std::path::PathBuf;

/// Bytes of the length prefix, which a body does not hold.
const PREFIX: usize = 4;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// A file: the message in words as comments, then its body in hexadecimal, sixteen bytes a line.
fn written(message: &impl Debug, body: &[u8]) -> String {
    let mut text = String::new();
    for line in format!("{message:#?}").lines() {
        writeln!(text, "# {line}").unwrap();
    }
    for line in body.chunks(16) {
        let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(text, "{}", bytes.join(" ")).unwrap();
    }
    text
}

fn read(text: &str) -> Vec<u8> {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_ascii_whitespace)
        .map(|byte| u8::from_str_radix(byte, 16).unwrap())
        .collect()
}

/// Every message with its file's name, its text and its body.
fn all() -> Vec<(String, String, Vec<u8>)> {
    let controllers = samples::from_controller().into_iter().map(|(name, message)| {
        let body = message.to_frame().unwrap()[PREFIX..].to_vec();
        assert_eq!(FromController::from_body(&body).unwrap(), message, "{name}");
        (format!("controller.{name}.hex"), written(&message, &body), body)
    });
    let agents = samples::from_agent().into_iter().map(|(name, message)| {
        let body = message.to_frame().unwrap()[PREFIX..].to_vec();
        assert_eq!(FromAgent::from_body(&body).unwrap(), message, "{name}");
        (format!("agent.{name}.hex"), written(&message, &body), body)
    });
    controllers.chain(agents).collect()
}

#[test]
fn every_message_has_its_golden_bytes() {
    let all = all();
    if std::env::var_os("REDIAL_BLESS").is_some() {
        for (file, text, _) in &all {
            std::fs::write(folder().join(file), text).unwrap();
        }
    }
    for (file, text, body) in &all {
        let golden = std::fs::read_to_string(folder().join(file)).unwrap_or_default().replace("\r\n", "\n");
        assert_eq!(&read(&golden), body, "the layout of {file} changed");
        assert_eq!(&golden, text, "the words of {file} changed");
    }
    let expected: BTreeSet<&str> = all.iter().map(|(file, ..)| file.as_str()).collect();
    let found: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(
        found.iter().map(String::as_str).collect::<BTreeSet<_>>(),
        expected,
        "files without a message"
    );
}

#[test]
fn every_variant_is_among_the_samples() {
    #[track_caller]
    fn check<T>(values: &[T], name: fn(&T) -> &'static str, names: &[&'static str], but: &[&'static str]) {
        let found: BTreeSet<&str> = values.iter().map(name).chain(but.iter().copied()).collect();
        assert_eq!(found, names.iter().copied().collect());
    }
    check(&samples::commands(), samples::command_name, samples::COMMANDS, &[]);
    check(&samples::refusals(), samples::refusal_name, samples::REFUSALS, &[]);
    check(&samples::replies(), samples::reply_name, samples::REPLIES, &["Refused"]);
    check(&samples::events(), samples::event_name, samples::EVENTS, &["Reply"]);
    let controllers: Vec<FromController> =
        samples::from_controller().into_iter().map(|(_, message)| message).collect();
    check(&controllers, samples::from_controller_name, samples::FROM_CONTROLLER, &[]);
    let agents: Vec<FromAgent> = samples::from_agent().into_iter().map(|(_, message)| message).collect();
    check(&agents, samples::from_agent_name, samples::FROM_AGENT, &[]);
    // States and reasons travel inside: each has its own byte in the golden rows and report.
    let states: BTreeSet<&str> = samples::events()
        .iter()
        .filter_map(|event| match event {
            redial_protocol::message::Event::Rows { rows, .. } => Some(rows),
            _ => None,
        })
        .flatten()
        .map(|row| samples::state_name(&row.state))
        .collect();
    assert_eq!(states, samples::STATES.iter().copied().collect());
    let reasons: BTreeSet<String> = Reason::ALL.iter().map(|reason| format!("{reason:?}")).collect();
    assert_eq!(reasons.len(), Reason::ALL.len());
}

/// Files of the frozen kinds.
fn is_frozen(file: &str) -> bool {
    ["hello", "status", "all_off", "all_off_done", "version_refused"]
        .iter()
        .any(|kind| file == format!("controller.{kind}.hex") || file == format!("agent.{kind}.hex"))
}

fn decode(file: &str, body: &[u8]) -> Result<String, PacketError> {
    if file.starts_with("controller") {
        FromController::from_body(body).map(|message| format!("{message:?}"))
    } else {
        FromAgent::from_body(body).map(|message| format!("{message:?}"))
    }
}

#[test]
fn trailing_bytes_are_ignored_in_frozen_messages_and_an_error_elsewhere() {
    let mut frozen = 0;
    for (file, _, body) in all() {
        let longer = [body.as_slice(), b"later fields"].concat();
        if is_frozen(&file) {
            frozen += 1;
            assert_eq!(decode(&file, &longer).unwrap(), decode(&file, &body).unwrap(), "{file}");
        } else {
            let error = decode(&file, &longer).unwrap_err();
            assert_eq!(error.to_string(), "12 bytes follow the end of the message", "{file}");
        }
    }
    assert_eq!(frozen, 7);
}

#[test]
fn every_truncation_is_an_error_and_never_a_panic() {
    for (file, _, body) in all() {
        // That is how long it was before it said the change.
        let grown = (file == "agent.all_off_done.hex").then_some(1 + 2 * 8);
        for length in (0..body.len()).filter(|length| Some(*length) != grown) {
            assert!(decode(&file, &body[..length]).is_err(), "{file} cut to {length} bytes");
        }
    }
}

#[test]
fn every_changed_byte_is_read_or_refused_but_never_a_panic() {
    for (file, _, body) in all() {
        for index in 0..body.len() {
            for byte in [0, 1, 0x7f, 0x80, 0xfb, 0xfc, 0xfd, 0xff] {
                let mut changed = body.clone();
                changed[index] = byte;
                let _ = decode(&file, &changed);
            }
        }
    }
}
