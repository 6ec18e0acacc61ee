//! The `redial` program as a library: turns instrumentation dials on the methods of live .NET processes.
//!
//! `cli` is the command line, `desktop` the window with its `views` and `ui` widgets, and `link` the connection to
//! processes and agents. `model` is pure state and depends on none of the others except `text`, which has shared
//! wording and formats. `output` prints tables, JSON and sentences.

mod cli;
mod commands;
pub mod desktop;
mod exit;
pub mod link;
pub mod model;
mod output;
mod parallel;
mod settings;
mod setup;
mod signals;
mod stderr;
mod text;
mod ui;
mod views;

/// Runs the program with its arguments and returns the exit code.
pub fn main() -> i32 {
    cli::main(desktop::open)
}
