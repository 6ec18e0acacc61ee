//! Texts of an agent arrive without characters that a terminal or a file would act on.

use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::catalogue::{MethodPage, StringColumn};
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::ids::{ModuleKey, ProcessKey};
use redial_protocol::message::{Event, Request, WireCommand};
use redial_protocol::packet::{AgentPacket, ControllerPacket};
use redial_protocol::peer_text::MAX_TEXT;

const HOSTILE: &str = "a\u{1b}]0;b\u{7}\n\u{202e}\u{9b}2Jé";
const CLEANED: &str = "a?]0;b???????2Jé";

/// Returns the packet as the other side reads it.
fn received(packet: &AgentPacket) -> AgentPacket {
    let frame = packet.to_frame().expect("a frame");
    AgentPacket::from_body(&frame[4..]).expect("a body")
}

fn column(texts: &[&str]) -> StringColumn {
    let mut column = StringColumn::default();
    assert!(texts.iter().all(|text| column.push(text)));
    column
}

#[test]
fn events_are_cleaned_and_columns_keep_their_offsets() {
    let long = "n".repeat(2 * MAX_TEXT);
    let page = MethodPage {
        modules: vec![ModuleKey { module_id: 1, generation: 1 }],
        name: column(&[HOSTILE, "Add", &long]),
        ..MethodPage::default()
    };
    let AgentPacket::Event(Event::Methods { page, .. }) =
        received(&AgentPacket::Event(Event::Methods { id: 1, page }))
    else {
        panic!("another event");
    };
    let names = &page.name;
    assert_eq!((names.get(0), names.get(1)), (Some(CLEANED), Some("Add")));
    assert_eq!(names.get(2).map(str::len), Some(MAX_TEXT));
}

#[test]
fn facts_are_cleaned() {
    let facts = AgentFacts {
        protocol: PROTOCOL_VERSION,
        agent_version: HOSTILE.into(),
        process: ProcessKey { pid: 1, start: 1 },
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: HOSTILE.into(),
        levels: Vec::new(),
        holder: None,
        live: 0,
        kept: 0,
        held: 0,
        clr_kept_bytes: 0,
    };
    let AgentPacket::Hello(facts) = received(&AgentPacket::Hello(facts)) else { panic!("another packet") };
    assert_eq!((facts.agent_version.as_str(), facts.runtime_version.as_str()), (CLEANED, CLEANED));
}

/// An agent matches patterns as they are.
#[test]
fn requests_are_exact() {
    let command = WireCommand::Status { pattern: Some(HOSTILE.into()) };
    let frame = ControllerPacket::Request(Request { id: 1, command: command.clone() }).to_frame();
    let frame = frame.expect("a frame");
    let ControllerPacket::Request(request) = ControllerPacket::from_body(&frame[4..]).expect("a body") else {
        panic!("another packet");
    };
    assert_eq!(request.command, command);
}
