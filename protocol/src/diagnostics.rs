//! Diagnostics that the agent sends: codes with parameters, never sentences. The controller words them for its
//! readers, because only it knows the names of its options, commands and buttons.
//!
//! Every enum is closed. A string is a name, a pattern, or the text of a problem in given data; never advice.

mod agent_notes;
mod audit;
mod change_warnings;
mod il_violations;
mod refusals;
mod row_notes;
pub mod samples;

pub use agent_notes::{BudgetProblem, Remainder, Resource, RuntimeDefect};
pub use audit::{AuditAction, AuditedChange, AuditedOrder, OrderEnd};
pub use change_warnings::ChangeWarning;
pub use il_violations::{BodyPart, ClauseBound, IlViolation};
pub use refusals::{Limit, PatternProblem, Unavailable, Unsupported};
pub use row_notes::{MissingTimes, RowNote, SteppedDown, TimesNote, UnseenCompletions, UntimedReason};
