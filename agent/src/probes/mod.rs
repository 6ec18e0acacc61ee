//! The probes: slots of counters, timers, the native leaves that instrumented bodies call, and the IL that calls them.
//! Knows nothing of modules, methods or dials.

mod arena;
pub mod async_leaf;
pub mod blocks;
pub mod body;
pub mod callers;
pub mod changes;
pub mod clock;
pub mod completing;
pub mod completions;
pub mod conditions;
pub mod cost;
pub mod form;
pub mod histogram;
pub mod lacks;
pub mod leaf;
mod rate;
mod reserve;
pub mod room;
pub mod stacks;
mod steps;
pub mod thrown;
pub mod time_leaf;
pub mod timers;
pub mod timing;
pub mod tokens;
pub mod worst;

pub use arena::{BUDGET as TIMING_BUDGET, used_bytes as timing_bytes};
