//! Wording of callers.

use super::words;
use redial_protocol::callers::CallOrigin;
use redial_protocol::limits::MAX_CALL_SITES;

/// Returns the name of a caller. For a method, it is also a pattern, except for pointers' stars.
pub fn name(who: &CallOrigin) -> String {
    match who {
        CallOrigin::Method { module, method, signature, .. } => {
            format!("{module}!{method}{}", words::plain_parameters(signature))
        }
        CallOrigin::Dynamic { name } if name.is_empty() => "a method generated at run time".to_owned(),
        CallOrigin::Dynamic { name } => format!("{} (generated at run time)", words::one_line(name)),
        CallOrigin::Native => "the runtime or native code".to_owned(),
        CallOrigin::Gone => "unloaded code".to_owned(),
    }
}

/// Returns the JSON value for the kind of caller.
pub fn kind(who: &CallOrigin) -> &'static str {
    match who {
        CallOrigin::Method { .. } => "method",
        CallOrigin::Dynamic { .. } => "dynamic",
        CallOrigin::Native => "native",
        CallOrigin::Gone => "gone",
    }
}

/// The name of the row for calls from unknown callers.
pub const OTHERS: &str = "others";

/// Explains [`OTHERS`].
pub fn others_note() -> String {
    format!(
        "others: calls beyond {MAX_CALL_SITES} call sites on one thread, or for which the agent ran out of memory"
    )
}

/// Returns the share of all calls, in percent.
pub fn share(calls: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { calls as f64 * 100.0 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_caller_has_a_name() {
        let dynamic = |name: &str| CallOrigin::Dynamic { name: name.into() };
        assert_eq!(name(&dynamic("Made")), "Made (generated at run time)");
        assert_eq!(name(&dynamic("")), "a method generated at run time");
        assert_eq!(
            (name(&CallOrigin::Native), kind(&CallOrigin::Native)),
            ("the runtime or native code".into(), "native")
        );
        assert_eq!((name(&CallOrigin::Gone), kind(&CallOrigin::Gone)), ("unloaded code".into(), "gone"));
        assert_eq!((share(1, 4), share(0, 0)), (25.0, 0.0));
    }
}
