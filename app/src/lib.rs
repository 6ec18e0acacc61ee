//! The `redial` program as a library: turns instrumentation dials on the methods of live .NET processes.
//!
//! Modules form layers. A module uses only modules of lower layers, and no two files use each other:
//!
//! | layer | modules | subject |
//! |---|---|---|
//! | 0 | `exit`, `parallel`, `settings`, `signals`, `text` | exit codes, threads, remembered settings, Ctrl-C, wording |
//! | 1 | `model`, `stderr` | pure state of processes, methods and changes, without I/O; sentences on stderr |
//! | 2 | `link` | processes, connections to agents, launches |
//! | 3 | `output`, `setup` | tables and JSON; recipes to start programs with the agent |
//! | 4 | `cli`, `ui` | the command line; themes and widgets |
//! | 5 | `commands` | the window's commands |
//! | 6 | `views` | the parts of the window |
//! | 7 | `desktop` | the window's loop |

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
pub mod text;
mod ui;
mod views;

/// Runs the program with its arguments and returns the exit code.
pub fn main() -> i32 {
    cli::main(desktop::open)
}
