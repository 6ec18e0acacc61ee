//! Suggests corrections for dial set lines that match nothing.

use super::no_match::no_such_domain;
use super::request::ChangeRequest;
use redial_link::session::Session;
use redial_protocol::limits::MAX_UNMATCHED_NAMED;
use redial_protocol::message::{Reply, WireCommand};
use redial_protocol::order::Order;
use redial_text::words;
use redial_text::words::printable;

/// The most lines to look up; each makes the agent search all names.
const HINTED: usize = 5;

impl ChangeRequest<'_> {
    /// Adds line numbers and suggestions to the leading warnings, which are about orders that match nothing.
    pub(super) fn add_suggestions(&self, session: &mut Session, unmatched: &[u32], warnings: &mut [String]) {
        let hints = self.hints(session, unmatched);
        for (at, warning) in unmatched.iter().take(MAX_UNMATCHED_NAMED).zip(warnings) {
            if let Some((_, hint)) = hints.iter().find(|(of, _)| of == at) {
                *warning = format!("{warning}; {hint}");
            }
            *warning = self.at_line(*at, warning);
        }
    }

    /// Returns suggestions for the first of these orders, where there are any.
    pub(super) fn hints(&self, session: &mut Session, unmatched: &[u32]) -> Vec<(u32, String)> {
        let mut hints = Vec::new();
        for at in unmatched.iter().take(HINTED) {
            let Some(order) = self.orders.get(*at as usize) else { continue };
            hints.extend(hint(session, order).map(|hint| (*at, hint)));
        }
        hints
    }

    /// Prefixes a sentence about an order with its line number.
    pub(super) fn at_line(&self, at: u32, sentence: &str) -> String {
        match self.lines.get(at as usize) {
            Some(line) => format!("line {line}: {sentence}"),
            None => sentence.to_owned(),
        }
    }
}

fn hint(session: &mut Session, order: &Order) -> Option<String> {
    // There is no suggestion for a wrong module id.
    if order.copy.is_some() {
        return None;
    }
    no_such_domain(session, order).or_else(|| {
        let similar = suggestions(session, order);
        let quoted: Vec<String> = similar.iter().map(|one| format!("'{}'", printable(one))).collect();
        (!quoted.is_empty()).then(|| format!("did you mean {}?", words::either(&quoted)))
    })
}

/// Returns patterns similar to the order's that would match something.
pub(super) fn suggestions(session: &mut Session, order: &Order) -> Vec<String> {
    let pattern = Some(order.pattern.clone()).filter(|_| order.copy.is_none());
    let Some(pattern) = pattern else { return vec![] };
    match session.ask(WireCommand::Methods { pattern: Some(pattern), limit: 1 }, &mut |_| {}) {
        Ok(Reply::Methods { suggestions, .. }) => suggestions,
        _ => vec![],
    }
}
