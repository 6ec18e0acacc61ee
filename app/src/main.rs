//! The `redial` program: the command line, which opens the window if it gets no command.

/// The answer to `redial --version`, after the program's name. `build.rs` sets commit and target.
const VERSION: &str =
    concat!(env!("CARGO_PKG_VERSION"), " (commit ", env!("REDIAL_COMMIT"), ", ", env!("REDIAL_TARGET"), ")");

fn main() {
    std::process::exit(redial_cli::main(VERSION, redial_window::open));
}
