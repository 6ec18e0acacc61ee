//! Project tasks: `cargo xtask COMMAND`. One file a command; this one only names them.

mod setup;

use anyhow::Result;
use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Set-up, demo, tests, benchmarks and upkeep of Redial")]
struct Arguments {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Get system packages, tools and the real .NET runtimes
    Setup,
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Task::Setup => setup::run(),
    }
}
