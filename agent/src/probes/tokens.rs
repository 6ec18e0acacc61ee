//! Metadata the probe needs in a module, made by the ReJIT thread before it asks for bodies: one StandAloneSig for the
//! call site (with the type that asks for the cheap call), and one for each set of local variables that gets ours.
#![forbid(unsafe_code)]

use super::form::{CallForm, CallSites, SELDOM_SIGNATURE, SUPPRESS_NAME};
use super::room::{self, Room};
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::clr::ClrError;
use crate::clr::emit::Emitter;
use crate::clr::hresult::E_FAIL;
use crate::clr::metadata::Import;
use crate::signature::{Type, append_locals, write_locals};
use crate::sync::lock;
use std::collections::{BTreeSet, HashMap, HashSet};

/// Table number of AssemblyRef (ECMA-335 II.22.5).
const ASSEMBLY_REF: u32 = 0x23;
/// The assembly that programs refer to for what the core library has.
const FACADE: &str = "System.Runtime";
/// Variables of the smallest filler: more of one kind than any body has.
const FILLER: usize = 333;

/// Opens a module's metadata for writing as the module loads, before anybody reads it. Done later, beside readers, it
/// ended hosts: a reader sees tables that are being made writable. One without room ([`room`]) is widened as well.
///
/// # Errors
/// When the metadata cannot be extended.
pub fn open(agent: &Agent, module: &Module) -> Result<(), ClrError> {
    match open_quietly(agent, module)? {
        true => agent.info.apply_metadata(module.id()),
        false => Ok(()),
    }
}

/// As [`open`], but the runtime is not told (`ApplyMetaData`), which may wait for other threads: whether it must be.
///
/// # Errors
/// As [`open`].
pub fn open_quietly(agent: &Agent, module: &Module) -> Result<bool, ClrError> {
    let emitter = agent.info.emitter(module.id())?;
    let sizes = agent.info.import(module.id())?.sizes()?;
    let left = Room::of(&sizes);
    if left.is_none() {
        // Surely new, so that it surely is added; the addition that follows finds the limit passed and widens.
        let filler = write_locals(&vec![Type::I4; room::missing(sizes.blobs) + FILLER]);
        emitter.stand_alone_sig(&filler.unwrap_or_default())?;
        emitter.stand_alone_sig(&SELDOM_SIGNATURE)?;
    }
    lock(&module.local_sigs).room = left.unwrap_or(Room::Wide);
    Ok(left.is_none())
}

/// The call sites' tokens in `module`, which has been opened; made at its first dial.
///
/// # Errors
/// When the module is gone or its metadata cannot be extended.
pub fn call_sites(agent: &Agent, module: &Module) -> Result<CallSites, ClrError> {
    *module.call_sites.get_or_init(|| add_call_sites(agent, module))
}

fn add_call_sites(agent: &Agent, module: &Module) -> Result<CallSites, ClrError> {
    let gone = ClrError { call: "GetModuleMetaData", hresult: E_FAIL };
    module
        .while_loaded(|| {
            let emitter = agent.info.emitter(module.id())?;
            let suppress = match agent.call_form() {
                CallForm::Suppressed => suppress_type(agent, &agent.info.import(module.id())?, &emitter)?,
                CallForm::Transition => None,
            };
            let form = if suppress.is_some() { CallForm::Suppressed } else { CallForm::Transition };
            let sites = CallSites {
                always: emitter.stand_alone_sig(&form.signature(suppress.unwrap_or_default()))?,
                seldom: emitter.stand_alone_sig(&SELDOM_SIGNATURE)?,
                form,
            };
            agent.info.apply_metadata(module.id())?;
            Ok(sites)
        })
        .unwrap_or(Err(gone))
}

/// The TypeDef (core library) or TypeRef of the suppressing type; None where the module refers to no assembly that has it or
/// forwards it. The JIT reads a modifier's name only, but for a call in a block that it takes for seldom run it has the
/// runtime make a stub, which loads the type: `netstandard` and `mscorlib` do not forward it, and the call threw.
fn suppress_type(agent: &Agent, import: &Import, emitter: &Emitter) -> Result<Option<u32>, ClrError> {
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
            Ok(FACADE) => facade_forwards(agent),
            _ => false,
        };
        if has_it {
            return emitter.type_ref(scope, SUPPRESS_NAME).map(Some);
        }
    }
    Ok(None)
}

/// Whether the facade forwards the suppressing type: one that was trimmed may not, which is not found out where it loads after
/// the module.
fn facade_forwards(agent: &Agent) -> bool {
    let modules = agent.modules.all();
    let mut facades = modules.iter().filter(|module| module.name == FACADE);
    facades.all(|facade| {
        facade.with_metadata(&agent.info, |import| import.forwards(SUPPRESS_NAME)) != Some(false)
    })
}

/// Signatures made for the counting bodies of one request: the CLR compares each with all that the module has, some 30 µs in
/// a core library. Bodies past it call the leaf; those without variables, the small ones, all share one signature. Timed
/// bodies cannot do without.
const MAX_NEW_SIGS: usize = 512;
/// Signatures made before somebody who unloads the module gets in, who waits for 100 ms: with 11,000 there, each takes 0.3 ms.
const PART: usize = 256;
/// Most local variables a body may have to get more: the JIT's own limit is 65,535 with its temporaries.
const MAX_LOCALS: u32 = 60_000;

/// What gets variables of ours: the StandAloneSig token of the original variables (0 where there are none), and of a timed
/// body with a result the type of the variable that holds it.
pub type Wanted = (u32, Option<Type>);

/// Local-variable signatures of a module with variables of ours at the end.
#[derive(Debug, Default)]
pub struct LocalSigs {
    made: HashMap<Wanted, Option<WithLocal>>,
    /// Of these, for each original, one that serves a counting body as well.
    counting: HashMap<u32, WithLocal>,
    room: Room,
}

/// A signature with our variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WithLocal {
    /// StandAloneSig token.
    pub token: u32,
    /// Number of our first variable, a native integer.
    pub local: u16,
}

/// Whether a body of so many variables can have one more.
pub fn takes_local(locals: usize) -> bool {
    locals < MAX_LOCALS as usize
}

impl LocalSigs {
    /// The signature that takes the place of an original; None when it has none.
    pub fn get(&self, wanted: &Wanted) -> Option<WithLocal> {
        self.made.get(wanted).copied().flatten()
    }

    /// The same for a counting body, which bears a result's variable that it does not use.
    pub fn counting(&self, original: u32) -> Option<WithLocal> {
        self.counting.get(&original).copied()
    }

    fn add(&mut self, wanted: Wanted, made: Option<WithLocal>) {
        let (original, result) = &wanted;
        if let Some(made) = made.filter(|_| result.as_ref().is_none_or(means_the_same_everywhere)) {
            self.counting.entry(*original).or_insert(made);
        }
        self.made.insert(wanted, made);
    }
}

/// Whether a variable of the type can be added to any method: it needs no type parameters, and no type to be loaded that the
/// method may do without.
fn means_the_same_everywhere(ty: &Type) -> bool {
    matches!(ty, Type::I4 | Type::I8 | Type::R4 | Type::R8 | Type::I | Type::Object)
}

/// Makes what is missing of these in `module`: all for timed bodies, for counting ones as far as [`MAX_NEW_SIGS`] goes.
pub fn add_local_sigs(agent: &Agent, module: &Module, counting: BTreeSet<u32>, timed: HashSet<Wanted>) {
    let missing: Vec<Wanted> = {
        let known = lock(&module.local_sigs);
        let unknown = |wanted: &Wanted| !known.made.contains_key(wanted);
        let counting = counting.into_iter().filter(|original| !known.counting.contains_key(original));
        let counting = counting.map(|original| (original, None)).filter(unknown);
        let mut missing: Vec<Wanted> = counting.take(MAX_NEW_SIGS).collect();
        let counted: HashSet<Wanted> = missing.iter().cloned().collect();
        let timed = timed.into_iter().filter(|wanted| unknown(wanted) && !counted.contains(wanted));
        let from = missing.len();
        missing.extend(timed);
        // Where room runs out, it is for the same ones in every process.
        if let Some(timed) = missing.get_mut(from..) {
            timed.sort_by_cached_key(|(original, result)| (*original, format!("{result:?}")));
        }
        missing
    };
    // Who unloads the module waits for no more than a part of them.
    for part in missing.chunks(PART) {
        let mut room = lock(&module.local_sigs).room;
        let made = module.while_loaded(|| -> Result<Vec<(Wanted, Option<WithLocal>)>, ClrError> {
            let import = agent.info.import(module.id())?;
            let emitter = agent.info.emitter(module.id())?;
            let mut make =
                |wanted: &Wanted| (wanted.clone(), with_local(&import, &emitter, wanted, &mut room));
            let made = part.iter().map(&mut make).collect();
            agent.info.apply_metadata(module.id())?;
            Ok(made)
        });
        let Some(Ok(made)) = made else { return };
        let mut known = lock(&module.local_sigs);
        made.into_iter().for_each(|(wanted, made)| known.add(wanted, made));
        known.room = room;
    }
}

fn with_local(import: &Import, emitter: &Emitter, wanted: &Wanted, room: &mut Room) -> Option<WithLocal> {
    let (original, result) = wanted;
    let blob = if *original == 0 { Vec::new() } else { import.stand_alone_sig(*original).ok()? };
    let ours: Vec<Type> = std::iter::once(Type::I).chain(result.clone()).collect();
    let (blob, local) = append_locals(&blob, &ours).ok().filter(|(_, local)| *local < MAX_LOCALS)?;
    let token = room.take(&blob).then(|| emitter.stand_alone_sig(&blob).ok()).flatten()?;
    Some(WithLocal { token, local: u16::try_from(local).ok()? })
}
