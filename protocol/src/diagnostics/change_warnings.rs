//! Warnings about a change or a plan.

use serde::{Deserialize, Serialize};

/// A warning about a change or a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ChangeWarning {
    /// Nothing matches an order yet.
    NothingMatches {
        /// The order's pattern.
        pattern: String,
        /// ModuleID of the only copy that the order names.
        copy: Option<u64>,
        /// Whether the change left the order out for that reason; a plan does not say.
        left_out: bool,
    },
    /// Nothing matches further orders, which are not named.
    MoreUnmatched {
        /// Number of orders.
        orders: u64,
    },
    /// Calls may be missing: callers that are not recompiled inlined the methods, or may have.
    CallsInlined {
        /// Number of copies.
        copies: u64,
    },
    /// Calls may be missing: the JIT or precompiled code of other modules may replace them by other code.
    CallsReplaced {
        /// Number of copies.
        copies: u64,
    },
    /// Copies are only counted although times are wanted.
    OnlyCounted {
        /// Number of copies.
        copies: u64,
    },
    /// Async copies are timed up to their first await, because the methods that do the work are not dialled.
    OnlyStarts {
        /// Number of copies.
        copies: u64,
    },
    /// The change raised dials that the budget had stepped down; the budget now leaves them alone.
    BudgetSpares {
        /// Number of methods.
        methods: u64,
    },
    /// This runtime pauses the program while it accepts a request.
    PausesProgram,
}
