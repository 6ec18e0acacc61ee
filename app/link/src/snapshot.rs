//! Takes a snapshot of a process: everything that its agent can tell about dialled methods.

use super::discover;
use super::error::LinkError;
use super::machine;
use super::session::{ReplyPage, Session};
use redial_model::dials::{DialledCopies, DialledCopy};
use redial_model::process_snapshot::{ProcessSnapshot, SavedChange, SavedMethod, SnapshotHeader};
use redial_model::processes::program_name;
use redial_protocol::dialset::print_order;
use redial_protocol::histogram::RowHistogram;
use redial_protocol::ids::RowId;
use redial_protocol::message::{Refusal, Reply, WireCommand};
use redial_protocol::report::total;
use redial_protocol::trace::{TracedCall, TracedMethod};
use redial_text::json::TracedCallJson;
use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// The methods whose histograms a snapshot has at most: those with the most time. Each takes one request.
const MAX_HISTOGRAMS: usize = 20_000;

/// Takes a snapshot.
///
/// # Errors
/// When the agent does not answer, or answers something else.
pub fn take(session: &mut Session) -> Result<ProcessSnapshot, LinkError> {
    let taken = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let header = SnapshotHeader {
        taken_unix_ms: u64::try_from(taken.as_millis()).unwrap_or(u64::MAX),
        host: machine::host_name(),
        pid: session.pid(),
        name: discover::find(session.pid()).map(|one| program_name(&one.name, one.command.as_deref())),
        runtime: session.facts().runtime_version.clone(),
        agent: session.facts().agent_version.clone(),
    };
    let dials = rows(session)?;
    let histograms = histograms(session, &dials)?;
    let methods = dials.iter().map(|dial| SavedMethod::of(dial, histograms.get(&dial.row.row))).collect();
    let orders = match session.ask(WireCommand::Orders, &mut |_| {})? {
        Reply::Orders { orders, .. } => orders.iter().map(|one| print_order(&one.order)).collect(),
        _ => return Err(session.wrong_reply()),
    };
    let changes = match session.ask(WireCommand::AgentStatus, &mut |_| {})? {
        Reply::AgentStatus(status) => status.audit.iter().map(SavedChange::from).collect(),
        _ => return Err(session.wrong_reply()),
    };
    let calls = calls(session, header.host.as_deref())?;
    Ok(ProcessSnapshot { header, methods, calls, orders, changes })
}

fn rows(session: &mut Session) -> Result<DialledCopies, LinkError> {
    let mut dials = DialledCopies::default();
    let reply = session.ask(WireCommand::Status { pattern: None }, &mut |page| match page {
        ReplyPage::Rows(rows) => dials.rows(rows),
        ReplyPage::Times(times) => dials.times(times),
        _ => {}
    })?;
    if matches!(reply, Reply::Status { .. }) { Ok(dials) } else { Err(session.wrong_reply()) }
}

fn histograms(
    session: &mut Session,
    dials: &DialledCopies,
) -> Result<HashMap<RowId, RowHistogram>, LinkError> {
    let ended = |dial: &&DialledCopy| dial.times.is_some_and(|times| times.exits > 0);
    let mut timed: Vec<&DialledCopy> = dials.iter().filter(ended).collect();
    timed.sort_by_key(|dial| std::cmp::Reverse(dial.times.map(|times| times.total_ns)));
    let mut histograms = HashMap::new();
    for dial in timed.into_iter().take(MAX_HISTOGRAMS) {
        let row = dial.row.row;
        match session.ask(WireCommand::Histogram { row }, &mut |_| {}) {
            Ok(Reply::Histogram(histogram)) if histogram.times.row == row => {
                histograms.insert(row, histogram);
            }
            // Its module was unloaded.
            Err(LinkError::Refused(Refusal::Unsupported(_))) => {}
            Ok(_) => return Err(session.wrong_reply()),
            Err(error) => return Err(error),
        }
    }
    Ok(histograms)
}

/// Asks for the latest traced calls, and formats them as JSON, oldest first.
fn calls(session: &mut Session, host: Option<&str>) -> Result<Vec<serde_json::Value>, LinkError> {
    let mut methods: HashMap<u32, TracedMethod> = HashMap::new();
    let mut dropped: HashMap<RowId, u64> = HashMap::new();
    let mut calls: Vec<TracedCall> = Vec::new();
    let asked = WireCommand::Calls { pattern: None, in_flight: false };
    let reply = session.ask(asked, &mut |page| {
        if let ReplyPage::Calls { methods: new, calls: more, dropped: counts } = page {
            methods.extend(new.into_iter().map(|method| (method.plan, method)));
            dropped.extend(counts.iter().map(|of| (of.row, total([of.over_rate, of.no_room, of.undecided]))));
            calls.extend(more);
        }
    })?;
    if !matches!(reply, Reply::Calls { .. }) {
        return Err(session.wrong_reply());
    }
    calls.sort_by_key(|call| call.number);
    let pid = session.pid();
    let json = |call: &TracedCall| {
        let method = methods.get(&call.plan)?;
        let dropped = dropped.get(&method.row).copied().unwrap_or(0);
        serde_json::to_value(TracedCallJson::new((host, pid), method, call, None, dropped)).ok()
    };
    Ok(calls.iter().filter_map(json).collect())
}
