//! Changes that other AppDomains would see, because they share a module's only copy.

use super::{MethodTable, Targets};
use crate::catalogue::Module;
use crate::method_set::MethodSet;
use crate::orders::ChangeScope;
use redial_protocol::level::Level;

/// The methods of a change whose only copy serves several AppDomains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Names of their assemblies.
    pub modules: Vec<String>,
    /// Titles of the AppDomains that would see the dials.
    pub domains: Vec<String>,
    /// How many methods there are.
    pub methods: u64,
    /// The change with them.
    pub with: Targets,
    /// The change without them, where anything is left of it.
    pub without: Option<Targets>,
}

impl MethodTable {
    /// Returns which other AppDomains would see a change, where copies are not merged, so that a dial is expected to
    /// concern one AppDomain. None if no method that is turned on is shared.
    pub fn sharing(&self, targets: &Targets, level: Level) -> Option<Sharing> {
        if level == Level::Off || targets.scope == ChangeScope::Everywhere {
            return None;
        }
        let catalogue = &self.catalogue;
        let direct = catalogue
            .modules()
            .iter()
            .filter(|module| catalogue.is_shared(module) && targets.methods.touches(&module.methods));
        let mut modules: Vec<&Module> = direct.collect();
        let (mut shared, mut without) = (MethodSet::default(), None);
        match targets.scope {
            // Modules that the domain shares with others are not below its row, but they are its code too.
            ChangeScope::Domain(domain) => {
                let of_domain = catalogue.shared_in(domain);
                modules.extend(of_domain.iter().filter_map(|module| catalogue.module(*module)));
                for module in &modules {
                    let shown = self.shown_in(std::slice::from_ref(&module.methods));
                    shown.ranges().for_each(|range| shared.insert(range));
                }
                modules.retain(|module| shared.touches(&module.methods));
                without = Some(targets.clone());
            }
            ChangeScope::Copies | ChangeScope::Everywhere => {
                let inside = modules.iter().flat_map(|module| targets.methods.within(&module.methods));
                inside.for_each(|range| shared.insert(range));
            }
        }
        if shared.is_empty() {
            return None;
        }
        let mut named: Vec<(&str, String)> = Vec::new();
        for module in &modules {
            let names = catalogue.domain_names(module).into_iter().zip(catalogue.domain_titles(module));
            for (name, title) in names {
                if !named.iter().any(|(known, _)| *known == name) {
                    named.push((name, title));
                }
            }
        }
        let domains = named.into_iter().map(|(_, title)| title).collect();
        let mut with = targets.clone();
        shared.ranges().for_each(|range| with.methods.insert(range));
        let modules = modules.iter().map(|module| module.name.clone()).collect();
        Some(Sharing { modules, domains, methods: shared.len(), with, without })
    }
}
