//! The `redial` program.
fn main() {}
