//! A process's loaded code: domains → modules → namespaces → types → methods. Each level is a contiguous
//! range of the next, so that a group is two numbers. All text is in arenas. Unloaded modules are only marked
//! until there are many of them; then `forget` removes them.

pub mod arena;
mod authorship;
pub mod bit_set;
mod bodies;
mod bodyless;
pub mod builder;
mod compaction;
pub mod copies;
pub mod framework;
mod full_name;
mod generated;
mod module_import;
pub mod module_removal;
pub mod search;
pub mod substring_search;
pub mod synthetic;
mod text_ranges;
mod texts;
mod type_order;
pub mod union;

use super::ids::{EVERY_DOMAIN, MethodIx, ModuleIx, NamespaceIx, Node, TypeIx};
use arena::Arena;
use builder::Batch;
pub use full_name::FullName;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey};
use redial_text::words;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use text_ranges::Texts;

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its key.
    pub key: ModuleKey,
    /// Simple name of its assembly.
    pub name: String,
    /// Path of its file; empty for a module in memory.
    pub path: String,
    /// Module version id.
    pub mvid: String,
    /// Index in `Catalogue::domains` of the domain it is shown under.
    pub domain: u32,
    /// Ids of all domains that contain it.
    pub domains: Vec<u64>,
    /// Whether one copy serves every domain.
    pub shared: bool,
    /// Whether it is dynamic or collectible, so that its dials are refused.
    pub dynamic: bool,
    /// Whether it belongs to a framework.
    pub framework: bool,
    /// Whether it has been unloaded.
    pub unloaded: bool,
    /// Its namespaces, as `NamespaceIx`.
    pub namespaces: Range<u32>,
    /// Its types, as `TypeIx`.
    pub types: Range<u32>,
    /// Its methods, as `MethodIx`.
    pub methods: Range<u32>,
    /// Its ranges in the arenas of types, names and signatures.
    texts: Texts,
}

#[derive(Clone, Debug)]
struct Namespace {
    module: u32,
    /// Length of its name in bytes.
    length: u16,
    types: Range<u32>,
}

#[derive(Clone, Debug)]
struct Type {
    namespace: u32,
    methods: Range<u32>,
}

/// All code that one process has loaded.
#[derive(Debug, Default)]
pub struct Catalogue {
    domains: Vec<DomainRow>,
    modules: Vec<Module>,
    by_key: HashMap<ModuleKey, u32>,
    /// Modules by assembly name, in the order of loading.
    by_name: HashMap<String, Vec<u32>>,
    /// Whether copies of one method are one row.
    merged: bool,
    /// Ids of the domains at the last request for modules.
    current_domains: HashSet<u64>,
    namespaces: Vec<Namespace>,
    types: Vec<Type>,
    /// `Module!Namespace.Type.` for the types of each file.
    type_text: Arena,
    /// Names of methods and `(PARAMS)`, distinct within each file, and the index of each method's.
    names: Arena,
    signatures: Arena,
    name_of: Vec<u32>,
    signature_of: Vec<u32>,
    tokens: Vec<u32>,
    /// For each module's range: its methods by ascending token, relative to its first.
    by_token: Vec<u32>,
    bodyless: bodyless::Bodyless,
    generated: generated::GeneratedMethods,
    /// Types by name, and each type's place in that order. New types are at the end.
    order: Vec<u32>,
    places: Vec<u32>,
    expected: u64,
    complete: bool,
    /// Whether its domains are whole processes.
    spans_processes: bool,
    /// Why domains cannot be changed, by their ids.
    unavailable: HashMap<u64, String>,
    /// Ids of domains that are processes that have ended.
    ended: HashSet<u64>,
    /// Grows with every change; the second one ignores changes that concern only whole domains.
    edition: u64,
    modules_edition: u64,
}

impl Catalogue {
    /// Sets the list of domains and the expected number of methods.
    pub fn set_domains(&mut self, domains: Vec<DomainRow>, expected: u64) {
        self.current_domains = domains.iter().map(|domain| domain.id).collect();
        // Keep the indices: modules refer to domains by them.
        for domain in domains {
            match self.domains.iter_mut().find(|known| known.id == domain.id) {
                Some(known) => *known = domain,
                None => self.domains.push(domain),
            }
        }
        self.expected = expected;
        self.edition += 1;
    }

    /// Appends a module's methods. Returns false and changes nothing if the module is known or does not fit.
    pub fn append(&mut self, mut batch: Batch) -> bool {
        let Batch { module, types, type_text, names, signatures, .. } = &batch;
        let count = batch.tokens.len();
        let whole = types.len() == type_text.len()
            && types.last().copied().unwrap_or(0) as usize == count
            && [batch.name_of.len(), batch.signature_of.len(), batch.by_token.len()] == [count; 3]
            && batch.bodyless.iter().all(|(method, _)| (*method as usize) < count)
            && batch.generated.iter().all(|method| (*method as usize) < count)
            && batch.name_of.iter().all(|place| (*place as usize) < names.len())
            && batch.signature_of.iter().all(|place| (*place as usize) < signatures.len());
        let fits = u32::try_from(self.tokens.len() + count).is_ok()
            && self.type_text.fits(type_text)
            && self.names.fits(names)
            && self.signatures.fits(signatures);
        if !whole || !fits || self.by_key.contains_key(&module.key) {
            return false;
        }
        let texts = self.take_texts(&mut batch);
        let Batch { module, framework, namespaces, types, .. } = &batch;
        self.name_of.extend(batch.name_of.iter().map(|place| texts.names.start + place));
        self.signature_of.extend(batch.signature_of.iter().map(|place| texts.signatures.start + place));
        let index = self.modules.len() as u32;
        let (first_namespace, first_type, first_method) =
            (self.namespaces.len() as u32, self.types.len() as u32, self.tokens.len() as u32);
        let mut type_start = 0;
        for (at, (length, types_end)) in namespaces.iter().enumerate() {
            self.namespaces.push(Namespace {
                module: index,
                length: *length,
                types: first_type + type_start..first_type + types_end,
            });
            let mut from = batch_type_start(types, type_start);
            for end in types.get(type_start as usize..*types_end as usize).unwrap_or_default() {
                self.types.push(Type {
                    namespace: first_namespace + at as u32,
                    methods: first_method + from..first_method + end,
                });
                from = *end;
            }
            type_start = *types_end;
        }
        self.tokens.extend_from_slice(&batch.tokens);
        self.bodyless.append(first_method, count, &batch.bodyless);
        self.generated.append(first_method, count, &batch.generated);
        self.by_token.extend_from_slice(&batch.by_token);
        let placed = self.places.len() as u32..self.types.len() as u32;
        self.order.extend(placed.clone());
        self.places.extend(placed);
        let home = module.domains.iter().find_map(|id| self.domains.iter().position(|one| one.id == *id));
        let shared = self.domains.iter().position(|domain| domain.shared).filter(|_| module.shared);
        self.by_key.insert(module.key, index);
        self.by_name.entry(module.name.clone()).or_default().push(index);
        self.modules.push(Module {
            key: module.key,
            name: module.name.clone(),
            path: module.path.clone(),
            mvid: module.mvid.clone(),
            domain: shared.or(home).unwrap_or(0) as u32,
            domains: module.domains.clone(),
            shared: module.shared,
            dynamic: module.dynamic || module.collectible,
            framework: *framework,
            unloaded: false,
            namespaces: first_namespace..self.namespaces.len() as u32,
            types: first_type..self.types.len() as u32,
            methods: first_method..self.tokens.len() as u32,
            texts,
        });
        self.modules_changed();
        true
    }

    /// Marks modules as unloaded.
    pub fn unload(&mut self, keys: &[ModuleKey]) {
        for key in keys {
            let module = self.by_key.get(key).and_then(|index| self.modules.get_mut(*index as usize));
            if let Some(module) = module {
                module.unloaded = true;
                self.modules_changed();
            }
        }
    }

    /// Returns whether everything that was loaded at the last request is here.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the expected total number of methods, for a progress bar.
    pub fn expected(&self) -> u64 {
        self.expected.max(self.tokens.len() as u64)
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Grows when modules are added, removed, unloaded or reordered, but not when a domain is renamed or
    /// becomes unreachable.
    pub fn modules_edition(&self) -> u64 {
        self.modules_edition
    }

    /// Records that the modules changed.
    fn modules_changed(&mut self) {
        self.edition += 1;
        self.modules_edition += 1;
    }

    /// Returns the AppDomains.
    pub fn domains(&self) -> &[DomainRow] {
        &self.domains
    }

    /// Returns the modules in the order of loading, as `ModuleIx`.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// Returns a module.
    pub fn module(&self, module: ModuleIx) -> Option<&Module> {
        self.modules.get(module.0 as usize)
    }

    /// Returns the number of methods.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns whether there are no methods.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Returns the number of types.
    pub fn type_count(&self) -> usize {
        self.types.len()
    }

    /// Returns the type of a method.
    pub fn type_of(&self, method: MethodIx) -> TypeIx {
        let after = self.types.partition_point(|one| one.methods.end <= method.0);
        TypeIx(after as u32)
    }

    /// Returns the namespace of a type.
    pub fn namespace_of(&self, owner: TypeIx) -> NamespaceIx {
        NamespaceIx(self.types.get(owner.0 as usize).map_or(u32::MAX, |one| one.namespace))
    }

    /// Returns the module of a namespace.
    pub fn module_of_namespace(&self, namespace: NamespaceIx) -> ModuleIx {
        ModuleIx(self.namespaces.get(namespace.0 as usize).map_or(u32::MAX, |one| one.module))
    }

    /// Returns the module of a type.
    pub fn module_of_type(&self, owner: TypeIx) -> ModuleIx {
        self.module_of_namespace(self.namespace_of(owner))
    }

    /// Returns the module of a method.
    pub fn module_of(&self, method: MethodIx) -> ModuleIx {
        let after = self.modules.partition_point(|module| module.methods.end <= method.0);
        ModuleIx(after as u32)
    }

    /// Returns the methods of a type.
    pub fn methods_of_type(&self, owner: TypeIx) -> Range<u32> {
        self.types.get(owner.0 as usize).map_or(0..0, |one| one.methods.clone())
    }

    /// Returns the types of a namespace.
    pub fn types_of_namespace(&self, namespace: NamespaceIx) -> Range<u32> {
        self.namespaces.get(namespace.0 as usize).map_or(0..0, |one| one.types.clone())
    }

    /// Returns the methods of a namespace.
    pub fn methods_of_namespace(&self, namespace: NamespaceIx) -> Range<u32> {
        let types = self.types_of_namespace(namespace);
        self.methods_of_types(types)
    }

    fn methods_of_types(&self, types: Range<u32>) -> Range<u32> {
        let first = self.types.get(types.start as usize).map(|one| one.methods.start);
        let last = types.end.checked_sub(1).and_then(|last| self.types.get(last as usize));
        match (first, last) {
            (Some(start), Some(last)) if !types.is_empty() => start..last.methods.end,
            _ => 0..0,
        }
    }

    /// Returns the methods below a row of the tree: one range, except for domains.
    pub fn methods_below(&self, node: Node) -> Vec<Range<u32>> {
        match node {
            Node::Domain(domain) => self.methods_of_domain(domain),
            Node::Module(module) => self.module(module).map(|one| one.methods.clone()).into_iter().collect(),
            Node::Namespace(namespace) => vec![self.methods_of_namespace(namespace)],
            Node::Type(owner) => vec![self.methods_of_type(owner)],
            Node::Method(MethodIx(method)) => Vec::from([method..method.saturating_add(1)]),
        }
    }

    /// Returns the parent of a row of the tree; `None` for domains.
    pub fn parent(&self, node: Node) -> Option<Node> {
        match node {
            Node::Domain(_) => None,
            Node::Module(module) => self.module(module).map(|_| Node::Domain(self.tree_domain(module))),
            Node::Namespace(namespace) => Some(Node::Module(self.module_of_namespace(namespace))),
            Node::Type(owner) => Some(Node::Namespace(self.namespace_of(owner))),
            Node::Method(method) => Some(Node::Type(self.type_of(method))),
        }
    }

    /// Returns the label of a row of the tree; for a method, its name.
    pub fn label(&self, node: Node) -> &str {
        match node {
            Node::Domain(EVERY_DOMAIN) if self.spans_processes => "all processes",
            Node::Domain(EVERY_DOMAIN) => "all AppDomains",
            Node::Domain(domain) => self.domains.get(domain as usize).map_or("", |one| &one.name),
            Node::Module(module) => self.module(module).map_or("", |one| &one.name),
            Node::Namespace(namespace) => match self.namespace_name(namespace) {
                "" => "(no namespace)",
                name => name,
            },
            Node::Type(owner) => self.type_own_name(owner),
            Node::Method(method) => self.method_name(method),
        }
    }

    /// Returns a namespace's full name; empty for the unnamed one.
    pub fn namespace_name(&self, namespace: NamespaceIx) -> &str {
        let Some(one) = self.namespaces.get(namespace.0 as usize) else { return "" };
        self.type_name(TypeIx(one.types.start)).get(..usize::from(one.length)).unwrap_or_default()
    }

    /// Returns `Module!Namespace.Type.`
    pub fn type_text(&self, owner: TypeIx) -> &str {
        let Some(module) = self.module(self.module_of_type(owner)) else { return "" };
        self.type_text.get((module.texts.types.start + owner.0.wrapping_sub(module.types.start)) as usize)
    }

    /// Returns `Namespace.Type`
    pub fn type_name(&self, owner: TypeIx) -> &str {
        let module = self.module(self.module_of_type(owner)).map_or(0, |module| module.name.len());
        let text = self.type_text(owner);
        text.get(module + 1..text.len().saturating_sub(1)).unwrap_or_default()
    }

    /// Returns `Type`; for nested types with their outer types.
    pub fn type_own_name(&self, owner: TypeIx) -> &str {
        let length = self.namespaces.get(self.namespace_of(owner).0 as usize).map_or(0, |one| one.length);
        let skipped = if length == 0 { 0 } else { usize::from(length) + 1 };
        self.type_name(owner).get(skipped..).unwrap_or_default()
    }

    /// Returns a method's own name.
    pub fn method_name(&self, method: MethodIx) -> &str {
        let place = self.name_of.get(method.0 as usize);
        place.map_or("", |place| self.names.get(*place as usize))
    }

    /// Returns a method's `(PARAMS)` for display.
    pub fn signature(&self, method: MethodIx) -> &str {
        let place = self.signature_of.get(method.0 as usize);
        place.map_or("", |place| self.signatures.get(*place as usize))
    }

    /// Returns a method's MethodDef token.
    pub fn token(&self, method: MethodIx) -> MethodToken {
        MethodToken(self.tokens.get(method.0 as usize).copied().unwrap_or(0))
    }

    /// Returns a method's full name with the ranges of its parts.
    pub fn full_name(&self, method: MethodIx) -> FullName {
        let owner = self.type_text(self.type_of(method));
        let (name, signature) = (self.method_name(method), self.signature(method));
        let module = self.module(self.module_of(method)).map_or(0, |module| module.name.len());
        let name_end = owner.len() + name.len();
        FullName {
            text: [owner, name, signature].concat(),
            module: 0..module,
            type_name: module + 1..owner.len().saturating_sub(1).max(module + 1),
            method: owner.len()..name_end,
            signature: name_end..name_end + signature.len(),
        }
    }

    /// Returns the pattern of a method's full name.
    pub fn pattern(&self, method: MethodIx) -> String {
        let full = self.full_name(method);
        let name = full.text.get(..full.signature.start).unwrap_or_default();
        format!("{name}{}", words::pattern_parameters(full.part(&full.signature)))
    }

    /// Returns a method's copy key, which the agent understands.
    pub fn copy_of(&self, method: MethodIx) -> Option<CopyKey> {
        let module = self.module(self.module_of(method))?.key;
        Some(CopyKey { module, token: self.token(method) })
    }

    /// Returns the method with a copy key, if its module is known.
    pub fn find(&self, copy: CopyKey) -> Option<MethodIx> {
        let module = self.modules.get(*self.by_key.get(&copy.module)? as usize)?;
        let range = module.methods.start as usize..module.methods.end as usize;
        let (sorted, tokens) = (self.by_token.get(range.clone())?, self.tokens.get(range)?);
        let token = |place: &u32| tokens.get(*place as usize).copied().unwrap_or(0);
        let at = sorted.binary_search_by_key(&copy.token.0, token).ok()?;
        sorted.get(at).map(|place| MethodIx(module.methods.start + place))
    }

    /// Returns whether a module is known.
    pub fn has_module(&self, key: ModuleKey) -> bool {
        self.by_key.contains_key(&key)
    }

    /// Returns the approximate memory used in bytes.
    pub fn bytes(&self) -> usize {
        self.type_text.bytes()
            + self.names.bytes()
            + self.signatures.bytes()
            + (self.name_of.capacity() + self.signature_of.capacity()) * size_of::<u32>()
            + (self.tokens.capacity() + self.by_token.capacity()) * size_of::<u32>()
            + self.bodyless.bytes()
            + self.generated.bytes()
            + (self.order.capacity() + self.places.capacity()) * size_of::<u32>()
            + self.types.capacity() * size_of::<Type>()
            + self.namespaces.capacity() * size_of::<Namespace>()
            + self.modules.capacity() * size_of::<Module>()
    }
}

fn batch_type_start(ends: &[u32], index: u32) -> u32 {
    index.checked_sub(1).and_then(|before| ends.get(before as usize)).copied().unwrap_or(0)
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
pub mod tests;
