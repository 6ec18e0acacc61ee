//! Requests to the agent for what `status` shows.

use redial_link::exit::Failure;
use redial_link::session::{ReplyPage, Session};
use redial_model::dials::DialledCopies;
use redial_protocol::cost::Cost;
use redial_protocol::message::{AgentStatus, Reply, WireCommand};

/// Asks for the status of the agent itself.
pub fn ask_agent(session: &mut Session) -> Result<AgentStatus, Failure> {
    match session.ask(WireCommand::AgentStatus, &mut |_| {})? {
        Reply::AgentStatus(status) => Ok(status),
        _ => Err(session.wrong_reply().into()),
    }
}

/// Asks for the measured cost of a call at each level.
pub fn ask_costs(session: &mut Session) -> Result<Vec<Cost>, Failure> {
    ask_agent(session).map(|status| status.costs)
}

/// Asks for the rows that match, or for all without a pattern.
pub fn ask_rows(session: &mut Session, pattern: Option<String>) -> Result<DialledCopies, Failure> {
    let mut dials = DialledCopies::default();
    let reply = session.ask(WireCommand::Status { pattern }, &mut |page| match page {
        ReplyPage::Rows(rows) => dials.rows(rows),
        ReplyPage::Times(times) => dials.times(times),
        _ => {}
    })?;
    if !matches!(reply, Reply::Status { .. }) {
        return Err(session.wrong_reply().into());
    }
    Ok(dials)
}
