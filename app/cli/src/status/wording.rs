//! Names, states and sentences about dialled methods.

use redial_model::dials::{DialledCopies, DialledCopy};
use redial_protocol::message::AgentStatus;
use redial_text::{programs, words};

/// Returns the sentence for a pattern that matches none of these methods.
pub fn unmatched(pattern: &str, dialled: &DialledCopies) -> String {
    let over = dialled.iter().filter(|dial| dial.is_over()).count() as u64;
    let before = words::grouped(over);
    match (dialled.len() as u64 - over, over) {
        (0, 0) => format!("no dialled method matches '{pattern}': no method has been dialled"),
        (0, 1) => format!("no method is dialled, and the one that was does not match '{pattern}'"),
        (0, _) => format!("no method is dialled, and none of the {before} that were matches '{pattern}'"),
        (1, 0) => format!("the only dialled method does not match '{pattern}'"),
        (on, 0) => format!("none of the {} dialled methods matches '{pattern}'", words::grouped(on)),
        (on, over) => {
            let all = words::grouped(on + over);
            format!("none of the {all} methods that are or were dialled matches '{pattern}'")
        }
    }
}

/// Returns the state with the live version: `live v2`.
pub fn state(dial: &DialledCopy) -> String {
    match dial.row.version {
        Some(version) => format!("{} v{version}", words::state_word(dial.row.state)),
        None => words::state_word(dial.row.state).to_owned(),
    }
}

/// Returns the method's name. It is also a pattern for the method, except that a pattern writes a pointer's star as
/// `\\*`.
pub fn name(dial: &DialledCopy) -> String {
    format!("{}!{}{}", dial.row.module, dial.row.method, words::plain_parameters(&dial.row.signature))
}

pub(super) fn control_line(status: &AgentStatus) -> String {
    match &status.control {
        Some(holder) => format!("control: {}", programs::controller(holder)),
        None => "control: free".to_owned(),
    }
}

pub(super) fn kept_line(status: &AgentStatus) -> String {
    format!("dialled: {} kept, {} held", words::grouped(status.kept), words::grouped(status.held))
}
