//! The modules loaded now, each life of a ModuleID under its own generation.
#![forbid(unsafe_code)]

use super::async_methods::AsyncMethods;
use super::precompiled::is_precompiled;
use super::stock::Stock;
use crate::clr::metadata::Import;
use crate::clr::{ClrError, ProfilerInfo};
use crate::hot_reload::is_debug_build;
use crate::planner::scope::Place;
use crate::platform::changed_since_start;
use crate::probes::form::CallSites;
use crate::probes::tokens::LocalSigs;
use crate::runtime::CORE_LIBRARIES;
use crate::sync::lock;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, TryLockError};
use std::time::{Duration, Instant};

/// Longest wait of an unloading host thread for a reader of that module's metadata.
const UNLOAD_WAIT: Duration = Duration::from_millis(100);
/// How long it sleeps between two looks.
const UNLOAD_PAUSE: Duration = Duration::from_micros(200);
/// How long after a module began to unload its code may be going.
const CODE_GOES: Duration = Duration::from_millis(100);
/// How long who asks about code sleeps between two looks.
const CODE_PAUSE: Duration = Duration::from_millis(5);
/// The shared domain's name on CoreCLR 2.1 and .NET Framework.
const SHARED_DOMAIN: &str = "EE Shared Assembly Repository";

/// One life of a loaded module.
pub struct Module {
    /// ModuleID and generation.
    pub key: ModuleKey,
    /// The assembly's simple name, as in patterns.
    pub name: String,
    /// Path of the file; may be empty.
    pub path: String,
    /// `AssemblyID`.
    pub assembly: usize,
    /// `AppDomainID`: of a shared module, the shared domain's. Not valid for the CLR once the domain is gone.
    pub domain: usize,
    /// Its name when the module or the domain went; until then the catalogue has it.
    domain_name: OnceLock<String>,
    /// Reflection.Emit.
    pub dynamic: bool,
    /// Can be unloaded alone; ReJIT does nothing there, or hangs the caller.
    pub collectible: bool,
    /// It was loaded before the agent was attached: its methods may have been compiled, and inlined, unseen.
    pub before_attach: bool,
    /// Whether its file holds precompiled code, once somebody asked.
    precompiled: OnceLock<Option<bool>>,
    /// Whether it was compiled for debugging, once somebody asked.
    debug_build: OnceLock<bool>,
    /// [`Import::expanded`], once somebody asked.
    expanded: OnceLock<Box<[u32]>>,
    /// Its async methods, once one of its methods was to be timed.
    async_methods: OnceLock<AsyncMethods>,
    /// Tokens of the probe's call sites; set by the ReJIT thread before the first request.
    pub call_sites: OnceLock<Result<CallSites, ClrError>>,
    /// Local-variable signatures with a variable of ours; added to by the ReJIT thread before requests.
    pub local_sigs: Mutex<LocalSigs>,
    /// Set before the module unloads: from then on nobody begins to read it, and who reads stops.
    gone: AtomicBool,
    /// Read-locked by readers of its metadata; write-locked once to wait for them.
    readers: RwLock<()>,
}

impl Module {
    /// The ModuleID for calls into the CLR.
    pub fn id(&self) -> usize {
        self.key.module_id as usize
    }

    /// Runs `body` while the module cannot unload; None once it has.
    pub fn while_loaded<T>(&self, body: impl FnOnce() -> T) -> Option<T> {
        let _reading = self.readers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Looked at under the lock: `retire` sets it before it waits.
        (!self.is_gone()).then(body)
    }

    /// Whether its file holds precompiled code, or does not tell: it is part of a single-file program, say, or no longer
    /// the one that was loaded.
    pub fn may_be_precompiled(&self) -> bool {
        let path = Path::new(&self.path);
        let look = || is_precompiled(path).filter(|_| !changed_since_start(path));
        self.precompiled.get_or_init(look).unwrap_or(true)
    }

    /// Whether it was compiled for debugging: the JIT does not optimise it. What cannot be read passes for one.
    pub fn is_debug_build(&self, info: &ProfilerInfo) -> bool {
        let look = || self.with_metadata(info, |import| is_debug_build(import.debuggable().as_deref()));
        match self.debug_build.get() {
            Some(known) => *known,
            None => look().is_none_or(|found| *self.debug_build.get_or_init(|| found)),
        }
    }

    /// Whether other code may stand in the place of calls of a method of this module, which is the core library, with its
    /// metadata at hand.
    pub fn expands(&self, import: &Import, type_token: u32, method: u32) -> bool {
        let tokens = self.expanded.get_or_init(|| import.expanded());
        [method, type_token].iter().any(|token| tokens.binary_search(token).is_ok())
    }

    /// Its async methods, with its metadata at hand.
    pub fn async_methods(&self, import: &Import) -> &AsyncMethods {
        self.async_methods.get_or_init(|| AsyncMethods::read(import))
    }

    /// Runs `body` with the module's metadata; None once unloaded or when there is none.
    pub fn with_metadata<T>(&self, info: &ProfilerInfo, body: impl FnOnce(&Import) -> T) -> Option<T> {
        self.while_loaded(|| info.import(self.id()).ok().map(|import| body(&import))).flatten()
    }

    /// Whether it unloads or has: long readers look now and then, and stop.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// The name its domain has now is the one it is remembered with.
    fn keep_domain_name(&self, name: Option<&String>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            // What is kept already is from before.
            let _ = self.domain_name.set(name.clone());
        }
    }

    /// One of which no more is known.
    fn new(key: ModuleKey, name: String) -> Module {
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
            call_sites: OnceLock::new(),
            local_sigs: Mutex::default(),
            gone: AtomicBool::new(false),
            readers: RwLock::new(()),
        }
    }

    /// One for tests of what knows modules by name and number only.
    #[cfg(test)]
    pub fn sample(key: ModuleKey, name: &str) -> Module {
        Module::new(key, name.to_owned())
    }

    /// Marks it unloaded, and waits, within a bound, for those who read its metadata.
    fn retire(&self, deadline: Instant) {
        self.gone.store(true, Ordering::Release);
        self.wait_for_readers(deadline);
    }

    fn wait_for_readers(&self, deadline: Instant) {
        wait_for_readers(&self.readers, deadline);
    }
}

/// Who reads after this has seen what was stored before.
fn wait_for_readers(readers: &RwLock<()>, deadline: Instant) {
    while let Err(TryLockError::WouldBlock) = readers.try_write() {
        if Instant::now() >= deadline {
            return;
        }
        std::thread::sleep(UNLOAD_PAUSE);
    }
}

/// All modules and domains seen and not yet gone.
#[derive(Default)]
pub struct Modules {
    inner: Mutex<Inner>,
    revision: AtomicU64,
    /// The generation given last.
    generations: AtomicU32,
    /// A domain's name was learnt.
    named: AtomicBool,
    /// What unloads while the modules loaded before an attach are entered.
    pub stock: Stock,
    code: Code,
}

/// Whether the CLR may be asked about code of modules that are not known before it answers.
#[derive(Default)]
struct Code {
    /// Read-locked by who asks.
    readers: RwLock<()>,
    /// When a module began to unload last: the runtime frees its code soon after.
    goes: Mutex<Option<Instant>>,
    /// Never again.
    closed: AtomicBool,
}

#[derive(Default)]
struct Inner {
    by_id: HashMap<usize, Arc<Module>>,
    domains: HashMap<usize, String>,
}

impl Modules {
    /// Reads a loaded module, which nobody knows until it is published. None while its assembly is unknown (then
    /// `ModuleAttachedToAssembly` calls again) or when it is known already. `before_attach`: nobody told of its loading.
    pub fn read(&self, info: &ProfilerInfo, id: usize, before_attach: bool) -> Option<Arc<Module>> {
        if lock(&self.inner).by_id.contains_key(&id) {
            return None;
        }
        let facts = info.module_info(id).ok()?;
        let assembly = facts.assembly?;
        let (name, domain) = info.assembly_info(assembly).ok()?;
        self.learn_domain(info, domain);
        let generation = self.generations.fetch_add(1, Ordering::AcqRel) + 1;
        let key = ModuleKey { module_id: id as u64, generation };
        Some(Arc::new(Module {
            path: facts.path,
            assembly,
            domain,
            dynamic: facts.dynamic,
            collectible: facts.collectible,
            before_attach,
            ..Module::new(key, name)
        }))
    }

    /// The generation given last: modules of later ones were not loaded yet. Takes no lock.
    pub fn generations(&self) -> u32 {
        self.generations.load(Ordering::Acquire)
    }

    /// Makes a module known; false when another life of it is.
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
        // Before anything that may wait in vain: who asks from now on sees it.
        *lock(&self.code.goes) = Some(Instant::now());
        let deadline = Instant::now() + UNLOAD_WAIT;
        self.stock.unloading(id, UNLOAD_WAIT);
        let module = {
            let mut inner = lock(&self.inner);
            let module = inner.by_id.remove(&id)?;
            module.keep_domain_name(inner.domains.get(&module.domain));
            module
        };
        self.changed();
        module.retire(deadline);
        wait_for_readers(&self.code.readers, deadline);
        Some(module)
    }

    /// Runs `body`, which asks the CLR whose code stands somewhere, while no code goes. None where that is not to be had within
    /// `patience`, or never again.
    pub fn while_code_stays<T>(&self, patience: Duration, body: impl FnOnce() -> T) -> Option<T> {
        let deadline = Instant::now() + patience;
        loop {
            {
                let _reading = self.code.readers.read().unwrap_or_else(|poisoned| poisoned.into_inner());
                if self.code.closed.load(Ordering::Acquire) {
                    return None;
                }
                if lock(&self.code.goes).is_none_or(|since| since.elapsed() >= CODE_GOES) {
                    return Some(body());
                }
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(CODE_PAUSE);
        }
    }

    /// Ends all reading of metadata for good, waiting within a bound for who is at it.
    pub fn close(&self) {
        self.code.closed.store(true, Ordering::Release);
        let all = self.all();
        all.iter().for_each(|module| module.gone.store(true, Ordering::Release));
        let deadline = Instant::now() + UNLOAD_WAIT;
        all.iter().for_each(|module| module.wait_for_readers(deadline));
        wait_for_readers(&self.code.readers, deadline);
    }

    /// An AppDomain that is being made: the CLR must not be asked about it yet.
    pub fn note_domain(&self, domain: usize) {
        lock(&self.inner).domains.entry(domain).or_default();
        self.changed();
    }

    /// Learns an AppDomain's name. Only from a callback about it, or about a module of it: while that runs, the domain is
    /// there. Nobody else asks the CLR, which must not be asked about a domain that is gone.
    pub fn learn_domain(&self, info: &ProfilerInfo, domain: usize) {
        // Asked with every module anew: a domain that is being set up has no name (CORPROF_E_DATAINCOMPLETE), or the
        // default one's.
        let name = info.domain_name(domain).unwrap_or_default();
        let mut inner = lock(&self.inner);
        let known = inner.domains.entry(domain).or_default();
        if !name.is_empty() && *known != name {
            *known = name;
            self.named.store(true, Ordering::Release);
            self.changed();
        }
    }

    /// Whether a domain's name was learnt since this was asked last.
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

    /// The domains that can run code, by id, with their names. The CLR tells of one more, its system domain, without
    /// modules and by the core library's file.
    fn domains(&self) -> BTreeMap<usize, String> {
        let inner = lock(&self.inner);
        let populated: HashSet<usize> = inner.by_id.values().map(|module| module.domain).collect();
        let runs_code = |(id, name): &(&usize, &String)| {
            populated.contains(id) || !name.is_empty() && !CORE_LIBRARIES.contains(&name.as_str())
        };
        inner.domains.iter().filter(runs_code).map(|(id, name)| (*id, name.clone())).collect()
    }

    /// Counts what came and went, so that sessions can tell whether to look.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    fn changed(&self) {
        self.revision.fetch_add(1, Ordering::AcqRel);
    }

    /// Whether this life of a module is loaded.
    pub fn has(&self, key: ModuleKey) -> bool {
        self.get(key.module_id as usize).is_some_and(|module| module.key == key)
    }

    /// Where a module is, for orders with a scope.
    pub fn place(&self, info: &ProfilerInfo, module: &Module) -> Place {
        let own = self.domain_of(module);
        let shared = own == SHARED_DOMAIN;
        let domains = if shared {
            self.users(info, module).into_iter().map(|domain| self.domain_name(domain)).collect()
        } else {
            vec![own]
        };
        Place { key: module.key, domains, shared }
    }

    /// The domains that use a shared module's copy: as the runtime says, else all there are.
    fn users(&self, info: &ProfilerInfo, module: &Module) -> Vec<usize> {
        let told = module.while_loaded(|| info.domains_containing(module.id()).ok()).flatten();
        let mut users = told.unwrap_or_default();
        if users.is_empty() {
            users = self.domains().into_keys().collect();
        }
        users.retain(|domain| self.domain_name(*domain) != SHARED_DOMAIN);
        users.sort_unstable();
        users
    }

    /// The live module with that ModuleID.
    pub fn get(&self, id: usize) -> Option<Arc<Module>> {
        lock(&self.inner).by_id.get(&id).cloned()
    }

    /// Whether a collectible module is there from before an attach: what is inlined into its methods was not seen.
    pub fn has_unseen_collectible(&self) -> bool {
        lock(&self.inner).by_id.values().any(|module| module.collectible && module.before_attach)
    }

    /// Every live module, in order of loading.
    pub fn all(&self) -> Vec<Arc<Module>> {
        let mut all: Vec<_> = lock(&self.inner).by_id.values().cloned().collect();
        all.sort_by_key(|module| module.key.generation);
        all
    }

    /// A domain's name; empty when unknown, or when the domain is gone.
    fn domain_name(&self, domain: usize) -> String {
        lock(&self.inner).domains.get(&domain).cloned().unwrap_or_default()
    }

    /// The name of a module's domain, as long as the module is remembered.
    pub fn domain_of(&self, module: &Module) -> String {
        module.domain_name.get().cloned().unwrap_or_else(|| self.domain_name(module.domain))
    }

    /// The catalogue's rows, read fresh.
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
                        let types = import.type_defs().into_iter().chain([super::methods::GLOBAL_TYPE]);
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
