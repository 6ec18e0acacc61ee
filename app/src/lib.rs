//! The `redial` program as a library: turns instrumentation dials on the methods of live .NET processes.
//!
//! `cli` is what a user types and sees, `desktop` the window with its `views` and `ui` widgets, `link` the way to
//! processes and agents, `model` the pure state between them, `output` tables, JSON and sentences. `model` knows none
//! of the others.

mod cli;
mod commands;
pub mod desktop;
mod exit;
pub mod link;
pub mod model;
mod output;
mod persist;
mod setup;
mod signals;
mod ui;
mod views;

pub use cli::main;
