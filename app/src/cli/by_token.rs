//! Orders that name methods by their tokens, in words: the agent is asked what these are called.

use crate::link::error::LinkError;
use crate::link::session::{Page, Session};
use crate::output::words;
use redial_protocol::message::Command;
use std::collections::HashMap;

/// Tokens asked about for one answer, at most.
const MOST: usize = 64;

/// Names of methods in one process, each asked for once.
pub struct Names<'a> {
    session: &'a mut Session,
    answers: bool,
    known: HashMap<String, Option<String>>,
}

impl<'a> Names<'a> {
    /// Of the process that the session is with.
    pub fn new(session: &'a mut Session) -> Names<'a> {
        Names { session, answers: true, known: HashMap::new() }
    }

    /// An order with the methods' names in place of tokens, where one method has that and its module is loaded.
    pub fn readable(&mut self, order: &str) -> String {
        let named = words::with_names(order, |assembly, token| {
            let pattern = format!("{assembly}!{token:#010x}");
            if let Some(known) = self.known.get(&pattern) {
                return known.clone();
            }
            let asks = self.answers && self.known.len() < MOST;
            let answer = asks.then(|| ask(self.session, assembly, &pattern)).transpose();
            // Who does not answer once is not waited for again.
            self.answers &= matches!(answer, Ok(_) | Err(LinkError::Refused(_)));
            let name = answer.ok().flatten().flatten();
            self.known.insert(pattern, name.clone());
            name
        });
        words::one_line(&named)
    }
}

/// What the only method of a pattern is called; None: there is none, or there are several.
fn ask(session: &mut Session, assembly: &str, pattern: &str) -> Result<Option<String>, LinkError> {
    let mut names: Vec<String> = Vec::new();
    let command = Command::Methods { pattern: Some(pattern.to_owned()), limit: MOST as u64 };
    let mut each = |page: Page| {
        let Page::Methods(page) = page else { return };
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
