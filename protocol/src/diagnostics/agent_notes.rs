//! Diagnostics of the agent about itself.

use serde::{Deserialize, Serialize};

/// An effect that remains, or that lasts while dials are on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Remainder {
    /// The runtime keeps memory for requests until the process ends, and for recompilations until their AppDomain
    /// unloads.
    KeptByRuntime {
        /// Estimated bytes.
        bytes: u64,
        /// Number of recompilations.
        recompilations: u64,
    },
    /// A change waits for a compilation that may be inlining its methods.
    WaitsForCompilation,
    /// The runtime has not answered a request; until it does, dials do not change.
    RuntimeSilent {
        /// Seconds since the request.
        seconds: u64,
    },
    /// The runtime has a defect that affects dialled methods.
    RuntimeDefect(RuntimeDefect),
    /// Undialled methods are recompiled, because dialled ones were inlined into them.
    RecompiledCallers {
        /// Number of these methods.
        methods: u64,
    },
    /// Methods were compiled without inlining some of their calls: those of dialled methods, or all while a request
    /// kept the JIT from inlining.
    RestrainedInlining {
        /// Number of these methods.
        methods: u64,
    },
    /// Modules or dynamic methods unloaded while the agent was still reading them, since the host does not wait for long.
    UnfinishedReads {
        /// Number of these unloads.
        unloads: u64,
    },
    /// Methods should be off but still run instrumented code, since their revert has not been requested yet.
    AwaitedReverts {
        /// Number of these methods.
        methods: u64,
    },
    /// Methods are off that were never called while they were on, so that no instrumented code exists. The runtime
    /// still has their requests: one that is called before its revert is compiled once more, with its original IL.
    CancelledRequests {
        /// Number of these methods.
        methods: u64,
    },
}

/// A defect of a runtime that concerns users with dials on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RuntimeDefect {
    /// The runtime can crash when it calls a recompiled method while tiering is delayed (dotnet/runtime 77973).
    TieringDelay,
    /// Exception stack traces show wrong line numbers for recompiled methods.
    StackTraceLines,
}

/// A limited resource of the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Resource {
    /// Copies with counters.
    DialledMethods,
    /// Copies that are or were dialled.
    KnownMethods,
    /// Bytes of times.
    TimesBytes,
}

/// Reason why the agent cannot keep the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BudgetProblem {
    /// Stepping a dial down needs one more order than may stand.
    NoRoomForOrder {
        /// Limit of standing orders.
        limit: u64,
    },
    /// The orders that step dials down were refused.
    OrdersRefused,
}
