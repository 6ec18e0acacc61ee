//! Scopes: decides which orders apply to a module's copies, by AppDomain and by copy.
#![forbid(unsafe_code)]

use super::orders::Standing;
use redial_protocol::ids::ModuleKey;
use redial_protocol::limits::MAX_DOMAINS_NAMED;
use redial_protocol::report::SharedModule;

/// The AppDomains of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModulePlace {
    /// The module, with its generation.
    pub key: ModuleKey,
    /// Names of the AppDomains whose calls run its code: its own or, for a shared copy, all that use it.
    pub domains: Vec<String>,
    /// Whether one copy serves several domains.
    pub shared: bool,
}

/// How an order applies to a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScopeMatch {
    /// It applies to its copies.
    Here,
    /// It does not apply.
    Elsewhere,
    /// It names some of the domains that share one copy, so that it would dial others as well.
    PartOfShared,
}

fn aim(standing: &Standing, place: &ModulePlace) -> ScopeMatch {
    if standing.copy.is_some_and(|copy| copy != place.key) {
        return ScopeMatch::Elsewhere;
    }
    let Some(prefix) = &standing.order.domain else { return ScopeMatch::Here };
    let meant = place.domains.iter().filter(|name| name.starts_with(prefix.as_str())).count();
    match meant {
        0 => ScopeMatch::Elsewhere,
        _ if meant < place.domains.len() && !standing.order.all_domains => ScopeMatch::PartOfShared,
        _ => ScopeMatch::Here,
    }
}

/// The orders that concern a module.
#[derive(Clone, Debug, Default)]
pub struct ScopedOrders<'a> {
    /// Orders that apply to its copies, oldest first.
    pub here: Vec<&'a Standing>,
    /// Orders refused here because they name only some of the domains that share its copy, oldest first.
    pub refused: Vec<&'a Standing>,
}

impl<'a> ScopedOrders<'a> {
    /// Sorts orders with an assembly part that matches a module. Calls `place` only if one has a scope.
    pub fn at(
        orders: impl Iterator<Item = &'a Standing>,
        place: impl FnOnce() -> ModulePlace,
    ) -> ScopedOrders<'a> {
        let mut aimed = ScopedOrders::default();
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
                Some(ScopeMatch::Here) => aimed.here.push(standing),
                Some(ScopeMatch::PartOfShared) => aimed.refused.push(standing),
                Some(ScopeMatch::Elsewhere) | None => {}
            }
        }
        aimed
    }

    /// Whether no order concerns the module.
    pub fn is_empty(&self) -> bool {
        self.here.is_empty() && self.refused.is_empty()
    }
}

/// Reports a shared module if orders name some of its domains.
pub fn shared(name: &str, place: &ModulePlace, methods: u64, accepted: bool) -> SharedModule {
    SharedModule {
        module: name.to_owned(),
        methods,
        domains: place.domains.iter().take(MAX_DOMAINS_NAMED).cloned().collect(),
        more_domains: place.domains.len().saturating_sub(MAX_DOMAINS_NAMED) as u64,
        accepted,
    }
}
