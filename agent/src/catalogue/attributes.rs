//! The attributes of a module's types and methods that patterns name.
#![forbid(unsafe_code)]

use super::names::ModuleNames;
use crate::clr::metadata::Import;
use redial_protocol::pattern::{AttributeName, Pattern};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The attributes of a module that any of some patterns names.
pub struct NamedAttributes {
    /// Full metadata names of attribute types, by TypeDef or MethodDef token of the owner.
    owners: HashMap<u32, Vec<Arc<str>>>,
    /// The types with an attribute, or with a method with one.
    types: HashSet<u32>,
}

impl NamedAttributes {
    /// Reads every attribute of the module once.
    pub fn read(import: &Import, names: &ModuleNames, patterns: &[&Pattern]) -> NamedAttributes {
        // By constructor; None: no pattern names it.
        let mut known: HashMap<u32, Option<Arc<str>>> = HashMap::new();
        let mut found = NamedAttributes { owners: HashMap::new(), types: HashSet::new() };
        let wanted = |name: &str| {
            let mut attributes = patterns.iter().flat_map(|pattern| pattern.attributes());
            attributes.any(|attribute| attribute.matches(name))
        };
        let name_of = |constructor| {
            let (token, _) = names.instance(import, import.type_of_constructor(constructor)?)?;
            names.type_name(import, token).filter(|name| wanted(name))
        };
        import.each_attribute(|owner, constructor| {
            let name = known.entry(constructor).or_insert_with(|| name_of(constructor));
            if let Some(name) = name {
                let of_owner = found.owners.entry(owner).or_default();
                if !of_owner.contains(name) {
                    of_owner.push(Arc::clone(name));
                }
            }
        });
        const METHOD_DEF: u32 = 0x06;
        let type_of = |owner: u32| match owner >> 24 {
            METHOD_DEF => import.method(owner).ok().map(|method| method.type_def),
            _ => Some(owner),
        };
        found.types = found.owners.keys().filter_map(|owner| type_of(*owner)).collect();
        found
    }

    /// Whether a type, or any of its methods, has such an attribute.
    pub fn has_any(&self, type_def: u32) -> bool {
        self.types.contains(&type_def)
    }

    /// Whether a method or its type has each of these attributes.
    pub fn has_all(&self, type_def: u32, method: u32, attributes: &[AttributeName]) -> bool {
        let has = |attribute: &AttributeName| {
            let own = [method, type_def].into_iter().filter_map(|owner| self.owners.get(&owner)).flatten();
            own.into_iter().any(|name| attribute.matches(name))
        };
        attributes.iter().all(has)
    }
}
