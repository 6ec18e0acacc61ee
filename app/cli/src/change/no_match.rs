//! Explains why nothing matched: an unknown AppDomain, or a near miss.

use super::request::ChangeRequest;
use crate::modules;
use redial_link::error::{LinkError, nothing_matched};
use redial_link::exit::{Exit, Failure};
use redial_link::session::Session;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::message::Refusal;
use redial_protocol::order::Order;
use redial_text::words;
use redial_text::words::printable;

/// The most AppDomains to name in a sentence.
const NAMED: usize = 10;

impl ChangeRequest<'_> {
    /// Turns an error into a failure, and explains orders that matched nothing.
    pub fn explain(&self, session: &mut Session, error: LinkError) -> Failure {
        let LinkError::Refused(Refusal::NothingMatched { suggestions }) = &error else { return error.into() };
        if let [order] = self.orders.as_slice()
            && let Some(why) = no_such_domain(session, order)
        {
            return Failure::new(Exit::NothingMatched, format!("nothing matched: {why}"));
        }
        let each: Vec<u32> = (0..self.orders.len() as u32).collect();
        let hints: Vec<String> = match self.lines.as_slice() {
            [] | [_] => vec![],
            _ => self.hints(session, &each).into_iter().map(|(at, hint)| self.at_line(at, &hint)).collect(),
        };
        match hints.as_slice() {
            [] => {
                let pattern = self.orders.as_slice().first().filter(|_| self.orders.len() == 1);
                let why = nothing_matched(pattern.map(|order| order.pattern.as_str()), suggestions);
                Failure::new(Exit::NothingMatched, why)
            }
            hints => Failure::new(Exit::NothingMatched, format!("nothing matched; {}", hints.join("; "))),
        }
    }
}

/// Returns the sentence about an order whose AppDomain does not exist.
pub(super) fn no_such_domain(session: &mut Session, order: &Order) -> Option<String> {
    order.domain.as_ref()?;
    let (domains, modules) = modules::ask(session).ok()?;
    empty_limit(order, &domains, &modules)
}

fn empty_limit(order: &Order, domains: &[DomainRow], modules: &[ModuleRow]) -> Option<String> {
    let prefix = order.domain.as_deref()?;
    if domains.iter().any(|domain| domain.name.starts_with(prefix)) {
        return None;
    }
    let mut names: Vec<String> = domains
        .iter()
        .filter(|domain| !domain.shared && modules.iter().any(|module| module.domains.contains(&domain.id)))
        .map(|domain| format!("'{}'", printable(&domain.name)))
        .collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 0 {
        names.truncate(NAMED);
        names.push(format!("{} more", words::grouped(more as u64)));
    }
    let there = match names.as_slice() {
        [] => "there are none".to_owned(),
        [only] => format!("there is only {only}"),
        several => format!("there are {}", words::all(several)),
    };
    Some(format!("no AppDomain name starts with '{}'; {there}", printable(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::ids::ModuleKey;
    use redial_protocol::level::Level;

    fn domains(number: u64) -> Vec<DomainRow> {
        let row = |id| DomainRow { id, name: format!("Shop-{id}"), shared: id == 0 };
        (0..=number).map(row).collect()
    }

    #[test]
    fn reports_domains_that_do_not_exist() {
        let module = ModuleRow {
            key: ModuleKey { module_id: 0x7f10, generation: 1 },
            name: "Shop".into(),
            path: String::new(),
            mvid: String::new(),
            assembly: 0,
            domains: (0..12).collect(),
            shared: false,
            dynamic: false,
            collectible: false,
            methods: 1,
        };
        let order =
            |domain: &str| Order { domain: Some(domain.to_owned()), ..Order::new("A.B", Level::Count) };
        let why = |domain: &str, number| {
            empty_limit(&order(domain), &domains(number), std::slice::from_ref(&module))
        };
        assert_eq!(why("Shop-1", 2), None, "that domain exists: the pattern is wrong");
        assert_eq!(
            why("Store", 2).as_deref(),
            Some("no AppDomain name starts with 'Store'; there are 'Shop-1' and 'Shop-2'")
        );
        assert!(
            why("Store", 13).is_some_and(|why| why.ends_with("'Shop-10' and 1 more")),
            "domains without a module are not listed"
        );
        assert!(why("Store", 1).is_some_and(|why| why.ends_with("; there is only 'Shop-1'")));
        assert!(why("Store", 0).is_some_and(|why| why.ends_with("there are none")));
    }
}
