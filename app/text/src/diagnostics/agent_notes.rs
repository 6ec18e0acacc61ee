//! Wording of the agent's diagnostics about itself.

use super::refusals::unavailable;
use crate::words::{count, them};
use redial_protocol::diagnostics::{BudgetProblem, Remainder, Resource, RuntimeDefect, Unavailable};
use redial_protocol::limits::MAX_AGENT_FAULTS;

/// Says that an agent with this many internal errors has switched itself off, if it has.
pub fn switched_off(faults: u64) -> Option<String> {
    (faults >= MAX_AGENT_FAULTS).then(|| unavailable(&Unavailable::SwitchedOff))
}

/// Words a remaining effect.
pub fn remainder(remainder: &Remainder) -> String {
    match remainder {
        Remainder::KeptByRuntime { bytes, recompilations } => format!(
            "the runtime keeps about {} KiB for requests and {recompilations} recompilation{}, until the process ends or \
             their AppDomain unloads",
            bytes.div_ceil(1024),
            if *recompilations == 1 { "" } else { "s" },
        ),
        Remainder::WaitsForCompilation => {
            "a change is waiting for a compilation that may be inlining its methods".to_owned()
        }
        Remainder::RuntimeSilent { seconds } => format!(
            "the runtime has not answered a request for {seconds} s; until it does, dials do not change"
        ),
        Remainder::RuntimeDefect(defect) => runtime_defect(*defect).to_owned(),
        Remainder::RecompiledCallers { methods } => format!(
            "{} recompiled, because dialled ones were inlined into {}; the original code returns when the dials are \
             off",
            count(*methods, "undialled method is", "undialled methods are"),
            them(*methods),
        ),
        Remainder::RestrainedInlining { methods } => format!(
            "{} compiled while dials were on: some calls were not inlined there, and may stay slower until the \
             process ends",
            count(*methods, "method was", "methods were"),
        ),
        Remainder::UnfinishedReads { unloads } => format!(
            "{} while the agent was still reading: the process may become unstable; please report this",
            count(
                *unloads,
                "module or dynamic method was unloaded",
                "modules or dynamic methods were unloaded"
            ),
        ),
        Remainder::AwaitedReverts { methods } => {
            format!("{} being turned off", count(*methods, "method is", "methods are"))
        }
        Remainder::CancelledRequests { methods } => format!(
            "{} off, but still requested from the runtime: a call compiles the original code once more",
            count(*methods, "method is", "methods are")
        ),
    }
}

/// Words remaining effects.
pub fn remainders(remainders: &[Remainder]) -> Vec<String> {
    remainders.iter().map(remainder).collect()
}

fn runtime_defect(defect: RuntimeDefect) -> &'static str {
    match defect {
        RuntimeDefect::TieringDelay => {
            "this release of the runtime can crash when it calls a recompiled method (dotnet/runtime 77973); update \
             to 6.0.13, 7.0.2 or later"
        }
        RuntimeDefect::StackTraceLines => {
            "exception stack traces on this runtime show wrong line numbers for recompiled methods (fixed in .NET 5)"
        }
    }
}

/// Names a limited resource.
pub fn resource(resource: Resource) -> &'static str {
    match resource {
        Resource::DialledMethods => "dialled methods",
        Resource::KnownMethods => "methods that are or were dialled",
        Resource::TimesBytes => "bytes of times",
    }
}

/// Explains why the budget cannot be kept.
pub fn budget_problem(problem: &BudgetProblem) -> String {
    match problem {
        BudgetProblem::NoRoomForOrder { limit } => format!(
            "{limit} orders already stand, and stepping a dial down needs one more; turn some dials off, or all"
        ),
        BudgetProblem::OrdersRefused => "the agent refused the orders that step dials down".to_owned(),
    }
}
