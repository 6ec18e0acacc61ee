//! Metadata the probe needs in a module: one StandAloneSig for the call site, and for the cheap form the type that
//! asks for it. Made once a module, at its first dial, by the ReJIT thread.
#![forbid(unsafe_code)]

use super::form::{CountForm, SUPPRESS_NAME};
use crate::agent::Agent;
use crate::catalogue::Module;
use crate::clr::ClrError;
use crate::clr::emit::Emitter;
use crate::clr::hresult::E_FAIL;
use crate::clr::metadata::Import;

/// The call-site token in `module`.
///
/// # Errors
/// When the module is gone or its metadata cannot be extended.
pub fn call_site(agent: &Agent, module: &Module) -> Result<u32, ClrError> {
    let gone = ClrError { call: "GetModuleMetaData", hresult: E_FAIL };
    module
        .while_loaded(|| {
            let import = agent.info.import(module.id())?;
            let emitter = agent.info.emitter(module.id())?;
            let form = agent.count_form();
            let suppress = match form {
                CountForm::Suppressed => suppress_type(&import, &emitter)?,
                CountForm::Transition => 0,
            };
            let token = emitter.stand_alone_sig(&form.signature(suppress))?;
            agent.info.apply_metadata(module.id())?;
            Ok(token)
        })
        .unwrap_or(Err(gone))
}

/// The TypeDef (core library) or TypeRef of the suppressing type. The JIT reads a modifier's name only, so the scope
/// may be any assembly that `System.Object` comes from.
fn suppress_type(import: &Import, emitter: &Emitter) -> Result<u32, ClrError> {
    if let Some(own) = import.find_type_def(SUPPRESS_NAME) {
        return Ok(own);
    }
    let mut scope = None;
    for token in import.type_refs() {
        match import.type_ref(token)? {
            (_, name) if name == SUPPRESS_NAME => return Ok(token),
            (found, name) if name == "System.Object" => scope = Some(found),
            _ => {}
        }
    }
    let scope = scope.ok_or(ClrError { call: "the module references no System.Object", hresult: E_FAIL })?;
    emitter.type_ref(scope, SUPPRESS_NAME)
}
