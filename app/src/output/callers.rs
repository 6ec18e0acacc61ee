//! Callers in words, for the command line and the window alike.
#![forbid(unsafe_code)]

use super::words;
use redial_protocol::callers::Who;
use redial_protocol::limits::MAX_CALL_SITES;

/// Who it is: for a method a pattern as well, but for pointers' stars.
pub fn name(who: &Who) -> String {
    match who {
        Who::Method { module, method, signature, .. } => {
            format!("{module}!{method}{}", words::plain_parameters(signature))
        }
        Who::Dynamic { name } if name.is_empty() => "a method made at run time".to_owned(),
        Who::Dynamic { name } => format!("{} (made at run time)", words::one_line(name)),
        Who::Native => "the runtime or native code".to_owned(),
        Who::Gone => "code that is gone".to_owned(),
    }
}

/// The word for it in JSON.
pub fn kind(who: &Who) -> &'static str {
    match who {
        Who::Method { .. } => "method",
        Who::Dynamic { .. } => "dynamic",
        Who::Native => "native",
        Who::Gone => "gone",
    }
}

/// Calls whose callers are not told, as a name in a list.
pub const OTHERS: &str = "others";

/// What [`OTHERS`] are.
pub fn others_are() -> String {
    format!(
        "others: calls from more than {MAX_CALL_SITES} places on one thread, or for which the agent had no memory left"
    )
}

/// Which part of all calls these are, in percent.
pub fn share(calls: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { calls as f64 * 100.0 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_calls_has_a_name() {
        let dynamic = |name: &str| Who::Dynamic { name: name.into() };
        assert_eq!(name(&dynamic("Made")), "Made (made at run time)");
        assert_eq!(name(&dynamic("")), "a method made at run time");
        assert_eq!((name(&Who::Native), kind(&Who::Native)), ("the runtime or native code".into(), "native"));
        assert_eq!((name(&Who::Gone), kind(&Who::Gone)), ("code that is gone".into(), "gone"));
        assert_eq!((share(1, 4), share(0, 0)), (25.0, 0.0));
    }
}
