//! Exit codes, and failures with their exit code and message.

use std::fmt;

/// The result of a command for scripts. `run` uses its own scheme: the child's code, or 125 to 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Failed, or everything was refused.
    Failed = 1,
    /// Wrong usage or a bad pattern.
    Usage = 2,
    /// The process does not exist, has ended, or cannot be dialled.
    NoProcess = 3,
    /// The agent is missing or not loaded.
    NoAgent = 4,
    /// Another controller has control.
    ControlHeld = 5,
    /// Nothing matched.
    NothingMatched = 6,
    /// Partly done; refusals are listed.
    Partly = 7,
}

/// Exit code of `run` for its own failures, as `env` and `timeout` use it.
pub const RUN_FAILED: i32 = 125;
/// Exit code of `run` for a command that exists but cannot be executed.
pub const RUN_NOT_EXECUTABLE: i32 = 126;
/// Exit code of `run` for a command that does not exist.
pub const RUN_NOT_FOUND: i32 = 127;

impl Exit {
    /// Returns the process exit code.
    pub fn code(self) -> i32 {
        i32::from(self as u8)
    }
}

/// The reason that a command stopped early.
#[derive(Debug)]
pub enum Failure {
    /// The reader of stdout went away: a quiet end, not an error.
    ClosedPipe,
    /// A message for stderr, without `redial: ` and final period, and its exit code.
    Sentence {
        /// The exit code.
        exit: Exit,
        /// The message.
        text: String,
    },
}

impl Failure {
    /// Makes a failure with its exit code and message.
    pub fn new(exit: Exit, text: impl Into<String>) -> Self {
        Failure::Sentence { exit, text: text.into() }
    }

    /// Returns the exit code.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::ClosedPipe => Exit::Done,
            Failure::Sentence { exit, .. } => *exit,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::ClosedPipe => f.write_str("the output was closed"),
            Failure::Sentence { text, .. } => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_match_the_documentation() {
        let codes = [
            Exit::Done,
            Exit::Failed,
            Exit::Usage,
            Exit::NoProcess,
            Exit::NoAgent,
            Exit::ControlHeld,
            Exit::NothingMatched,
            Exit::Partly,
        ]
        .map(Exit::code);
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn a_closed_pipe_is_not_an_error() {
        assert_eq!(Failure::ClosedPipe.exit(), Exit::Done);
    }
}
