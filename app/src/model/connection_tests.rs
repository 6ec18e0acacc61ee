//! Tests.

use redial_protocol::PROTOCOL_VERSION;
use redial_protocol::frozen::{AgentFacts, RuntimeKind};
use redial_protocol::ids::ProcessKey;
use redial_protocol::level::Level;

/// What an agent of this version says of itself.
pub fn facts() -> AgentFacts {
    AgentFacts {
        protocol: PROTOCOL_VERSION,
        agent_version: "0.1.0".into(),
        process: ProcessKey { pid: 7, start: 1 },
        runtime_kind: RuntimeKind::CoreClr,
        runtime_version: "8.0.31".into(),
        levels: vec![Level::Off, Level::Count],
        holder: None,
        live: 0,
        kept: 0,
        held: 0,
        clr_kept_bytes: 0,
    }
}
