//! The error for an agent that does not answer.
#![forbid(unsafe_code)]

use super::discover;
use super::error::LinkError;
use std::time::Duration;

/// Returns the error for an agent that did not answer within `patience`, with the reason if the process is
/// halted.
pub fn silent(pid: u32, patience: Duration) -> LinkError {
    match discover::halted(pid) {
        Some(halt) => LinkError::Halted { pid, why: halt.to_string() },
        None => LinkError::Silent { pid, seconds: patience.as_secs() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_running_process_without_answer_is_silent() {
        let error = silent(std::process::id(), Duration::from_secs(5));
        assert!(matches!(error, LinkError::Silent { seconds: 5, .. }), "{error}");
    }
}
