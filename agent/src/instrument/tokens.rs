//! Metadata that probes need in a module. The ReJIT thread creates it before it requests bodies: one
//! StandAloneSig for the call site (with the type for the cheap call), and one for each set of local variables
//! that is extended.
#![forbid(unsafe_code)]

use super::call_form::{CallForm, CallSites, SELDOM_SIGNATURE, SUPPRESS_NAME};
use super::local_sigs::{LocalSigKey, LocalSigs, SigWithLocal};
use crate::catalogue::{Module, Modules};
use crate::clr::emit::Emitter;
use crate::clr::hresult::E_FAIL;
use crate::clr::metadata::Import;
use crate::clr::{ClrError, LoadedModule, ProfilerInfo};
use crate::signature::{Type, append_locals, write_type};
use crate::sync::lock;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Mutex, OnceLock};

/// Table number of AssemblyRef (ECMA-335 II.22.5).
const ASSEMBLY_REF: u32 = 0x23;
/// Assembly that programs reference for types of the core library.
const FACADE: &str = "System.Runtime";

/// Opens a module's metadata for writing while the module loads, before anybody reads it. Done later, beside
/// readers, it crashed hosts: a reader sees tables while they are made writable.
///
/// The CLR also widens all tables while it opens them, so that nothing the agent adds makes it replace a table that
/// others read (dotnet/runtime 127957). On a runtime that leaves tables narrow the agent would add nothing.
///
/// # Errors
/// If the metadata cannot be extended.
pub fn open(info: &ProfilerInfo, module: &LoadedModule) -> Result<(), ClrError> {
    drop(info.emitter(module)?);
    if info.import(module)?.has_wide_tables()? {
        return Ok(());
    }
    Err(ClrError { call: "IMetaDataTables", hresult: E_FAIL })
}

/// Creates the call sites' tokens in `module`, which has been opened, at its first dial. `form` is the best
/// form of a call here.
///
/// # Errors
/// If the module is gone or its metadata cannot be extended.
pub fn add_call_sites(
    info: &ProfilerInfo,
    modules: &Modules,
    module: &Module,
    form: CallForm,
) -> Result<CallSites, ClrError> {
    let gone = ClrError { call: "GetModuleMetaData", hresult: E_FAIL };
    module
        .while_loaded(|loaded| {
            let emitter = info.emitter(loaded)?;
            let suppress = match form {
                CallForm::Suppressed => suppress_type(info, modules, &info.import(loaded)?, &emitter)?,
                CallForm::Transition => None,
            };
            let form = if suppress.is_some() { CallForm::Suppressed } else { CallForm::Transition };
            let sites = CallSites {
                always: emitter.stand_alone_sig(&form.signature(suppress.unwrap_or_default()))?,
                seldom: emitter.stand_alone_sig(&SELDOM_SIGNATURE)?,
                form,
            };
            info.apply_metadata(loaded)?;
            Ok(sites)
        })
        .unwrap_or(Err(gone))
}

/// Returns the TypeDef (core library) or TypeRef of the suppressing type; None if the module references no
/// assembly that has or forwards it. The JIT usually reads only the name of a modifier. But for a call in a
/// block that it considers rarely run it makes the runtime create a stub, which loads the type: `netstandard`
/// and `mscorlib` do not forward it, and the call threw.
fn suppress_type(
    info: &ProfilerInfo,
    modules: &Modules,
    import: &Import,
    emitter: &Emitter,
) -> Result<Option<u32>, ClrError> {
    if let Some(own) = import.find_type_def(SUPPRESS_NAME) {
        return Ok(Some(own));
    }
    let mut scopes = BTreeSet::new();
    for token in import.type_refs() {
        match import.type_ref(token)? {
            (_, name) if name == SUPPRESS_NAME => return Ok(Some(token)),
            (scope, _) if scope >> 24 == ASSEMBLY_REF => drop(scopes.insert(scope)),
            _ => {}
        }
    }
    for scope in scopes {
        let has_it = match import.assembly_ref(scope).as_deref() {
            Ok("System.Private.CoreLib") => true,
            Ok(FACADE) => facade_forwards(info, modules),
            _ => false,
        };
        if has_it {
            return emitter.type_ref(scope, SUPPRESS_NAME).map(Some);
        }
    }
    Ok(None)
}

/// Returns whether the facade forwards the suppressing type. A trimmed one may not; that goes unnoticed if it
/// loads after the module.
fn facade_forwards(info: &ProfilerInfo, modules: &Modules) -> bool {
    let modules = modules.all();
    let mut facades = modules.iter().filter(|module| module.name == FACADE);
    facades.all(|facade| facade.with_metadata(info, |import| import.forwards(SUPPRESS_NAME)) != Some(false))
}

/// Maximum number of signatures created for the counting bodies of one request: the CLR compares each with all
/// that the module has, about 30 µs in a core library. Bodies beyond it call the helper; those without
/// variables, the small ones, all share one signature. Timed bodies always get theirs.
const MAX_NEW_SIGS: usize = 512;
/// Number of signatures created before a thread that unloads the module gets its turn, which waits for 100 ms:
/// with 11,000 existing ones, each takes 0.3 ms.
const PART: usize = 256;
/// Maximum number of local variables of a body that is extended: the JIT's own limit is 65,535 with its
/// temporaries.
const MAX_LOCALS: u32 = 60_000;

/// Tokens that probes need in one module.
#[derive(Default)]
pub struct ModuleTokens {
    /// Tokens of the call sites; set by the ReJIT thread before the first request, or when they turn out to be
    /// impossible.
    pub call_sites: OnceLock<Result<CallSites, ClrError>>,
    /// Local-variable signatures extended by variables of the probe; the ReJIT thread adds to them before
    /// requests.
    pub local_sigs: Mutex<LocalSigs>,
    /// TypeSpecs of types that traced bodies refer to; the ReJIT thread adds to them before requests.
    type_specs: Mutex<HashMap<Type, Option<u32>>>,
}

impl ModuleTokens {
    /// Returns the token of a type, if it has one.
    pub fn type_token(&self, ty: &Type) -> Option<u32> {
        match ty {
            Type::ValueType(token) | Type::Class(token) => Some(*token),
            other => lock(&self.type_specs).get(other).copied().flatten(),
        }
    }
}

/// Returns whether a body with this many variables can have one more.
pub fn takes_local(locals: usize) -> bool {
    locals < MAX_LOCALS as usize
}

/// Creates the missing signatures in `module`: all for timed bodies, at most [`MAX_NEW_SIGS`] for counting
/// ones.
pub fn add_local_sigs(
    info: &ProfilerInfo,
    module: &Module,
    tokens: &ModuleTokens,
    counting: BTreeSet<u32>,
    timed: HashSet<LocalSigKey>,
) {
    let missing: Vec<LocalSigKey> = {
        let known = lock(&tokens.local_sigs);
        let unknown = |wanted: &LocalSigKey| !known.is_known(wanted);
        let counting = counting.into_iter().filter(|original| known.counting(*original).is_none());
        let counting = counting.map(|original| (original, Vec::new())).filter(unknown);
        let mut missing: Vec<LocalSigKey> = counting.take(MAX_NEW_SIGS).collect();
        let counted: HashSet<LocalSigKey> = missing.iter().cloned().collect();
        let timed = timed.into_iter().filter(|wanted| unknown(wanted) && !counted.contains(wanted));
        missing.extend(timed);
        missing
    };
    // A thread that unloads the module waits for at most one part.
    for part in missing.chunks(PART) {
        let made =
            module.while_loaded(|loaded| -> Result<Vec<(LocalSigKey, Option<SigWithLocal>)>, ClrError> {
                let import = info.import(loaded)?;
                let emitter = info.emitter(loaded)?;
                let make = |wanted: &LocalSigKey| (wanted.clone(), with_local(&import, &emitter, wanted));
                let made = part.iter().map(make).collect();
                info.apply_metadata(loaded)?;
                Ok(made)
            });
        let Some(Ok(made)) = made else { return };
        let mut known = lock(&tokens.local_sigs);
        made.into_iter().for_each(|(wanted, made)| known.add(wanted, made));
    }
}

/// Creates the missing TypeSpecs of types in `module`.
pub fn add_type_specs(info: &ProfilerInfo, module: &Module, tokens: &ModuleTokens, types: HashSet<Type>) {
    let missing: Vec<Type> = {
        let known = lock(&tokens.type_specs);
        let has_token = |ty: &Type| matches!(ty, Type::ValueType(_) | Type::Class(_));
        types.into_iter().filter(|ty| !has_token(ty) && !known.contains_key(ty)).collect()
    };
    // A thread that unloads the module waits for at most one part.
    for part in missing.chunks(PART) {
        let made = module.while_loaded(|loaded| -> Result<Vec<(Type, Option<u32>)>, ClrError> {
            let emitter = info.emitter(loaded)?;
            let make = |ty: &Type| {
                let mut blob = Vec::new();
                write_type(ty, &mut blob).ok()?;
                emitter.type_spec(&blob).ok()
            };
            let made = part.iter().map(|ty| (ty.clone(), make(ty))).collect();
            info.apply_metadata(loaded)?;
            Ok(made)
        });
        let Some(Ok(made)) = made else { return };
        lock(&tokens.type_specs).extend(made);
    }
}

fn with_local(import: &Import, emitter: &Emitter, wanted: &LocalSigKey) -> Option<SigWithLocal> {
    let (original, further) = wanted;
    let blob = if *original == 0 { Vec::new() } else { import.stand_alone_sig(*original).ok()? };
    let ours: Vec<Type> = std::iter::once(Type::I).chain(further.iter().cloned()).collect();
    let (blob, local) = append_locals(&blob, &ours).ok().filter(|(_, local)| *local < MAX_LOCALS)?;
    let token = emitter.stand_alone_sig(&blob).ok()?;
    Some(SigWithLocal { token, local: u16::try_from(local).ok()? })
}
