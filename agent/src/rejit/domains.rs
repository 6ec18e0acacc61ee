//! Orders for AppDomains as domains come and go, get their names, and begin to use copies that others have loaded.
#![forbid(unsafe_code)]

use super::inbox::Progress;
use super::thread::Worker;
use crate::planner::Standing;
use redial_protocol::ids::{ModuleKey, RowId};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Names of the AppDomains that each shared copy serves.
pub(super) type Served = HashMap<ModuleKey, Vec<String>>;

impl Worker {
    /// Looks anew at the orders for AppDomains: names may be known by now, and what one copy serves may have changed.
    pub(super) fn domains_changed(&mut self) -> BTreeSet<RowId> {
        self.agent.domains_told.store(false, Ordering::Release);
        let scoped = self.scoped();
        self.served = self.served_by_shared_copies(&scoped);
        let found = self.review(&scoped);
        self.agent.launched.note(&found.matched().collect());
        found.rows
    }

    /// No callback tells that one more domain uses a shared copy (.NET Framework's domain-neutral assemblies), so this
    /// is asked now and then.
    pub(super) fn look_after_shared_copies(&mut self) {
        let scoped = self.scoped();
        if self.served != self.served_by_shared_copies(&scoped) {
            let affected = self.domains_changed();
            self.apply(&affected, &Progress::silent());
        }
    }

    fn scoped(&self) -> Vec<Arc<Standing>> {
        self.orders.all().iter().filter(|standing| standing.order.domain.is_some()).cloned().collect()
    }

    /// The shared copies that any of these orders may mean.
    fn served_by_shared_copies(&self, orders: &[Arc<Standing>]) -> Served {
        let mut served = Served::new();
        if orders.is_empty() {
            return served;
        }
        let modules = &self.agent.modules;
        for module in modules.all() {
            if orders.iter().any(|standing| standing.pattern.matches_assembly(&module.name)) {
                let place = modules.place(&self.agent.info, &module);
                if place.shared {
                    served.insert(place.key, place.domains);
                }
            }
        }
        served
    }
}
