//! The modules loaded now, each life of a ModuleID under its own generation.
#![forbid(unsafe_code)]

use crate::clr::metadata::Import;
use crate::clr::{ClrError, ProfilerInfo};
use crate::sync::lock;
use redial_protocol::catalogue::{DomainRow, ModuleRow};
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, RwLock, TryLockError};
use std::time::{Duration, Instant};

/// Longest wait of an unloading host thread for a reader of that module's metadata.
const UNLOAD_WAIT: Duration = Duration::from_millis(100);
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
    /// StandAloneSig token of the probe's call site; set by the ReJIT thread before the first request.
    pub call_site: OnceLock<Result<u32, ClrError>>,
    /// True while the CLR keeps the module; write-locked to unload it.
    alive: RwLock<bool>,
}

impl Module {
    /// The ModuleID for calls into the CLR.
    pub fn id(&self) -> usize {
        self.key.module_id as usize
    }

    /// Runs `body` while the module cannot unload; None once it has.
    pub fn while_loaded<T>(&self, body: impl FnOnce() -> T) -> Option<T> {
        let alive = self.alive.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        alive.then(body)
    }

    /// Runs `body` with the module's metadata; None once unloaded or when there is none.
    pub fn with_metadata<T>(&self, info: &ProfilerInfo, body: impl FnOnce(&Import) -> T) -> Option<T> {
        self.while_loaded(|| info.import(self.id()).ok().map(|import| body(&import))).flatten()
    }

    /// Whether it still is loaded.
    pub fn is_loaded(&self) -> bool {
        self.while_loaded(|| ()).is_some()
    }

    /// Marks it unloaded, after a bounded wait for readers. Answers whether none was left.
    fn retire(&self) -> bool {
        let deadline = Instant::now() + UNLOAD_WAIT;
        loop {
            match self.alive.try_write() {
                Ok(mut alive) => {
                    *alive = false;
                    return true;
                }
                Err(TryLockError::Poisoned(poisoned)) => {
                    *poisoned.into_inner() = false;
                    return true;
                }
                Err(TryLockError::WouldBlock) if Instant::now() >= deadline => return false,
                Err(TryLockError::WouldBlock) => std::thread::yield_now(),
            }
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
    /// Takes note of a loaded module. None while its assembly is unknown (then `ModuleAttachedToAssembly` calls
    /// again) or when it is known already.
    pub fn load(&self, info: &ProfilerInfo, id: usize) -> Option<Arc<Module>> {
        if lock(&self.inner).by_id.contains_key(&id) {
            return None;
        }
        let facts = info.module_info(id).ok()?;
        let (name, domain) = info.assembly_info(facts.assembly?).ok()?;
        let domain_name = info.domain_name(domain).unwrap_or_default();
        let mut inner = lock(&self.inner);
        if inner.by_id.contains_key(&id) {
            return None;
        }
        inner.generations += 1;
        inner.domains.insert(domain, domain_name);
        let module = Arc::new(Module {
            key: ModuleKey { module_id: id as u64, generation: inner.generations },
            name,
            path: facts.path,
            domain,
            dynamic: facts.dynamic,
            collectible: facts.collectible,
            call_site: OnceLock::new(),
            alive: RwLock::new(true),
        });
        inner.by_id.insert(id, Arc::clone(&module));
        Some(module)
    }

    /// Forgets a module that is about to unload, after a bounded wait for readers of its metadata.
    pub fn unload(&self, id: usize) -> Option<Arc<Module>> {
        let module = lock(&self.inner).by_id.remove(&id)?;
        module.retire();
        Some(module)
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
                    dynamic: module.dynamic || module.collectible,
                    methods,
                }
            })
            .collect();
        (domains, rows)
    }
}
