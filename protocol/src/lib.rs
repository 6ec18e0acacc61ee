//! Wire protocol between Redial's agent (inside the .NET process) and its controllers (the window and the
//! command line), and the rules that decide which user may connect.
//!
//! This crate owns messages, layouts and limits. It must not know about the CLR (the agent's concern) or about
//! user interfaces (the app's concern). No input makes it panic or allocate without bound.

pub mod agent_status;
pub mod attach;
pub mod callers;
pub mod catalogue;
pub mod codec;
pub mod condition;
pub mod cost;
pub mod counters;
pub mod diagnostics;
pub mod dialset;
pub mod duration;
pub mod endpoint;
pub mod exceptions;
pub mod frame;
pub mod frozen;
pub mod histogram;
pub mod holder;
pub mod hresult;
pub mod ids;
pub mod il;
pub mod level;
pub mod limits;
pub mod message;
pub mod order;
pub mod packet;
pub mod pattern;
pub mod peer_text;
pub mod process;
pub mod reason;
pub mod report;
pub mod slowest_calls;
pub mod state;
pub mod times;
pub mod trace;
pub mod transport;
pub mod unreachable_note;

/// Version of everything above the frozen layer. Peers with different versions can still exchange Hello, Status
/// and AllOff (see `frozen`). The agent refuses everything else and names both versions.
pub const PROTOCOL_VERSION: u32 = 5;

/// The oldest protocol that a controller of this version drives. As soon as a package has been published, this is the
/// version before [`PROTOCOL_VERSION`] (docs/design/wire-protocol.md, "Versions").
pub const OLDEST_DRIVEN: u32 = PROTOCOL_VERSION;

/// Returns whether a controller of this version drives agents of a protocol, beyond the frozen layer.
pub const fn drives(protocol: u32) -> bool {
    OLDEST_DRIVEN <= protocol && protocol <= PROTOCOL_VERSION
}

/// CLSID of the agent's class factory. It never changes.
pub const AGENT_CLSID: &str = "{5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6C}";
