//! Real .NET runtimes, C# programs compiled for them, and host processes with the agent.
//!
//! Owns the packages of the runtimes and their layout, the C# compiler, and the start, conversation and end of
//! a test host. Must not know the insides of agent and app, only the built artefacts.

pub mod artefacts;
#[cfg(target_os = "linux")]
pub mod busy_host;
pub mod cache;
pub mod continuous;
pub mod controller;
pub mod csharp;
#[cfg(target_os = "linux")]
pub mod discarding_server;
pub mod domains;
mod fetch;
pub mod fleet;
pub mod frida;
pub mod generate;
pub mod hang;
pub mod host;
#[cfg(target_os = "linux")]
pub mod hostility;
mod layout;
pub mod load;
#[cfg(target_os = "linux")]
pub mod native;
pub mod noise;
pub mod packages;
pub mod pe;
pub mod perfetto;
#[cfg(windows)]
pub mod pipe;
pub mod prebuilt;
pub mod process_facts;
pub mod programs;
#[cfg(target_os = "linux")]
pub mod resource_limits;
pub mod rng;
pub mod runtimes;
#[cfg(windows)]
pub mod security;
pub mod selftimes;
pub mod shipped_demo;
pub mod shop;
pub mod signals;
pub mod single_file;
pub mod skip;
pub mod soak;
pub mod sources;
pub mod state_counts;
pub mod symbol_versions;
#[cfg(any(target_os = "linux", windows))]
pub mod target_host;
pub mod thrown;
pub mod traced;
pub mod truth;
pub mod under_agent;
mod unpack;
pub mod wine;
