//! Wording of reasons for not dialling a copy.

use super::{Reader, hresults};
use redial_protocol::reason::Reason;

/// Returns a sentence that names the problem and the action to take.
pub fn sentence(reason: Reason, reader: Reader) -> &'static str {
    match reason {
        Reason::NoBody => {
            "it has no IL body (abstract, interface or extern); dial an implementation instead"
        }
        Reason::PInvoke => "it is a P/Invoke and has no IL; dial its managed callers instead",
        Reason::RuntimeImplemented => "the runtime supplies its code; dial its callers instead",
        Reason::RuntimeAsync => "runtime-async methods are not supported yet",
        Reason::Collectible => {
            "its assembly is collectible, and the runtime ignores ReJIT requests there (or hangs); \
             load it into a non-collectible context to dial it"
        }
        Reason::Dynamic => "it was emitted at run time, and the runtime cannot recompile dynamic code",
        Reason::RuntimeHelper => {
            "the runtime itself calls it, and in this version a recompiled body would crash the process or never \
             run; dial its callers instead"
        }
        Reason::BadIl => "its IL does not follow ECMA-335, so it cannot be rewritten safely",
        Reason::CannotInsert => "its body has no room for a probe within the limits of the IL format",
        Reason::Metadata => "its module's metadata could not be opened for the probe's signature",
        Reason::Budget => {
            "the agent has reached its limit of dialled methods in this process, or its memory for further trace \
             conditions and options; restart the process to dial others, or trace with earlier options"
        }
        Reason::Quarantined => {
            "an earlier instrumented body did not compile, so it stays on its original IL"
        }
        Reason::Hresult => "the runtime refused the request",
        Reason::Unloaded => "its module was unloaded",
        Reason::BeingCompiled => {
            "an active compilation may be inlining it, and this runtime would crash on a request now; \
             the change is applied when the compilation ends"
        }
        Reason::HotReload => {
            "its assembly is open to Hot Reload, and the runtime recompiles nothing there; start the program \
             without Hot Reload (unset DOTNET_MODIFIABLE_ASSEMBLIES and ForceEnc; `dotnet watch \
             --no-hot-reload`), or use a release build"
        }
        Reason::Condition => "the condition does not fit its signature",
        Reason::NotOptimized => {
            "the code of this level would take its IL above 60,000 bytes, and the JIT would no longer optimize it; \
             use a lower level, or dial the methods that it calls"
        }
        Reason::Shared => reader.choose(
            "other AppDomains share this copy of its module, and their calls would be dialled too; accept all of \
             them (--all-domains) to dial it",
            "other AppDomains share this copy of its module, and their calls would be dialled too; choose \
             “Change in all AppDomains” to dial it",
        ),
    }
}

/// Returns the sentence of a reason, with the HRESULT if the runtime reported one.
pub fn with_hresult(reason: Reason, hresult: u32, reader: Reader) -> String {
    match reason {
        Reason::Hresult => format!("{} ({hresult:#010x})", sentence(reason, reader)),
        other => sentence(other, reader).to_owned(),
    }
}

/// Returns the sentence of a reason, with the meaning of the HRESULT if the runtime reported one.
pub fn explained(reason: Reason, hresult: u32, reader: Reader) -> String {
    match reason {
        Reason::Hresult => format!("{}: {}", sentence(reason, reader), hresults::explanation(hresult)),
        other => sentence(other, reader).to_owned(),
    }
}
