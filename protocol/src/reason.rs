//! Why a copy was not dialled: one closed enum, each with a sentence a person can act on.

use serde::{Deserialize, Serialize};

/// A reason for a refusal (nothing was requested) or a failure (the CLR or a check of ours objected).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// Abstract, extern or otherwise without IL (RVA 0). Under a wildcard these are counted as bodyless.
    NoBody,
    /// `pinvokeimpl`.
    PInvoke,
    /// `runtime` or `internalcall`: the CLR supplies the code.
    RuntimeImplemented,
    /// `MethodImplOptions.Async` (runtime-async, .NET 11): not proven.
    RuntimeAsync,
    /// The module is collectible; ReJIT there is ignored, or hangs the caller on 3.1.
    Collectible,
    /// Reflection.Emit or another dynamic module.
    Dynamic,
    /// The runtime calls it itself: a rejitted body crashes .NET 9 (dotnet/runtime 112636); .NET 5 to 8 took the
    /// original's address at start-up.
    RuntimeHelper,
    /// The body's bytes are not valid IL by ECMA-335.
    BadIl,
    /// The body cannot take a probe (for example its size would pass the format's limits).
    CannotInsert,
    /// The module's metadata could not be opened or extended.
    Metadata,
    /// The counter or ledger budget is used up.
    Budget,
    /// An earlier body of ours for this method was found bad; it will not be tried again.
    Quarantined,
    /// The CLR answered the request with an error; the HRESULT stands beside it.
    Hresult,
    /// The module was unloaded.
    Unloaded,
    /// One copy of its module serves AppDomains that the order does not name.
    Shared,
    /// A compilation that may be inlining it has not ended, and the runtime would crash if it were asked now; it is asked
    /// as soon as that is over.
    BeingCompiled,
    /// Its assembly may be changed by Hot Reload (Edit and Continue): the runtime takes requests there and does nothing, or
    /// refuses them.
    HotReload,
}

impl Reason {
    /// The whole closed set, for tables and tests.
    pub const ALL: [Reason; 17] = [
        Reason::NoBody,
        Reason::PInvoke,
        Reason::RuntimeImplemented,
        Reason::RuntimeAsync,
        Reason::Collectible,
        Reason::Dynamic,
        Reason::RuntimeHelper,
        Reason::BadIl,
        Reason::CannotInsert,
        Reason::Metadata,
        Reason::Budget,
        Reason::Quarantined,
        Reason::Hresult,
        Reason::Unloaded,
        Reason::Shared,
        Reason::BeingCompiled,
        Reason::HotReload,
    ];

    /// Whether there is no IL to put a probe into: known from the metadata alone, for as long as the module lives. A
    /// wildcard counts such methods and does not complain of them.
    pub fn is_bodyless(self) -> bool {
        matches!(self, Reason::NoBody | Reason::PInvoke | Reason::RuntimeImplemented)
    }

    /// One sentence, without a final period, that says what is the matter and what can be done.
    pub fn sentence(self) -> &'static str {
        match self {
            Reason::NoBody => {
                "it has no IL body (abstract, interface or extern); dial an implementation instead"
            }
            Reason::PInvoke => "it is a P/Invoke and has no IL; dial its managed callers instead",
            Reason::RuntimeImplemented => "the runtime supplies its code; dial its callers instead",
            Reason::RuntimeAsync => "runtime-async methods are not supported yet",
            Reason::Collectible => {
                "its assembly is collectible, and the runtime ignores ReJIT there (or hangs); \
                 load it into a non-collectible context to dial it"
            }
            Reason::Dynamic => "it was emitted at run time, and the runtime cannot ReJIT dynamic code",
            Reason::RuntimeHelper => {
                "the runtime itself calls it, in this version by ways on which a recompiled body crashes the process \
                 or is never called; dial its callers instead"
            }
            Reason::BadIl => "its IL does not follow ECMA-335, so it cannot be rewritten safely",
            Reason::CannotInsert => "its body cannot take a probe within the limits of the IL format",
            Reason::Metadata => "its module's metadata could not be opened for the probe's signature",
            Reason::Budget => {
                "the agent's budget for dialled methods is used up in this process; start it anew to dial others"
            }
            Reason::Quarantined => {
                "an earlier instrumented body did not compile, so it stays on its original IL"
            }
            Reason::Hresult => "the runtime refused the request",
            Reason::Unloaded => "its module was unloaded",
            Reason::BeingCompiled => {
                "it waits for a compilation to end that may be inlining it, because this runtime would crash if it were \
                 asked meanwhile; it is turned by itself then"
            }
            Reason::HotReload => {
                "its assembly is open to Hot Reload, and the runtime recompiles nothing there; start the program without \
                 it (no DOTNET_MODIFIABLE_ASSEMBLIES or ForceEnc; `dotnet watch --no-hot-reload`), or from a release build"
            }
            Reason::Shared => {
                "one copy of its module serves other AppDomains too, and they would be dialled along; accept all of \
                 them (--all-domains) to dial it"
            }
        }
    }
}
