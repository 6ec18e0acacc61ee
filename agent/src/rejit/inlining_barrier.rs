//! Keeps requests apart from inlining: some runtimes crash if a method is requested while a compilation inlines it.
#![forbid(unsafe_code)]

use crate::context::Context;
use crate::inlining::{BarrierStrength, Method};
use crate::known_bad::RuntimeIssue;
use std::collections::HashSet;

/// Runs a request for these methods while none of them is being inlined; does not run it if the process is ending
/// or "all off" waits. `by_runtime`: the runtime will search for their inliners.
///
/// # Errors
/// The methods that cannot be requested now; if empty, all of them. The request did not run then.
pub fn with_barrier<T>(
    context: &Context,
    methods: &[Method],
    by_runtime: bool,
    request: impl FnOnce() -> T,
) -> Result<T, HashSet<Method>> {
    let strength = match context.runtime.does(RuntimeIssue::InlinedMeanwhile) {
        false => BarrierStrength::Lenient,
        true if by_runtime => BarrierStrength::Everything,
        true => BarrierStrength::Methods,
    };
    context.inlining.with_barrier(
        methods,
        strength,
        || context.inbox.all_off_pending() || context.ledger.is_stopping(),
        request,
    )
}
