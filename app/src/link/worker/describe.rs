//! Refusals in the window's words.

use crate::link::error::LinkError;
use crate::model::update::Refused;
use redial_protocol::message::Refusal;

/// Why a turn was refused, for a window: its buttons, not the command line's options.
pub fn refused(error: &LinkError) -> Refused {
    match error {
        LinkError::Refused(Refusal::ControlHeld(holder)) => Refused {
            why: format!(
                "the dials are controlled by {} (pid {}); take control to turn them",
                holder.program, holder.pid
            ),
            holder: Some(holder.clone()),
        },
        error => Refused { why: error.to_string(), holder: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::message::Holder;

    #[test]
    fn who_has_control_can_be_taken_from() {
        let holder = Holder { pid: 5, program: "redial dial".into() };
        let refused = refused(&LinkError::Refused(Refusal::ControlHeld(holder.clone())));
        assert_eq!(refused.holder, Some(holder));
        assert!(refused.why.contains("redial dial (pid 5)") && !refused.why.contains("--take"));
    }
}
