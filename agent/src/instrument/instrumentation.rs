//! State of instrumentation besides the catalogue: the tokens of each module, and the form of calls to probe
//! helpers.
#![forbid(unsafe_code)]

use super::call_form::{CallForm, CallSites, SUPPRESS_NAME};
use super::tokens::{self, ModuleTokens};
use crate::catalogue::{Module, Modules};
use crate::clr::hresult::E_FAIL;
use crate::clr::metadata::Import;
use crate::clr::{ClrError, ProfilerInfo};
use crate::sync::lock;
use redial_protocol::ids::ModuleKey;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};

/// Tokens of every loaded module.
#[derive(Default)]
pub struct Instrumentation {
    modules: Mutex<HashMap<ModuleKey, Arc<ModuleTokens>>>,
    call_form: OnceLock<CallForm>,
}

impl Instrumentation {
    /// Adds a module when it loads.
    pub fn add(&self, key: ModuleKey) -> Arc<ModuleTokens> {
        Arc::clone(lock(&self.modules).entry(key).or_default())
    }

    /// Forgets a module when it unloads.
    pub fn forget(&self, key: ModuleKey) {
        let tokens = lock(&self.modules).remove(&key);
        // Free them without the lock.
        drop(tokens);
    }

    /// Returns the tokens of a module, unless it has unloaded.
    pub fn tokens(&self, key: ModuleKey) -> Option<Arc<ModuleTokens>> {
        lock(&self.modules).get(&key).cloned()
    }

    /// Returns the call sites' tokens in a module; creates them at its first dial.
    ///
    /// # Errors
    /// If the module is gone or its metadata cannot be extended.
    pub fn call_sites(
        &self,
        info: &ProfilerInfo,
        modules: &Modules,
        module: &Module,
    ) -> Result<CallSites, ClrError> {
        let gone = ClrError { call: "GetModuleMetaData", hresult: E_FAIL };
        let tokens = self.tokens(module.key).ok_or(gone)?;
        let make = || tokens::add_call_sites(info, modules, module, self.call_form(info, modules));
        *tokens.call_sites.get_or_init(make)
    }

    /// Returns the best form of calls to probe helpers. It depends on whether the core library has the type
    /// that the cheap form needs. Determined at the first dial, because the first lookup of a name is slow.
    pub fn call_form(&self, info: &ProfilerInfo, modules: &Modules) -> CallForm {
        *self.call_form.get_or_init(|| {
            let has_it = |module: &Arc<Module>| {
                let find = |import: &Import| import.find_type_def(SUPPRESS_NAME).is_some();
                module.is_core_library() && module.with_metadata(info, find) == Some(true)
            };
            if modules.all().iter().any(has_it) { CallForm::Suppressed } else { CallForm::Transition }
        })
    }
}
