//! The loaded modules. Each load of a ModuleID has its own generation.
#![forbid(unsafe_code)]

use super::async_methods::AsyncMethods;
use super::code_queries::CodeQueries;
use super::inheritance::InheritanceCache;
use super::precompiled::is_precompiled;
use super::unload_wait::{UNLOAD_WAIT, UnloadWait};
use crate::clr::metadata::{GLOBAL_TYPE, Import};
use crate::clr::module_enumeration::ModuleEnumeration;
use crate::clr::{LoadedModule, ModuleLife, ProfilerInfo};
use crate::hot_reload::is_debug_build;
use crate::planner::scope::ModulePlace;
use crate::platform::changed_since_start;
use crate::runtime::CORE_LIBRARIES;
use crate::sync::lock;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

/// The shared domain's name on CoreCLR 2.1 and .NET Framework.
const SHARED_DOMAIN: &str = "EE Shared Assembly Repository";

/// A module, from one load to its unload.
pub struct Module {
    /// ModuleID and generation.
    pub key: ModuleKey,
    /// The assembly's simple name, as in patterns.
    pub name: String,
    /// Path of the file; may be empty.
    pub path: String,
    /// `AssemblyID`.
    pub assembly: usize,
    /// `AppDomainID`; for a shared module, the shared domain's. Invalid for the CLR once the domain is gone.
    pub domain: usize,
    /// The domain's name at the time the module or the domain went; until then the catalogue has it.
    domain_name: OnceLock<String>,
    /// Made with Reflection.Emit.
    pub dynamic: bool,
    /// Can unload on its own; ReJIT has no effect there, or hangs the caller.
    pub collectible: bool,
    /// Loaded before the agent attached, so that its methods may have been compiled and inlined unseen.
    pub before_attach: bool,
    /// Whether its file contains precompiled code, once queried.
    precompiled: OnceLock<Option<bool>>,
    /// Whether it was compiled for debugging, once queried.
    debug_build: OnceLock<bool>,
    /// [`Import::expanded`], once queried.
    expanded: OnceLock<Box<[u32]>>,
    /// Its async methods, once one of its methods was dialled at time.
    async_methods: OnceLock<AsyncMethods>,
    /// Its unload waits for readers of this.
    life: ModuleLife,
}

impl Module {
    /// Returns the ModuleID, as a name. Calls into the CLR need a [`LoadedModule`].
    pub fn id(&self) -> usize {
        self.key.module_id as usize
    }

    /// Keeps the module from unloading; None once it has.
    pub fn loaded(&self) -> Option<LoadedModule<'_>> {
        self.life.loaded()
    }

    /// Runs `body` while the module cannot unload; None once it has.
    pub fn while_loaded<T>(&self, body: impl FnOnce(&LoadedModule) -> T) -> Option<T> {
        self.loaded().map(|loaded| body(&loaded))
    }

    /// Whether its file contains precompiled code. True if the file does not say, for example because it is part of
    /// a single-file program or was replaced since it was loaded.
    pub fn may_be_precompiled(&self) -> bool {
        let path = Path::new(&self.path);
        let look = || is_precompiled(path).filter(|_| !changed_since_start(path));
        self.precompiled.get_or_init(look).unwrap_or(true)
    }

    /// Whether it was compiled for debugging, so that the JIT does not optimise it. True if its metadata cannot be
    /// read.
    pub fn is_debug_build(&self, info: &ProfilerInfo) -> bool {
        let look = || self.with_metadata(info, |import| is_debug_build(import.debuggable().as_deref()));
        match self.debug_build.get() {
            Some(known) => *known,
            None => look().is_none_or(|found| *self.debug_build.get_or_init(|| found)),
        }
    }

    /// Whether Hot Reload, if it is on, may change the module, so that the runtime recompiles nothing in it.
    pub fn is_editable(&self, info: &ProfilerInfo, hot_reload: bool) -> bool {
        hot_reload && !self.dynamic && self.is_debug_build(info)
    }

    /// Whether other code may replace calls of a method of this module, which must be the core library. `import` is
    /// its metadata.
    pub fn expands(&self, import: &Import, type_token: u32, method: u32) -> bool {
        let tokens = self.expanded.get_or_init(|| import.expanded());
        [method, type_token].iter().any(|token| tokens.binary_search(token).is_ok())
    }

    /// Returns its async methods; `import` is its metadata.
    pub fn async_methods(&self, import: &Import) -> &AsyncMethods {
        self.async_methods.get_or_init(|| AsyncMethods::read(import))
    }

    /// Runs `body` with the module's metadata; None if it has none or has unloaded, or if it began to unload
    /// meanwhile, since what `body` read may be incomplete.
    pub fn with_metadata<T>(&self, info: &ProfilerInfo, body: impl FnOnce(&Import) -> T) -> Option<T> {
        let read = self.while_loaded(|loaded| info.import(loaded).ok().map(|import| body(&import))).flatten();
        read.filter(|_| !self.is_gone())
    }

    /// Whether the module is unloading or has unloaded. Long-running readers check this and stop.
    pub fn is_gone(&self) -> bool {
        self.life.is_gone()
    }

    /// Remembers the present name of its domain.
    fn keep_domain_name(&self, name: Option<&String>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            // A name that is already set stays.
            let _ = self.domain_name.set(name.clone());
        }
    }

    /// Makes a module with all other fields empty.
    fn new(life: ModuleLife, key: ModuleKey, name: String) -> Module {
        Module {
            key,
            name,
            path: String::new(),
            assembly: 0,
            domain: 0,
            domain_name: OnceLock::new(),
            dynamic: false,
            collectible: false,
            before_attach: false,
            precompiled: OnceLock::new(),
            debug_build: OnceLock::new(),
            expanded: OnceLock::new(),
            async_methods: OnceLock::new(),
            life,
        }
    }

    /// Makes a module for tests that only need its name and number.
    #[cfg(test)]
    pub fn sample(key: ModuleKey, name: &str) -> Module {
        Module::new(ModuleLife::sample(key.module_id as usize), key, name.to_owned())
    }

    /// Whether this is the core library.
    pub fn is_core_library(&self) -> bool {
        matches!(self.name.as_str(), "System.Private.CoreLib" | "mscorlib")
            && CORE_LIBRARIES.iter().any(|file| self.path.ends_with(file))
    }
}

/// All modules and domains seen and not yet gone.
#[derive(Default)]
pub struct Modules {
    inner: Mutex<Inner>,
    revision: AtomicU64,
    /// The last generation assigned.
    generations: AtomicU32,
    /// A domain's name became known.
    named: AtomicBool,
    /// Modules that unload while those loaded before an attach are recorded.
    pub enumeration: ModuleEnumeration,
    unload_wait: UnloadWait,
    /// Methods that classes inherit to implement interfaces.
    pub(super) inheritance: InheritanceCache,
    /// Queries about machine code.
    pub code: CodeQueries,
}

#[derive(Default)]
struct Inner {
    by_id: HashMap<usize, Arc<Module>>,
    domains: HashMap<usize, String>,
}

impl Modules {
    /// Reads a loaded module, which stays invisible until it is published. None while its assembly is unknown
    /// (`ModuleAttachedToAssembly` will call again) or if it is already known. `before_attach`: its loading was not
    /// reported.
    pub fn read(
        &self,
        info: &ProfilerInfo,
        loaded: &LoadedModule,
        before_attach: bool,
    ) -> Option<Arc<Module>> {
        if lock(&self.inner).by_id.contains_key(&loaded.id()) {
            return None;
        }
        let facts = info.module_info(loaded).ok()?;
        let assembly = facts.assembly?;
        let (name, domain) = info.assembly_info(assembly).ok()?;
        self.learn_domain(info, domain);
        let generation = self.generations.fetch_add(1, Ordering::AcqRel) + 1;
        let key = ModuleKey { module_id: loaded.id() as u64, generation };
        Some(Arc::new(Module {
            path: facts.path,
            assembly,
            domain,
            dynamic: facts.dynamic,
            collectible: facts.collectible,
            before_attach,
            ..Module::new(ModuleLife::of(loaded), key, name)
        }))
    }

    /// Returns the last generation assigned: modules with later ones were not loaded yet. Takes no lock.
    pub fn generations(&self) -> u32 {
        self.generations.load(Ordering::Acquire)
    }

    /// Makes a module visible; false if another one with its ModuleID is.
    pub fn publish(&self, module: &Arc<Module>) -> bool {
        match lock(&self.inner).by_id.entry(module.id()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::clone(module));
                self.changed();
                true
            }
        }
    }

    /// Forgets a module that is about to unload, after a bounded wait for readers of its metadata.
    pub fn unload(&self, id: usize) -> Option<Arc<Module>> {
        // Set first, so that every later query sees it, even if the waits below time out.
        self.code.begin_unload();
        self.unload_wait.within(|deadline| {
            let is_unlisted = self.enumeration.unloading(id, deadline);
            let module = {
                let mut inner = lock(&self.inner);
                let Some(module) = inner.by_id.remove(&id) else { return (None, is_unlisted) };
                module.keep_domain_name(inner.domains.get(&module.domain));
                module
            };
            self.changed();
            module.life.end();
            let is_unread = module.life.wait_for_readers(deadline);
            let is_unasked = self.code.wait_for_queries(deadline);
            (Some(module), is_unlisted && is_unread && is_unasked)
        })
    }

    /// Returns the number of unloads that went on although a reader was still there.
    pub fn unfinished_reads(&self) -> u64 {
        self.unload_wait.timeouts()
    }

    /// Waits, within the bound of an unload, until nobody queries the dynamic method that is about to be destroyed.
    pub fn destroy_dynamic_method(&self) {
        self.unload_wait.within(|deadline| ((), self.code.destroy_dynamic_method(deadline)));
    }

    /// Ends all reading of metadata for good. `wait`: waits within a bound for present readers.
    pub fn close(&self, wait: bool) {
        self.code.close();
        let all = self.all();
        all.iter().for_each(|module| module.life.end());
        if !wait {
            return;
        }
        let deadline = Instant::now() + UNLOAD_WAIT;
        for module in all {
            module.life.wait_for_readers(deadline);
        }
        self.code.wait_for_queries(deadline);
    }

    /// Records an AppDomain under construction: the CLR must not be queried about it yet.
    pub fn note_domain(&self, domain: usize) {
        lock(&self.inner).domains.entry(domain).or_default();
        self.changed();
    }

    /// Queries an AppDomain's name. Call it only from a callback about the domain or one of its modules, during
    /// which the domain exists. No other code may query the CLR about domains, which may be gone.
    pub fn learn_domain(&self, info: &ProfilerInfo, domain: usize) {
        // Query again with every module: a domain under construction has no name (CORPROF_E_DATAINCOMPLETE), or the
        // default domain's.
        let name = info.domain_name(domain).unwrap_or_default();
        let mut inner = lock(&self.inner);
        let known = inner.domains.entry(domain).or_default();
        if !name.is_empty() && *known != name {
            *known = name;
            self.named.store(true, Ordering::Release);
            self.changed();
        }
    }

    /// Whether a domain's name became known since the last call.
    pub fn were_named(&self) -> bool {
        self.named.swap(false, Ordering::AcqRel)
    }

    /// Forgets an AppDomain that shuts down.
    pub fn forget_domain(&self, domain: usize) {
        let mut inner = lock(&self.inner);
        let name = inner.domains.remove(&domain);
        let of_domain = inner.by_id.values().filter(|module| module.domain == domain);
        of_domain.for_each(|module| module.keep_domain_name(name.as_ref()));
        drop(inner);
        self.changed();
    }

    /// Returns the domains that can run code, by id, with their names. The CLR also lists its system domain, which
    /// has no modules and is named after the core library's file.
    fn domains(&self) -> BTreeMap<usize, String> {
        let inner = lock(&self.inner);
        let populated: HashSet<usize> = inner.by_id.values().map(|module| module.domain).collect();
        let runs_code = |(id, name): &(&usize, &String)| {
            populated.contains(id) || !name.is_empty() && !CORE_LIBRARIES.contains(&name.as_str())
        };
        inner.domains.iter().filter(runs_code).map(|(id, name)| (*id, name.clone())).collect()
    }

    /// Counts loads and unloads, so that sessions know when to check.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether the module with this id and generation is loaded.
    pub fn has(&self, key: ModuleKey) -> bool {
        self.get(key.module_id as usize).is_some_and(|module| module.key == key)
    }

    /// Returns the AppDomains of a module, to compare with the scopes of orders.
    pub fn place(&self, info: &ProfilerInfo, module: &Module) -> ModulePlace {
        let own = self.domain_of(module);
        let shared = own == SHARED_DOMAIN;
        let domains = if shared {
            self.users(info, module).into_iter().map(|domain| self.domain_name(domain)).collect()
        } else {
            vec![own]
        };
        ModulePlace { key: module.key, domains, shared }
    }

    /// Returns the domains that use a shared module's copy, according to the runtime; all domains if it does not
    /// say.
    fn users(&self, info: &ProfilerInfo, module: &Module) -> Vec<usize> {
        let reported = module.while_loaded(|loaded| info.domains_containing(loaded).ok()).flatten();
        let mut users = reported.unwrap_or_default();
        if users.is_empty() {
            users = self.domains().into_keys().collect();
        }
        users.retain(|domain| self.domain_name(*domain) != SHARED_DOMAIN);
        users.sort_unstable();
        users
    }

    /// Returns the loaded module with that ModuleID.
    pub fn get(&self, id: usize) -> Option<Arc<Module>> {
        lock(&self.inner).by_id.get(&id).cloned()
    }

    /// Whether a collectible module was loaded before an attach: inlining into its methods went unseen.
    pub fn has_unseen_collectible(&self) -> bool {
        lock(&self.inner).by_id.values().any(|module| module.collectible && module.before_attach)
    }

    /// Forgets the methods that classes inherit to implement interfaces. A later search reads them anew.
    pub fn forget_inheritance(&self) {
        self.inheritance.clear();
    }

    /// Returns every loaded module, in order of loading.
    pub fn all(&self) -> Vec<Arc<Module>> {
        let mut all: Vec<_> = lock(&self.inner).by_id.values().cloned().collect();
        all.sort_by_key(|module| module.key.generation);
        all
    }

    /// Returns a domain's name; empty if unknown, or if the domain is gone.
    fn domain_name(&self, domain: usize) -> String {
        lock(&self.inner).domains.get(&domain).cloned().unwrap_or_default()
    }

    /// Returns the name of a module's domain, even after the domain is gone.
    pub fn domain_of(&self, module: &Module) -> String {
        module.domain_name.get().cloned().unwrap_or_else(|| self.domain_name(module.domain))
    }

    /// Reads the rows of the catalogue anew.
    pub fn rows(&self, info: &ProfilerInfo) -> (Vec<DomainRow>, Vec<ModuleRow>) {
        let modules = self.all();
        let row = |(id, name)| DomainRow { id: id as u64, shared: name == SHARED_DOMAIN, name };
        let domains: Vec<DomainRow> = self.domains().into_iter().map(row).collect();
        let is_shared = |id: usize| domains.iter().any(|d| d.id == id as u64 && d.shared);
        let rows = modules
            .iter()
            .map(|module| {
                let (mvid, methods) = module
                    .with_metadata(info, |import| {
                        let types = import.type_defs().into_iter().chain([GLOBAL_TYPE]);
                        let methods = types.map(|token| import.methods_of(token).len() as u32).sum();
                        (import.mvid().map(|mvid| format!("{mvid:?}")).unwrap_or_default(), methods)
                    })
                    .unwrap_or_default();
                let shared = is_shared(module.domain);
                let users = if shared { self.users(info, module) } else { vec![module.domain] };
                ModuleRow {
                    key: module.key,
                    name: module.name.clone(),
                    path: module.path.clone(),
                    mvid,
                    domains: users.into_iter().map(|domain| domain as u64).collect(),
                    shared,
                    assembly: module.assembly as u64,
                    dynamic: module.dynamic,
                    collectible: module.collectible,
                    methods,
                }
            })
            .collect();
        (domains, rows)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_waits_for_readers_only_if_asked() {
        let modules = Modules::default();
        let module = Arc::new(Module::sample(ModuleKey { module_id: 1, generation: 1 }, "Sample"));
        assert!(modules.publish(&module));
        let reader = module.loaded().expect("it is loaded");
        let began = Instant::now();
        modules.close(false);
        assert!(began.elapsed() < UNLOAD_WAIT && module.is_gone());
        modules.close(true);
        assert!(began.elapsed() >= UNLOAD_WAIT, "the reader was there");
        drop(reader);
        assert!(module.loaded().is_none());
    }

    #[test]
    fn unloads_share_one_wait_and_count_their_timeouts() {
        let modules = Modules::default();
        let all: Vec<_> = (1..=20)
            .map(|id| Arc::new(Module::sample(ModuleKey { module_id: id, generation: id as u32 }, "Sample")))
            .collect();
        assert!(all.iter().all(|module| modules.publish(module)));
        assert!(modules.unload(20).is_some() && modules.unload(99).is_none());
        assert_eq!(modules.unfinished_reads(), 0);
        let readers: Vec<_> = all.iter().filter_map(|module| module.loaded()).collect();
        let began = Instant::now();
        (1..=19).for_each(|id| assert!(modules.unload(id).is_some()));
        assert!(
            began.elapsed() >= UNLOAD_WAIT / 2 && began.elapsed() < 10 * UNLOAD_WAIT,
            "not 100 ms for each"
        );
        assert_eq!((readers.len(), modules.unfinished_reads()), (19, 19));
    }
}
