//! Error messages for the window: they name its buttons, not commands of the command line.

use crate::attach::{AttachError, Obstacle};
use crate::discover::user_name;
use crate::error::{LinkError, refusal as refusal_text};
use redial_model::update::RefusedRequest;
use redial_protocol::message::{AgentStatus, Refusal};
use redial_protocol::order::StandingOrder;
use redial_text::diagnostics::Reader;
use redial_text::programs;

/// Describes why a change was refused.
pub fn refused(error: &LinkError) -> RefusedRequest {
    match error {
        LinkError::Refused(Refusal::ControlHeld(holder)) => RefusedRequest {
            why: format!(
                "the dials are controlled by {}; take control to turn them",
                programs::controller(holder)
            ),
            holder: Some(holder.clone()),
        },
        error => RefusedRequest { why: sentence(error), holder: None },
    }
}

/// Describes a connection error.
pub fn sentence(error: &LinkError) -> String {
    match error {
        LinkError::NoAgent { pid, name, obstacle } => {
            let without = format!("process {pid} ({name}) runs without the agent");
            match obstacle {
                None => format!("{without}; choose “Load the agent into the process”"),
                Some(Obstacle::Start(why)) => format!("{without}; restart it with “Launch…” ({why})"),
                Some(other) => format!("{without}; {}", other.sentence()),
            }
        }
        LinkError::Version { pid, agent_version, .. } => format!(
            "the agent in process {pid} is version {agent_version}, this window is version {}: only “All dials off” works \
             between these versions; use the agent's own version of Redial, or restart the process from this window",
            env!("CARGO_PKG_VERSION")
        ),
        LinkError::Refused(refusal) => refusal_text(refusal, Reader::Window),
        error => error.to_string(),
    }
}

/// Describes why the agent could not be loaded.
pub fn attach_error(error: &AttachError) -> String {
    match error {
        AttachError::Link(error) => sentence(error),
        AttachError::Unsuitable { pid, name, why } => format!(
            "the agent cannot be loaded into process {pid} ({name}) while it runs: {why}; restart it with “Launch…”"
        ),
        AttachError::NotYet { pid, name, seconds } => format!(
            "the runtime of process {pid} ({name}) did not confirm within {seconds} s that the agent is loaded; \
             check the process list"
        ),
        error => error.to_string(),
    }
}

/// Replaces user ids in a status with user names.
pub fn status_with_user_names(mut status: AgentStatus) -> AgentStatus {
    status.audit.iter_mut().for_each(|entry| entry.user = user_name(&entry.user));
    status
}

/// Replaces user ids in orders with user names.
pub fn orders(mut orders: Vec<StandingOrder>) -> Vec<StandingOrder> {
    orders.iter_mut().for_each(|one| one.user = user_name(&one.user));
    orders
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::message::Holder;

    #[test]
    fn a_refusal_names_the_holder_of_control() {
        let holder = Holder { pid: 5, program: "redial dial".into() };
        let refused = refused(&LinkError::Refused(Refusal::ControlHeld(holder.clone())));
        assert_eq!(refused.holder, Some(holder));
        assert!(refused.why.contains("redial dial (pid 5)") && !refused.why.contains("--take"));
    }

    #[test]
    fn messages_name_buttons_but_no_commands() {
        let (pid, name) = (7, || "shop".to_owned());
        let obstacles =
            [None, Some(Obstacle::Start("it is 2.1".into())), Some(Obstacle::Profiler("x".into()))];
        let mut said: Vec<String> =
            obstacles.map(|obstacle| sentence(&LinkError::NoAgent { pid, name: name(), obstacle })).into();
        let version = LinkError::Version { pid, agent_version: "9.9.9".into(), agent_protocol: 77 };
        said.push(sentence(&version));
        let unsuitable = AttachError::Unsuitable { pid, name: name(), why: "it is 2.1".into() };
        said.extend(
            [unsuitable, AttachError::NotYet { pid, name: name(), seconds: 10 }].iter().map(attach_error),
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
