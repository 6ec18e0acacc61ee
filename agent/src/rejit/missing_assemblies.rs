//! Assemblies that are not loaded yet and define interfaces or base classes of loaded types. Once one loads, orders by
//! interface may match methods of modules that loaded before it. The runtime loads it before the first call of such a
//! method, since a class needs its interfaces and base classes.
#![forbid(unsafe_code)]

use redial_protocol::ids::ModuleKey;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// Most pairs of an assembly and a module. Further ones are left out: only hostile metadata has as many.
const MAX_PAIRS: usize = 1 << 16;

/// The modules whose types need an assembly, by its simple name.
#[derive(Default)]
pub(super) struct MissingAssemblies {
    needed_by: HashMap<Arc<str>, BTreeSet<ModuleKey>>,
    pairs: usize,
}

impl MissingAssemblies {
    /// Records the assemblies that types of a module need.
    pub(super) fn note(&mut self, module: ModuleKey, assemblies: BTreeSet<Arc<str>>) {
        for assembly in assemblies {
            if self.pairs < MAX_PAIRS && self.needed_by.entry(assembly).or_default().insert(module) {
                self.pairs += 1;
            }
        }
    }

    /// Returns and forgets the modules whose types need an assembly.
    pub(super) fn take(&mut self, assembly: &str) -> BTreeSet<ModuleKey> {
        let modules = self.needed_by.remove(assembly).unwrap_or_default();
        self.pairs = self.pairs.saturating_sub(modules.len());
        modules
    }

    /// Forgets everything, when no order needs it any more.
    pub(super) fn clear(&mut self) {
        *self = MissingAssemblies::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn remembers_modules_until_the_assembly_loads() {
        let key = |generation| ModuleKey { module_id: 7, generation };
        let mut missing = MissingAssemblies::default();
        let names = |names: &[&str]| names.iter().map(|name| Arc::from(*name)).collect();
        missing.note(key(1), names(&["A", "B"]));
        missing.note(key(2), names(&["B"]));
        missing.note(key(2), names(&["B"]));
        assert_eq!(missing.pairs, 3);
        assert_eq!(missing.take("B"), BTreeSet::from([key(1), key(2)]));
        assert_eq!((missing.take("B"), missing.pairs), (BTreeSet::new(), 1));
        missing.clear();
        assert!(missing.take("A").is_empty());
        for generation in 0..=MAX_PAIRS as u32 {
            missing.note(key(generation), names(&["C"]));
        }
        assert_eq!(missing.take("C").len(), MAX_PAIRS);
    }
}
