//! What lines of a dial set that match nothing may have meant.

use super::Wanted;
use super::explain::no_such_domain;
use crate::link::session::Session;
use crate::output::table::printable;
use crate::output::words;
use redial_protocol::limits::MAX_UNMATCHED_NAMED;
use redial_protocol::message::{Command, Reply};
use redial_protocol::order::Order;

/// Lines that are looked after; each costs the agent a look at all names.
const HINTED: usize = 5;

impl Wanted<'_> {
    /// Completes the sentences about orders that match nothing, which the warnings begin with: the line each stands on,
    /// and what would match.
    pub(super) fn say_what_was_meant(
        &self,
        session: &mut Session,
        unmatched: &[u32],
        warnings: &mut [String],
    ) {
        let hints = self.hints(session, unmatched);
        for (at, warning) in unmatched.iter().take(MAX_UNMATCHED_NAMED).zip(warnings) {
            if let Some((_, hint)) = hints.iter().find(|(of, _)| of == at) {
                *warning = format!("{warning}; {hint}");
            }
            *warning = self.at_line(*at, warning);
        }
    }

    /// For the first of these orders what they may have meant, as far as something is near.
    pub(super) fn hints(&self, session: &mut Session, unmatched: &[u32]) -> Vec<(u32, String)> {
        let mut hints = Vec::new();
        for at in unmatched.iter().take(HINTED) {
            let Some(order) = self.orders.get(*at as usize) else { continue };
            hints.extend(hint(session, order).map(|hint| (*at, hint)));
        }
        hints
    }

    /// A sentence about an order, with the line it stands on.
    pub(super) fn at_line(&self, at: u32, sentence: &str) -> String {
        match self.lines.get(at as usize) {
            Some(line) => format!("line {line}: {sentence}"),
            None => sentence.to_owned(),
        }
    }
}

fn hint(session: &mut Session, order: &Order) -> Option<String> {
    // The id of a module cannot be mended.
    if order.copy.is_some() {
        return None;
    }
    no_such_domain(session, order).or_else(|| {
        let near = suggestions(session, order);
        let quoted: Vec<String> = near.iter().map(|one| format!("'{}'", printable(one))).collect();
        (!quoted.is_empty()).then(|| format!("did you mean {}?", words::either(&quoted)))
    })
}

/// Patterns near an order's that would match something.
pub(super) fn suggestions(session: &mut Session, order: &Order) -> Vec<String> {
    let pattern = Some(order.pattern.clone()).filter(|_| order.copy.is_none());
    let Some(pattern) = pattern else { return vec![] };
    match session.ask(Command::Methods { pattern: Some(pattern), limit: 1 }, &mut |_| {}) {
        Ok(Reply::Methods { suggestions, .. }) => suggestions,
        _ => vec![],
    }
}
