//! Applies orders for AppDomains as domains come and go, get their names, and begin to use copies that others have
//! loaded.
#![forbid(unsafe_code)]

use super::worker::{Served, Worker};
use crate::inbox::Progress;
use crate::planner::Standing;
use redial_protocol::ids::RowId;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Worker {
    /// Reviews the orders for AppDomains: names may be known by now, and shared copies may serve other domains.
    pub(super) fn domains_changed(&mut self) -> BTreeSet<RowId> {
        self.context.inbox.begin_domain_check();
        let scoped = self.scoped();
        self.served = self.served_by_shared_copies(&scoped);
        let found = self.review(&scoped);
        self.context.launcher_orders.note(&found.matched().collect());
        found.rows
    }

    /// Checks shared copies now and then, because no callback reports that one more domain uses one (.NET
    /// Framework's domain-neutral assemblies).
    pub(super) fn check_shared_copies(&mut self) {
        let scoped = self.scoped();
        if self.served != self.served_by_shared_copies(&scoped) {
            let affected = self.domains_changed();
            self.apply(&affected, &Progress::silent());
        }
    }

    fn scoped(&self) -> Vec<Arc<Standing>> {
        self.orders.all().iter().filter(|standing| standing.order.domain.is_some()).cloned().collect()
    }

    /// Returns the shared copies that any of these orders may match.
    fn served_by_shared_copies(&self, orders: &[Arc<Standing>]) -> Served {
        let mut served = Served::new();
        if orders.is_empty() {
            return served;
        }
        let modules = &self.context.modules;
        for module in modules.all() {
            if orders.iter().any(|standing| standing.pattern.matches_assembly(&module.name)) {
                let place = modules.place(&self.context.info, &module);
                if place.shared {
                    served.insert(place.key, place.domains);
                }
            }
        }
        served
    }
}
