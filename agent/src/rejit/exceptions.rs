//! Requests exception events while anything needs them.
#![forbid(unsafe_code)]

use crate::context::Context;

/// Turns exception events on or off, as now needed.
pub(super) fn follow(context: &Context) {
    if context.exceptions.must_follow() && !context.ledger.is_stopping() {
        context.exceptions.follow(&context.info, &context.runtime, &context.settings);
    }
}
