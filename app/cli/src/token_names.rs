//! Replaces method tokens in orders by names, which the agent looks up.

use redial_link::error::LinkError;
use redial_link::session::{ReplyPage, Session};
use redial_protocol::message::WireCommand;
use redial_text::words;
use std::collections::HashMap;

/// The most tokens to look up for one listing.
const MOST: usize = 64;

/// The names of methods in one process, each looked up once.
pub struct TokenNames<'a> {
    session: &'a mut Session,
    answers: bool,
    known: HashMap<String, Option<String>>,
}

impl<'a> TokenNames<'a> {
    /// Starts without names.
    pub fn new(session: &'a mut Session) -> TokenNames<'a> {
        TokenNames { session, answers: true, known: HashMap::new() }
    }

    /// Returns the order with names in place of tokens. A token stays if its module is not loaded or the name is
    /// ambiguous.
    pub fn readable(&mut self, order: &str) -> String {
        let named = words::with_names(order, |assembly, token| {
            let pattern = format!("{assembly}!{token:#010x}");
            if let Some(known) = self.known.get(&pattern) {
                return known.clone();
            }
            let asks = self.answers && self.known.len() < MOST;
            let answer = asks.then(|| ask(self.session, assembly, &pattern)).transpose();
            // Do not wait again for an agent that failed to answer once.
            self.answers &= matches!(answer, Ok(_) | Err(LinkError::Refused(_)));
            let name = answer.ok().flatten().flatten();
            self.known.insert(pattern, name.clone());
            name
        });
        words::one_line(&named)
    }
}

/// Returns the name of the only method that matches, or `None` if none or several names match.
fn ask(session: &mut Session, assembly: &str, pattern: &str) -> Result<Option<String>, LinkError> {
    let mut names: Vec<String> = Vec::new();
    let command = WireCommand::Methods { pattern: Some(pattern.to_owned()), limit: MOST as u64 };
    let mut each = |page: ReplyPage| {
        let ReplyPage::Methods(page) = page else { return };
        for index in 0..page.token.len() {
            let type_name = page.type_index.get(index).and_then(|at| page.type_names.get(*at as usize));
            let parts = type_name.zip(page.name.get(index)).zip(page.signature.get(index));
            names.extend(parts.map(|((owner, name), signature)| {
                format!("{assembly}!{owner}.{name}{}", words::plain_parameters(signature))
            }));
        }
    };
    session.ask(command, &mut each)?;
    let only = names.first().filter(|first| names.iter().all(|name| name == *first));
    Ok(only.cloned())
}
