//! What went wrong, in the window's words: they name its buttons, not the command line's commands.

use crate::link::attach::{AttachError, Obstacle};
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
        error => Refused { why: sentence(error), holder: None },
    }
}

/// What is wrong with a connection.
pub fn sentence(error: &LinkError) -> String {
    match error {
        LinkError::NoAgent { pid, name, obstacle } => {
            let without = format!("process {pid} ({name}) runs without the agent");
            match obstacle {
                None => format!("{without}; “Load the agent …” loads it"),
                Some(Obstacle::Start(why)) => format!("{without}; start it anew with “Launch…” ({why})"),
                Some(other) => format!("{without}; {}", other.sentence()),
            }
        }
        LinkError::Version { pid, agent_version, .. } => format!(
            "the agent in process {pid} is version {agent_version}, this window is version {}: only “All dials off” works \
             between them; use the Redial that belongs to the agent, or start the process again from this window",
            env!("CARGO_PKG_VERSION")
        ),
        error => error.to_string(),
    }
}

/// Why the agent could not be loaded.
pub fn not_attached(error: &AttachError) -> String {
    match error {
        AttachError::Link(error) => sentence(error),
        AttachError::Unsuitable { pid, name, why } => format!(
            "the agent cannot be loaded into process {pid} ({name}) while it runs: {why}; start it anew with “Launch…”"
        ),
        AttachError::NotYet { pid, name, seconds } => format!(
            "the runtime of process {pid} ({name}) did not say within {seconds} s that the agent is loaded; it may still \
             be: the list of processes will show it"
        ),
        error => error.to_string(),
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

    #[test]
    fn buttons_are_named_and_no_commands() {
        let (pid, name) = (7, || "shop".to_owned());
        let obstacles =
            [None, Some(Obstacle::Start("it is 2.1".into())), Some(Obstacle::Profiler("x".into()))];
        let mut said: Vec<String> =
            obstacles.map(|obstacle| sentence(&LinkError::NoAgent { pid, name: name(), obstacle })).into();
        let version = LinkError::Version { pid, agent_version: "9.9.9".into(), agent_protocol: 77 };
        said.push(sentence(&version));
        let unsuitable = AttachError::Unsuitable { pid, name: name(), why: "it is 2.1".into() };
        said.extend(
            [unsuitable, AttachError::NotYet { pid, name: name(), seconds: 10 }].iter().map(not_attached),
        );
        for one in &said {
            assert!(!one.contains("redial ") && !one.contains('`'), "{one}");
        }
        for (place, button) in
            [(0, "“Load the agent"), (1, "“Launch…”"), (3, "“All dials off”"), (4, "“Launch…”")]
        {
            assert!(said[place].contains(button), "{}", said[place]);
        }
    }
}
