//! Requests apart from inlining: asked for beside a compilation that inlines the same method, some runtimes crash.
#![forbid(unsafe_code)]

use crate::agent::Agent;
use crate::inlining::{Care, Method};
use crate::known_bad::Known;
use std::collections::HashSet;

/// Carries out a request for these methods while none of them is being inlined anywhere; not at all once the process ends,
/// or "all off" waits. `by_runtime`: the runtime is to find their inliners.
///
/// # Errors
/// Those that cannot be asked for now; where none is named, all of them. Then nothing was asked for.
pub fn apart<T>(
    agent: &Agent,
    methods: &[Method],
    by_runtime: bool,
    request: impl FnOnce() -> T,
) -> Result<T, HashSet<Method>> {
    let care = match agent.runtime.does(Known::InlinedMeanwhile) {
        false => Care::Little,
        true if by_runtime => Care::Everything,
        true => Care::Methods,
    };
    agent.inlining.apart(methods, care, || agent.inbox.off_waits() || agent.ends(), request)
}
