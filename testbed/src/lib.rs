//! Real .NET runtimes, C# programs compiled for them, and host processes under the agent.
//!
//! Owns: which packages the runtimes come from and how they are laid out, the C# compiler, and starting, talking
//! to and ending a test host. Must not know: the agent's or the app's insides; it sees them as built artefacts.

pub mod artefacts;
pub mod cache;
pub mod controller;
pub mod csharp;
pub mod domains;
pub mod everything;
mod fetch;
pub mod fleet;
pub mod frida;
pub mod generate;
pub mod hang;
pub mod host;
mod layout;
pub mod noise;
pub mod packages;
pub mod pe;
pub mod programs;
pub mod runtimes;
pub mod shop;
#[cfg(unix)]
pub mod signals;
pub mod skip;
pub mod soak;
pub mod sources;
pub mod truth;
pub mod under_agent;
mod unpack;
pub mod wine;
