//! Every message as a packet, by name.

use super::*;

/// Returns every message of a controller, by name.
pub fn controller_packets() -> Vec<(String, ControllerPacket)> {
    let mut all = vec![
        ("hello".to_owned(), ControllerPacket::Hello(client_hello())),
        ("status".to_owned(), ControllerPacket::Status),
        ("all_off".to_owned(), ControllerPacket::AllOff),
    ];
    for command in commands() {
        let name = format!("request.{}", command_name(&command));
        all.push((name, ControllerPacket::Request(Request { id: 0x1_0203, command })));
    }
    all
}

/// Returns every message of an agent, by name.
pub fn agent_packets() -> Vec<(String, AgentPacket)> {
    let mut all = vec![
        ("hello".to_owned(), AgentPacket::Hello(agent_facts())),
        ("status".to_owned(), AgentPacket::Status(AgentFacts { holder: None, ..agent_facts() })),
        ("all_off_done".to_owned(), AgentPacket::AllOffDone { reverted: 200, remaining: 1, change: 3 }),
        ("version_refused".to_owned(), AgentPacket::version_refused("0.1.0", &client_hello())),
    ];
    for event in events() {
        all.push((format!("event.{}", event_name(&event)), AgentPacket::Event(event)));
    }
    let mut replies = replies();
    replies.extend(refusals().into_iter().map(Reply::Refused));
    for reply in replies {
        let name = match &reply {
            Reply::Refused(refusal) => format!("reply.Refused.{}", refusal_name(refusal)),
            other => format!("reply.{}", reply_name(other)),
        };
        all.push((name, AgentPacket::Event(Event::Reply { id: 0x1_0203, reply })));
    }
    all
}
