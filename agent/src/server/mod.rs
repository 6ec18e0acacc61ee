//! The agent's side of the connection: the listener and its sessions. Sessions run on their own threads; only
//! `Server::wait_for_watchers` runs on a thread of the host, within a bound.
#![forbid(unsafe_code)]

mod call_stream;
mod callers;
mod changes;
mod command_work;
mod commands;
mod connection;
pub mod endpoint;
mod exception_stream;
mod exception_types;
mod histogram;
mod il;
mod listener;
mod method_pages;
mod outbox;
mod outbox_memory;
mod pending_changes;
mod quota;
mod request_pace;
mod rows;
mod session;
mod shared;
mod slowest_calls;
mod subscription;
mod times;
mod traced_calls;
mod watched_times;

pub use listener::listen;
pub use shared::Server;
