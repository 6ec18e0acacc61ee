//! The `redial` program: turns instrumentation dials on the methods of live .NET processes.
//!
//! `cli` is what a user types and sees, `link` the way to processes and agents, `model` the pure state between
//! them, `output` tables, JSON and sentences. `model` knows neither of the others.

mod cli;
mod exit;
mod link;
mod model;
mod output;
mod signals;

fn main() {
    std::process::exit(cli::main());
}
