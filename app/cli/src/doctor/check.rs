//! The result of one check.

use crate::output::json::CheckJson;

/// Returns the row of a check: its advice, or the details if it passed.
pub(super) fn check(what: &str, outcome: Result<String, String>) -> CheckJson {
    let ok = outcome.is_ok();
    let (Ok(advice) | Err(advice)) = outcome;
    CheckJson { check: what.to_owned(), ok, advice: Some(advice).filter(|advice| !advice.is_empty()) }
}
