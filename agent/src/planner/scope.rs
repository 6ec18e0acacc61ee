//! Scopes: which orders mean a module's copies, by AppDomain and by copy.
#![forbid(unsafe_code)]

use super::orders::Standing;
use redial_protocol::ids::ModuleKey;
use redial_protocol::limits::MAX_DOMAINS_NAMED;
use redial_protocol::report::SharedModule;

/// Where a module is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Its present life.
    pub key: ModuleKey,
    /// Names of the AppDomains whose calls run its code: its own or, where one copy is shared, all that use it.
    pub domains: Vec<String>,
    /// Whether one copy serves several domains.
    pub shared: bool,
}

/// How an order is aimed at a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Aim {
    /// At its copies.
    Here,
    /// Elsewhere.
    Elsewhere,
    /// At some of the domains that share its one copy, so that others would be dialled along.
    PartOfShared,
}

fn aim(standing: &Standing, place: &Place) -> Aim {
    if standing.copy.is_some_and(|copy| copy != place.key) {
        return Aim::Elsewhere;
    }
    let Some(prefix) = &standing.order.domain else { return Aim::Here };
    let meant = place.domains.iter().filter(|name| name.starts_with(prefix.as_str())).count();
    match meant {
        0 => Aim::Elsewhere,
        _ if meant < place.domains.len() && !standing.order.all_domains => Aim::PartOfShared,
        _ => Aim::Here,
    }
}

/// The orders that concern a module.
#[derive(Clone, Debug, Default)]
pub struct Aimed<'a> {
    /// Those that mean its copies, oldest first.
    pub here: Vec<&'a Standing>,
    /// Those that are refused here, because they name some of the domains that share its copy, oldest first.
    pub refused: Vec<&'a Standing>,
}

impl<'a> Aimed<'a> {
    /// Sorts orders whose assembly half matches a module. `place` is asked for only if one has a scope.
    pub fn at(orders: impl Iterator<Item = &'a Standing>, place: impl FnOnce() -> Place) -> Aimed<'a> {
        let mut aimed = Aimed::default();
        let mut asked = Some(place);
        let mut known = None;
        for standing in orders {
            if standing.copy.is_none() && standing.order.domain.is_none() {
                aimed.here.push(standing);
                continue;
            }
            if let Some(place) = asked.take() {
                known = Some(place());
            }
            match known.as_ref().map(|place| aim(standing, place)) {
                Some(Aim::Here) => aimed.here.push(standing),
                Some(Aim::PartOfShared) => aimed.refused.push(standing),
                Some(Aim::Elsewhere) | None => {}
            }
        }
        aimed
    }

    /// Whether no order concerns the module.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.refused.is_empty()
    }
}

/// A module of which one copy serves several domains, of which orders name some: what a report says of it.
pub fn shared(name: &str, place: &Place, methods: u64, accepted: bool) -> SharedModule {
    SharedModule {
        module: name.to_owned(),
        methods,
        domains: place.domains.iter().take(MAX_DOMAINS_NAMED).cloned().collect(),
        more_domains: place.domains.len().saturating_sub(MAX_DOMAINS_NAMED) as u64,
        accepted,
    }
}
