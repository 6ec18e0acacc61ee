//! Refusals in the window's words.

use crate::link::discover::user_name;
use crate::link::error::LinkError;
use crate::model::update::Refused;
use redial_protocol::message::{AgentStatus, Refusal};
use redial_protocol::order::StandingOrder;

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

/// The agent's account, its users by their names.
pub fn account(mut status: AgentStatus) -> AgentStatus {
    status.audit.iter_mut().for_each(|entry| entry.user = user_name(&entry.user));
    status
}

/// Orders, their users by their names.
pub fn orders(mut orders: Vec<StandingOrder>) -> Vec<StandingOrder> {
    orders.iter_mut().for_each(|one| one.user = user_name(&one.user));
    orders
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
