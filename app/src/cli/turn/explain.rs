//! Why nothing matched, where an order was limited to AppDomains or a copy that do not exist.

use super::Wanted;
use crate::cli::modules;
use crate::exit::{Exit, Failure};
use crate::link::error::LinkError;
use crate::link::session::Session;
use crate::output::json::hex;
use crate::output::table::printable;
use crate::output::words;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::message::Refusal;
use redial_protocol::order::Order;

/// AppDomains named in a sentence.
const NAMED: usize = 10;

impl Wanted<'_> {
    /// The failure for an error; of one order that matched nothing, with what its limits have to do with it.
    pub(super) fn explain(&self, session: &mut Session, error: LinkError) -> Failure {
        if let (LinkError::Refused(Refusal::NothingMatched { .. }), [order]) =
            (&error, self.orders.as_slice())
            && (order.domain.is_some() || order.copy.is_some())
            && let Ok((domains, modules)) = modules::ask(session)
            && let Some(why) = limited_to_nothing(order, &domains, &modules)
        {
            return Failure::new(Exit::NothingMatched, format!("nothing matched: {why}"));
        }
        error.into()
    }
}

fn limited_to_nothing(order: &Order, domains: &[DomainRow], modules: &[ModuleRow]) -> Option<String> {
    if let Some(copy) = order.copy.filter(|copy| modules.iter().all(|module| module.key.module_id != *copy)) {
        return Some(format!("no module {} is loaded; `redial modules PID` lists those that are", hex(copy)));
    }
    let prefix = order.domain.as_deref()?;
    if domains.iter().any(|domain| domain.name.starts_with(prefix)) {
        return None;
    }
    let mut names: Vec<String> = domains
        .iter()
        .filter(|domain| !domain.shared)
        .map(|domain| format!("'{}'", printable(&domain.name)))
        .collect();
    let more = names.len().saturating_sub(NAMED);
    if more > 0 {
        names.truncate(NAMED);
        names.push(format!("{} more", words::grouped(more as u64)));
    }
    let there = if names.is_empty() {
        "there is none".to_owned()
    } else {
        format!("there are {}", words::all(&names))
    };
    Some(format!("no AppDomain's name begins with '{}'; {there}", printable(prefix)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::level::Level;

    fn domains(number: u64) -> Vec<DomainRow> {
        let row = |id| DomainRow { id, name: format!("Shop-{id}"), shared: id == 0 };
        (0..=number).map(row).collect()
    }

    #[test]
    fn limits_that_name_nothing_are_told() {
        let order = |domain: Option<&str>, copy| Order {
            domain: domain.map(str::to_owned),
            copy,
            ..Order::new("A.B", Level::Count)
        };
        let why = |order: &Order, number| limited_to_nothing(order, &domains(number), &[]);
        assert_eq!(
            why(&order(Some("Shop-1"), None), 2),
            None,
            "that domain exists: the pattern is what is wrong"
        );
        assert_eq!(
            why(&order(Some("Store"), None), 2).as_deref(),
            Some("no AppDomain's name begins with 'Store'; there are 'Shop-1' and 'Shop-2'")
        );
        assert!(
            why(&order(Some("Store"), None), 12).is_some_and(|why| why.ends_with("'Shop-10' and 2 more"))
        );
        assert!(
            why(&order(None, Some(0x7f10)), 1)
                .is_some_and(|why| why.starts_with("no module 0x7f10 is loaded"))
        );
    }
}
