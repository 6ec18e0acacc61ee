//! Reasons for not dialling a copy: one closed enum. The controller words them.

use serde::{Deserialize, Serialize};

/// Reason for a refusal (the agent requested nothing) or a failure (the CLR or one of the agent's checks
/// objected).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Reason {
    /// Abstract, extern or otherwise without IL (RVA 0). Under a wildcard such methods count as bodyless.
    NoBody,
    /// `pinvokeimpl`.
    PInvoke,
    /// `runtime` or `internalcall`: the CLR supplies the code.
    RuntimeImplemented,
    /// `MethodImplOptions.Async` (runtime-async, .NET 11): not verified to work.
    RuntimeAsync,
    /// The module is collectible. The runtime ignores ReJIT there, or hangs the caller on 3.1.
    Collectible,
    /// Reflection.Emit or another dynamic module.
    Dynamic,
    /// The runtime itself calls the method. On .NET 9 a recompiled body crashes (dotnet/runtime 112636); .NET 5
    /// to 8 use the address of the original code, taken at start-up.
    RuntimeHelper,
    /// The body is not valid IL by ECMA-335.
    BadIl,
    /// The body cannot take a probe, for example because its size would exceed the limits of the format.
    CannotInsert,
    /// The module's metadata could not be opened or extended.
    Metadata,
    /// The budget for counters or ledger rows is used up.
    Budget,
    /// An earlier instrumented body of this method was bad. The agent does not try again.
    Quarantined,
    /// The CLR answered the request with an error; the HRESULT is reported with it.
    Hresult,
    /// The module was unloaded.
    Unloaded,
    /// One copy of the module serves AppDomains that the order does not name.
    Shared,
    /// An active compilation may be inlining the method, and the runtime would crash on a request now. The
    /// agent sends the request when the compilation ends.
    BeingCompiled,
    /// Hot Reload (Edit and Continue) may change the assembly. There the runtime ignores or refuses requests.
    HotReload,
    /// The order's condition does not fit the method's signature.
    Condition,
    /// The level's code would take the body above the size up to which the JIT optimizes.
    NotOptimized,
}

impl Reason {
    /// Every reason, for tables and tests.
    pub const ALL: [Reason; 19] = [
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
        Reason::Condition,
        Reason::NotOptimized,
    ];

    /// Returns whether another level, or another condition, may succeed.
    pub fn depends_on_order(self) -> bool {
        matches!(self, Reason::Condition | Reason::NotOptimized)
    }

    /// Returns whether the method has no IL for a probe. The metadata alone decides that, for the lifetime of
    /// the module. A wildcard counts such methods without reporting each.
    pub fn is_bodyless(self) -> bool {
        matches!(self, Reason::NoBody | Reason::PInvoke | Reason::RuntimeImplemented)
    }
}
