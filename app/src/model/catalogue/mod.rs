//! What a process has loaded: domains → modules → namespaces → types → methods. Each level is a contiguous range of
//! the next, so that a group is two numbers; all text stands in arenas. Modules that were unloaded are marked, and
//! nothing is moved until there are many of them (`forget`).

mod again;
pub mod arena;
pub mod bits;
mod bodies;
pub mod builder;
pub mod copies;
mod dense;
pub mod forget;
pub mod framework;
mod full_name;
mod order;
pub mod search;
mod stay;
pub mod synthetic;
mod texts;
pub mod union;

use super::ids::{MethodIx, ModuleIx, NamespaceIx, Node, TypeIx};
use crate::output::words;
use arena::Arena;
use builder::Batch;
pub use full_name::FullName;
use redial_protocol::catalogue::DomainRow;
use redial_protocol::ids::{CopyKey, MethodToken, ModuleKey};
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use texts::Texts;

/// A module.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its key.
    pub key: ModuleKey,
    /// Simple name of its assembly.
    pub name: String,
    /// Path of its file; empty for one in memory.
    pub path: String,
    /// Module version id.
    pub mvid: String,
    /// The domain it is shown under, by its place in `Catalogue::domains`.
    pub domain: u32,
    /// Ids of all domains that hold it.
    pub domains: Vec<u64>,
    /// Whether one copy serves every domain.
    pub shared: bool,
    /// Whether it is dynamic or collectible, so that its dials are refused.
    pub dynamic: bool,
    /// Whether it belongs to a framework.
    pub framework: bool,
    /// Whether it was unloaded since.
    pub unloaded: bool,
    /// Its namespaces, as `NamespaceIx`.
    pub namespaces: Range<u32>,
    /// Its types, as `TypeIx`.
    pub types: Range<u32>,
    /// Its methods, as `MethodIx`.
    pub methods: Range<u32>,
    /// Its texts among those of types, the names and the signatures.
    texts: Texts,
}

#[derive(Clone, Debug)]
struct Namespace {
    module: u32,
    /// Bytes of its name.
    length: u16,
    types: Range<u32>,
}

#[derive(Clone, Debug)]
struct Type {
    namespace: u32,
    methods: Range<u32>,
}

/// Everything one process has loaded.
#[derive(Debug, Default)]
pub struct Catalogue {
    domains: Vec<DomainRow>,
    modules: Vec<Module>,
    by_key: HashMap<ModuleKey, u32>,
    /// Modules by the names of their assemblies, in the order they came.
    by_name: HashMap<String, Vec<u32>>,
    /// Whether copies of one method are one row.
    merged: bool,
    /// Ids of the domains that there were when modules were asked for last.
    current: HashSet<u64>,
    namespaces: Vec<Namespace>,
    types: Vec<Type>,
    /// `Module!Namespace.Type.` of the types of each file.
    type_text: Arena,
    /// Names of methods, and `(PARAMS)`, each once a file; and where those of each method stand.
    names: Arena,
    signatures: Arena,
    name_of: Vec<u32>,
    signature_of: Vec<u32>,
    tokens: Vec<u32>,
    /// Of each module's range: its methods by ascending token, counted from its first.
    by_token: Vec<u32>,
    bodyless: bodies::Bodyless,
    /// Types by name, and each type's place in it. Types that came since stand at the end.
    order: Vec<u32>,
    places: Vec<u32>,
    expected: u64,
    complete: bool,
    /// Whether its domains are whole processes.
    spans: bool,
    /// Of domains that cannot be turned, by their ids: why.
    beyond: HashMap<u64, String>,
    /// Domains that are over, by their ids: processes that have ended.
    over: HashSet<u64>,
    /// Grows with every change; and the same without what concerns whole domains alone.
    edition: u64,
    modules_edition: u64,
}

impl Catalogue {
    /// Takes the list of domains in, and how many methods there will be.
    pub fn set_domains(&mut self, domains: Vec<DomainRow>, expected: u64) {
        self.current = domains.iter().map(|domain| domain.id).collect();
        // Places are kept: modules name domains by them.
        for domain in domains {
            match self.domains.iter_mut().find(|known| known.id == domain.id) {
                Some(known) => *known = domain,
                None => self.domains.push(domain),
            }
        }
        self.expected = expected;
        self.edition += 1;
    }

    /// Takes a module's methods in. Answers false, changing nothing, when it is known already or nothing more fits.
    pub fn append(&mut self, mut batch: Batch) -> bool {
        let Batch { module, types, type_text, names, signatures, .. } = &batch;
        let count = batch.tokens.len();
        let whole = types.len() == type_text.len()
            && types.last().copied().unwrap_or(0) as usize == count
            && [batch.name_of.len(), batch.signature_of.len(), batch.by_token.len()] == [count; 3]
            && batch.bodyless.iter().all(|(method, _)| (*method as usize) < count)
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

    /// Marks modules that are no longer loaded.
    pub fn unload(&mut self, keys: &[ModuleKey]) {
        for key in keys {
            let module = self.by_key.get(key).and_then(|index| self.modules.get_mut(*index as usize));
            if let Some(module) = module {
                module.unloaded = true;
                self.modules_changed();
            }
        }
    }

    /// Whether everything that was loaded when it was asked for is there.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    /// Methods to be expected in all; for a progress bar.
    pub fn expected(&self) -> u64 {
        self.expected.max(self.tokens.len() as u64)
    }

    /// Grows with every change.
    pub fn edition(&self) -> u64 {
        self.edition
    }

    /// Grows when modules come, go, are unloaded, or have another place among the others: not when a domain has another name, or
    /// is out of reach.
    pub fn modules_edition(&self) -> u64 {
        self.modules_edition
    }

    /// The modules are others now.
    fn modules_changed(&mut self) {
        self.edition += 1;
        self.modules_edition += 1;
    }

    /// AppDomains.
    pub fn domains(&self) -> &[DomainRow] {
        &self.domains
    }

    /// Modules in the order they came, as `ModuleIx`.
    pub fn modules(&self) -> &[Module] {
        &self.modules
    }

    /// A module.
    pub fn module(&self, module: ModuleIx) -> Option<&Module> {
        self.modules.get(module.0 as usize)
    }

    /// Methods there are.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Types there are.
    pub fn type_count(&self) -> usize {
        self.types.len()
    }

    /// The type of a method.
    pub fn type_of(&self, method: MethodIx) -> TypeIx {
        let after = self.types.partition_point(|one| one.methods.end <= method.0);
        TypeIx(after as u32)
    }

    /// The namespace of a type.
    pub fn namespace_of(&self, owner: TypeIx) -> NamespaceIx {
        NamespaceIx(self.types.get(owner.0 as usize).map_or(u32::MAX, |one| one.namespace))
    }

    /// The module of a namespace.
    pub fn module_of_namespace(&self, namespace: NamespaceIx) -> ModuleIx {
        ModuleIx(self.namespaces.get(namespace.0 as usize).map_or(u32::MAX, |one| one.module))
    }

    /// The module of a type.
    pub fn module_of_type(&self, owner: TypeIx) -> ModuleIx {
        self.module_of_namespace(self.namespace_of(owner))
    }

    /// The module of a method.
    pub fn module_of(&self, method: MethodIx) -> ModuleIx {
        let after = self.modules.partition_point(|module| module.methods.end <= method.0);
        ModuleIx(after as u32)
    }

    /// The methods of a type.
    pub fn methods_of_type(&self, owner: TypeIx) -> Range<u32> {
        self.types.get(owner.0 as usize).map_or(0..0, |one| one.methods.clone())
    }

    /// The types of a namespace.
    pub fn types_of_namespace(&self, namespace: NamespaceIx) -> Range<u32> {
        self.namespaces.get(namespace.0 as usize).map_or(0..0, |one| one.types.clone())
    }

    /// The methods of a namespace.
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

    /// The methods below a row of the tree, as ranges: one, but for domains.
    pub fn methods_below(&self, node: Node) -> Vec<Range<u32>> {
        match node {
            Node::Domain(domain) => self.methods_of_domain(domain),
            Node::Module(module) => self.module(module).map(|one| one.methods.clone()).into_iter().collect(),
            Node::Namespace(namespace) => vec![self.methods_of_namespace(namespace)],
            Node::Type(owner) => vec![self.methods_of_type(owner)],
            Node::Method(MethodIx(method)) => Vec::from([method..method.saturating_add(1)]),
        }
    }

    /// The row of the tree above another; None for domains.
    pub fn parent(&self, node: Node) -> Option<Node> {
        match node {
            Node::Domain(_) => None,
            Node::Module(module) => self.module(module).map(|_| Node::Domain(self.home(module))),
            Node::Namespace(namespace) => Some(Node::Module(self.module_of_namespace(namespace))),
            Node::Type(owner) => Some(Node::Namespace(self.namespace_of(owner))),
            Node::Method(method) => Some(Node::Type(self.type_of(method))),
        }
    }

    /// What a row of the tree is called below its parent; a method, its name.
    pub fn label(&self, node: Node) -> &str {
        match node {
            Node::Domain(copies::EVERY_DOMAIN) if self.spans => "all processes",
            Node::Domain(copies::EVERY_DOMAIN) => "all AppDomains",
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

    /// A namespace's full name; empty for the one without.
    pub fn namespace_name(&self, namespace: NamespaceIx) -> &str {
        let Some(one) = self.namespaces.get(namespace.0 as usize) else { return "" };
        self.type_name(TypeIx(one.types.start)).get(..usize::from(one.length)).unwrap_or_default()
    }

    /// `Module!Namespace.Type.`
    pub fn type_text(&self, owner: TypeIx) -> &str {
        let Some(module) = self.module(self.module_of_type(owner)) else { return "" };
        self.type_text.get((module.texts.types.start + owner.0.wrapping_sub(module.types.start)) as usize)
    }

    /// `Namespace.Type`
    pub fn type_name(&self, owner: TypeIx) -> &str {
        let module = self.module(self.module_of_type(owner)).map_or(0, |module| module.name.len());
        let text = self.type_text(owner);
        text.get(module + 1..text.len().saturating_sub(1)).unwrap_or_default()
    }

    /// `Type`, nested ones with their outer types.
    pub fn type_own_name(&self, owner: TypeIx) -> &str {
        let length = self.namespaces.get(self.namespace_of(owner).0 as usize).map_or(0, |one| one.length);
        let skipped = if length == 0 { 0 } else { usize::from(length) + 1 };
        self.type_name(owner).get(skipped..).unwrap_or_default()
    }

    /// A method's own name.
    pub fn method_name(&self, method: MethodIx) -> &str {
        let place = self.name_of.get(method.0 as usize);
        place.map_or("", |place| self.names.get(*place as usize))
    }

    /// A method's `(PARAMS)` as people read them.
    pub fn signature(&self, method: MethodIx) -> &str {
        let place = self.signature_of.get(method.0 as usize);
        place.map_or("", |place| self.signatures.get(*place as usize))
    }

    /// A method's MethodDef token.
    pub fn token(&self, method: MethodIx) -> MethodToken {
        MethodToken(self.tokens.get(method.0 as usize).copied().unwrap_or(0))
    }

    /// A method's full name with where its parts stand in it.
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

    /// The pattern of a method by its full name.
    pub fn pattern(&self, method: MethodIx) -> String {
        let full = self.full_name(method);
        let name = full.text.get(..full.signature.start).unwrap_or_default();
        format!("{name}{}", words::pattern_parameters(full.part(&full.signature)))
    }

    /// The copy a method is, in the agent's words.
    pub fn copy_of(&self, method: MethodIx) -> Option<CopyKey> {
        let module = self.module(self.module_of(method))?.key;
        Some(CopyKey { module, token: self.token(method) })
    }

    /// The method that a copy is, if its module is known.
    pub fn find(&self, copy: CopyKey) -> Option<MethodIx> {
        let module = self.modules.get(*self.by_key.get(&copy.module)? as usize)?;
        let range = module.methods.start as usize..module.methods.end as usize;
        let (sorted, tokens) = (self.by_token.get(range.clone())?, self.tokens.get(range)?);
        let token = |place: &u32| tokens.get(*place as usize).copied().unwrap_or(0);
        let at = sorted.binary_search_by_key(&copy.token.0, token).ok()?;
        sorted.get(at).map(|place| MethodIx(module.methods.start + place))
    }

    /// Whether a module is known.
    pub fn has_module(&self, key: ModuleKey) -> bool {
        self.by_key.contains_key(&key)
    }

    /// Bytes it occupies, about.
    pub fn bytes(&self) -> usize {
        self.type_text.bytes()
            + self.names.bytes()
            + self.signatures.bytes()
            + (self.name_of.capacity() + self.signature_of.capacity()) * size_of::<u32>()
            + (self.tokens.capacity() + self.by_token.capacity()) * size_of::<u32>()
            + self.bodyless.bytes()
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
