//! What crosses the pipe between Redial's agent (inside the .NET process) and its controllers
//! (the desktop app, the command line), and the rules of who may connect.
//!
//! This crate owns words, layouts and limits. It must not know what a CLR is (that is the agent's),
//! nor what a user sees (that is the app's). Nothing here panics or allocates without bound on any bytes.

pub mod attach;
pub mod callers;
pub mod calls;
pub mod catalogue;
pub mod codec;
pub mod cost;
pub mod counters;
pub mod dialset;
pub mod duration;
pub mod endpoint;
pub mod frame;
pub mod frozen;
pub mod histogram;
pub mod ids;
pub mod il;
pub mod level;
pub mod limits;
pub mod message;
pub mod order;
pub mod packet;
pub mod pattern;
pub mod process;
pub mod reason;
pub mod report;
pub mod state;
pub mod times;
pub mod transport;

/// Version of everything above the frozen layer. Two sides that differ may still exchange Hello, Status and
/// AllOff (see `frozen`); everything else is refused naming both versions.
pub const PROTOCOL_VERSION: u32 = 2;

/// CLSID of the agent's class factory, fixed once for all time: `{5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6C}`.
pub const AGENT_CLSID: &str = "{5A0D91E4-7C3B-4E62-9F18-52D1A17E0B6C}";
