//! The probes: slots of counters, the native leaf that instrumented bodies call, and the IL that calls it.
//! Knows nothing of modules, methods or dials.

pub mod blocks;
pub mod body;
pub mod form;
pub mod leaf;
mod reserve;
pub mod room;
pub mod stacks;
pub mod tokens;
