//! Methods that implement members of an interface for a class that inherits them, while their own class does not have the
//! interface: with `class B : A, IHandler`, a call of `IHandler.Handle` may run `A.Handle` (ECMA-335 II.12.2). The metadata
//! of B's module shows this. Each module is read once, and [`super::inheritance`] keeps the result.
#![forbid(unsafe_code)]

use super::explicit::explicit_implementations;
use super::inheritance::{InheritanceByModule, InheritedImplementation, ModuleInheritance};
use super::names::ModuleNames;
use super::supertypes::{Member, Supertype, Supertypes, virtual_methods, with_arguments};
use super::type_definitions::Definition;
use super::{Module, Modules};
use crate::clr::ProfilerInfo;
use crate::clr::metadata::Import;
use redial_protocol::ids::ModuleKey;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Most inherited implementations of one module: far more than real modules have.
const MAX_INHERITED: usize = 16 << 10;
/// Base classes that have no such methods, or too many derived classes to look at.
const ROOTS: [&str; 5] =
    ["System.Object", "System.ValueType", "System.Enum", "System.MulticastDelegate", "System.Attribute"];

/// Returns the inherited implementations of each loaded module. Reads modules that were not read before, and those that
/// lacked an assembly that is loaded now. Once `stop` returns true, leaves out the modules that it has not finished; a
/// later search reads them.
pub fn read_inheritance(
    info: &ProfilerInfo,
    modules: &Modules,
    stop: &dyn Fn() -> bool,
) -> InheritanceByModule {
    let loaded = modules.all();
    let names: HashSet<&str> = loaded.iter().map(|module| module.name.as_str()).collect();
    let known = modules.inheritance.current(&names);
    let supertypes = Supertypes::new(info, modules);
    let read = |module: &Arc<Module>| match known.get(&module.key) {
        Some(one) => Some((module.key, Arc::clone(one))),
        None => Some((module.key, Arc::new(read_module(info, module, &supertypes, stop)?))),
    };
    let all: InheritanceByModule = loaded.iter().filter_map(read).collect();
    modules.inheritance.set(all.clone());
    all
}

/// Reads the inherited implementations of a module; None if it unloads, or if `stop` returns true.
fn read_module(
    info: &ProfilerInfo,
    module: &Module,
    supertypes: &Supertypes,
    stop: &dyn Fn() -> bool,
) -> Option<ModuleInheritance> {
    let by_module = module.with_metadata(info, |import| {
        let names = ModuleNames::default();
        let mut found: HashMap<ModuleKey, HashSet<InheritedImplementation>> = HashMap::new();
        let mut number = 0;
        for type_def in import.type_defs() {
            if number >= MAX_INHERITED || !may_inherit(import, &names, type_def) {
                continue;
            }
            if stop() {
                return None;
            }
            for (module, one) in of_class(import, &names, type_def, supertypes) {
                number += usize::from(found.entry(module).or_default().insert(one));
            }
        }
        Some(found)
    })??;
    Some(ModuleInheritance { by_module, missing: supertypes.take_missing() })
}

/// Whether a type is a class with interfaces and a base class that may have methods for them.
fn may_inherit(import: &Import, names: &ModuleNames, type_def: u32) -> bool {
    if import.interfaces(type_def).is_empty() {
        return false;
    }
    let shape = import.type_shape(type_def);
    let base = shape.base.filter(|_| !shape.is_interface);
    let base = base.and_then(|token| names.instance(import, token));
    let name = base.and_then(|(token, _)| names.type_name(import, token));
    name.is_some_and(|name| !ROOTS.contains(&&*name))
}

/// Returns the implementations that a class inherits for the interfaces that it lists itself.
fn of_class(
    import: &Import,
    names: &ModuleNames,
    type_def: u32,
    supertypes: &Supertypes,
) -> Vec<(ModuleKey, InheritedImplementation)> {
    let all = supertypes.of(import, names, type_def);
    let explicit = explicit_implementations(import, names, type_def);
    let own = virtual_methods(import, names, type_def);
    let mut found = Vec::new();
    for interface in all.iter().filter(|one| !one.is_base && one.by.is_none()) {
        for member in supertypes.members(&interface.definition).iter() {
            let parameters = with_arguments(&member.parameters, &interface.arguments);
            let is_same = |other: &Member, own: &[String]| {
                other.is_public
                    && other.name == member.name
                    && other.arity == member.arity
                    && with_arguments(&other.parameters, own) == parameters
            };
            let is_own = own.iter().any(|other| is_same(other, &[]))
                || explicit.iter().any(|one| interface.is_declared(one, &[], member));
            if is_own {
                continue;
            }
            let bases = all.iter().filter(|one| one.is_base);
            let inherited = in_bases(bases, (interface, member), is_same, supertypes);
            found.extend(inherited);
        }
    }
    found
}

/// Returns the method of the nearest base class that implements a member; None if that has no body, or if the base class
/// declares another one to implement it.
fn in_bases<'a>(
    bases: impl Iterator<Item = &'a Supertype>,
    (interface, member): (&Supertype, &Member),
    is_same: impl Fn(&Member, &[String]) -> bool,
    supertypes: &Supertypes,
) -> Option<(ModuleKey, InheritedImplementation)> {
    for base in bases {
        let Definition::Loaded(module, type_def) = &base.definition else { return None };
        let explicit = supertypes.explicit(&base.definition);
        if explicit.iter().any(|one| interface.is_declared(one, &base.arguments, member)) {
            return None;
        }
        let members = supertypes.members(&base.definition);
        if let Some(own) = members.iter().find(|own| is_same(own, &base.arguments)) {
            return own.has_body.then(|| {
                let implementation = InheritedImplementation {
                    type_def: *type_def,
                    method: own.token,
                    interface: Arc::clone(&interface.name),
                    member: own.name.clone(),
                    arity: own.arity,
                    parameters: own.parameters.clone(),
                };
                (module.key, implementation)
            });
        }
    }
    None
}
