//! The modules loaded now, each life of a ModuleID under its own generation.
#![forbid(unsafe_code)]

use crate::clr::metadata::Import;
use crate::clr::{ClrError, ProfilerInfo};
use crate::probes::form::CallSites;
use crate::probes::tokens::LocalSigs;
use crate::sync::lock;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, RwLock, TryLockError};
use std::time::{Duration, Instant};

/// Longest wait of an unloading host thread for a reader of that module's metadata.
const UNLOAD_WAIT: Duration = Duration::from_millis(100);
/// How long it sleeps between two looks.
const UNLOAD_PAUSE: Duration = Duration::from_micros(200);
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
    /// `AppDomainID`.
    pub domain: usize,
    /// Reflection.Emit.
    pub dynamic: bool,
    /// Can be unloaded alone; ReJIT does nothing there, or hangs the caller.
    pub collectible: bool,
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

    /// Runs `body` with the module's metadata; None once unloaded or when there is none.
    pub fn with_metadata<T>(&self, info: &ProfilerInfo, body: impl FnOnce(&Import) -> T) -> Option<T> {
        self.while_loaded(|| info.import(self.id()).ok().map(|import| body(&import))).flatten()
    }

    /// Whether it unloads or has: long readers look now and then, and stop.
    pub fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// Marks it unloaded, and waits, within a bound, for those who read its metadata.
    fn retire(&self) {
        self.gone.store(true, Ordering::Release);
        self.wait_for_readers(Instant::now() + UNLOAD_WAIT);
    }

    fn wait_for_readers(&self, deadline: Instant) {
        while let Err(TryLockError::WouldBlock) = self.readers.try_write() {
            if Instant::now() >= deadline {
                return;
            }
            std::thread::sleep(UNLOAD_PAUSE);
        }
    }
}

/// All modules and domains seen and not yet gone.
#[derive(Default)]
pub struct Modules {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    by_id: HashMap<usize, Arc<Module>>,
    domains: HashMap<usize, String>,
    generations: u32,
}

impl Modules {
    /// Reads a loaded module, which nobody knows until it is published. None while its assembly is unknown (then
    /// `ModuleAttachedToAssembly` calls again) or when it is known already.
    pub fn read(&self, info: &ProfilerInfo, id: usize) -> Option<Arc<Module>> {
        if lock(&self.inner).by_id.contains_key(&id) {
            return None;
        }
        let facts = info.module_info(id).ok()?;
        let (name, domain) = info.assembly_info(facts.assembly?).ok()?;
        let domain_name = info.domain_name(domain).unwrap_or_default();
        let mut inner = lock(&self.inner);
        inner.generations += 1;
        inner.domains.insert(domain, domain_name);
        let module = Arc::new(Module {
            key: ModuleKey { module_id: id as u64, generation: inner.generations },
            name,
            path: facts.path,
            domain,
            dynamic: facts.dynamic,
            collectible: facts.collectible,
            call_sites: OnceLock::new(),
            local_sigs: Mutex::default(),
            gone: AtomicBool::new(false),
            readers: RwLock::new(()),
        });
        Some(module)
    }

    /// Makes a module known; false when another life of it is.
    pub fn publish(&self, module: &Arc<Module>) -> bool {
        match lock(&self.inner).by_id.entry(module.id()) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(Arc::clone(module));
                true
            }
        }
    }

    /// Forgets a module that is about to unload, after a bounded wait for readers of its metadata.
    pub fn unload(&self, id: usize) -> Option<Arc<Module>> {
        let module = lock(&self.inner).by_id.remove(&id)?;
        module.retire();
        Some(module)
    }

    /// Ends all reading of metadata for good, waiting within a bound for who is at it.
    pub fn close(&self) {
        let all = self.all();
        all.iter().for_each(|module| module.gone.store(true, Ordering::Release));
        let deadline = Instant::now() + UNLOAD_WAIT;
        all.iter().for_each(|module| module.wait_for_readers(deadline));
    }

    /// Forgets an AppDomain that shuts down.
    pub fn forget_domain(&self, domain: usize) {
        lock(&self.inner).domains.remove(&domain);
    }

    /// The live module with that ModuleID.
    pub fn get(&self, id: usize) -> Option<Arc<Module>> {
        lock(&self.inner).by_id.get(&id).cloned()
    }

    /// Every live module, in order of loading.
    pub fn all(&self) -> Vec<Arc<Module>> {
        let mut all: Vec<_> = lock(&self.inner).by_id.values().cloned().collect();
        all.sort_by_key(|module| module.key.generation);
        all
    }

    /// A domain's name, empty when unknown.
    pub fn domain_name(&self, info: &ProfilerInfo, domain: usize) -> String {
        let known = lock(&self.inner).domains.get(&domain).cloned().unwrap_or_default();
        if !known.is_empty() {
            return known;
        }
        // Names may come only after the domain's first module (CORPROF_E_DATAINCOMPLETE until then).
        let name = info.domain_name(domain).unwrap_or_default();
        lock(&self.inner).domains.insert(domain, name.clone());
        name
    }

    /// The catalogue's rows, read fresh.
    pub fn rows(&self, info: &ProfilerInfo) -> (Vec<DomainRow>, Vec<ModuleRow>) {
        let modules = self.all();
        let mut ids: Vec<usize> = lock(&self.inner).domains.keys().copied().collect();
        ids.sort_unstable();
        let domains: Vec<DomainRow> = ids
            .into_iter()
            .map(|id| {
                let name = self.domain_name(info, id);
                DomainRow { id: id as u64, shared: name == SHARED_DOMAIN, name }
            })
            .collect();
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
                ModuleRow {
                    key: module.key,
                    name: module.name.clone(),
                    path: module.path.clone(),
                    mvid,
                    domains: vec![module.domain as u64],
                    shared: is_shared(module.domain),
                    assembly: 0,
                    dynamic: module.dynamic,
                    collectible: module.collectible,
                    methods,
                }
            })
            .collect();
        (domains, rows)
    }
}
