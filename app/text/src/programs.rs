//! Names of controllers, as their users know them.

use super::words;
use redial_protocol::message::Holder;

/// The name under which the window introduces itself to agents. JSON contains it.
pub const WINDOW: &str = "redial app";

/// Returns the usual name of a program, on one line: `redial dial`, `the Redial window`.
pub fn title(program: &str) -> String {
    if program == WINDOW { "the Redial window".to_owned() } else { words::one_line(program) }
}

/// Names a controller and its process: `redial dial (pid 7)`.
pub fn controller(holder: &Holder) -> String {
    format!("{} (pid {})", title(&holder.program), holder.pid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_window_as_its_users_do() {
        let named = |program: &str| controller(&Holder { pid: 7, program: program.into() });
        assert_eq!(named("redial dial"), "redial dial (pid 7)");
        assert_eq!(named(WINDOW), "the Redial window (pid 7)");
        assert_eq!(title("a\nb"), "a b");
    }
}
