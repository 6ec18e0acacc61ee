//! The `redial` program. All code is in the library, so that tests can open the window without a screen.

fn main() {
    std::process::exit(redial::main());
}
