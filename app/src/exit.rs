//! The exit codes of the program, and the failure that carries one with its sentence.

use std::fmt;

/// How a command ended, as scripts see it. `run` has a scheme of its own (the child's code, 125 to 127).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Failed; all refused counts as that.
    Failed = 1,
    /// Wrong usage or a bad pattern.
    Usage = 2,
    /// No such process, or it exited, or it is not one that can be dialled.
    NoProcess = 3,
    /// The agent is missing or not loaded.
    NoAgent = 4,
    /// Another controller has control.
    ControlHeld = 5,
    /// Nothing matched.
    NothingMatched = 6,
    /// Done in part; what was refused is listed.
    Partly = 7,
}

/// Exit code of `run` for every failure of its own, as `env` and `timeout` have it.
pub const RUN_FAILED: i32 = 125;
/// Exit code of `run` for a command that is there but cannot be executed.
pub const RUN_NOT_EXECUTABLE: i32 = 126;
/// Exit code of `run` for a command that is not there.
pub const RUN_NOT_FOUND: i32 = 127;

impl Exit {
    /// The number for the operating system.
    pub fn code(self) -> i32 {
        i32::from(self as u8)
    }
}

/// Why a command stopped short.
#[derive(Debug)]
pub enum Failure {
    /// The reader of our output went away: a quiet end, not an error.
    ClosedPipe,
    /// A sentence for stderr, without `redial: ` and without a final period, and the code.
    Sentence {
        /// The exit code.
        exit: Exit,
        /// The sentence.
        text: String,
    },
}

impl Failure {
    /// A failure with its code and sentence.
    pub fn new(exit: Exit, text: impl Into<String>) -> Self {
        Failure::Sentence { exit, text: text.into() }
    }

    /// The exit code it stands for.
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
    fn codes_are_the_documented_ones() {
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
    fn a_closed_pipe_is_no_error() {
        assert_eq!(Failure::ClosedPipe.exit(), Exit::Done);
    }
}
