//! The `redial` program: the command line, which opens the window if it gets no command.

fn main() {
    std::process::exit(redial_cli::main(redial_window::open));
}
