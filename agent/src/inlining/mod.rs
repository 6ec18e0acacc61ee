//! Inlining by the JIT: which copies it must not inline, and which compiled callers contain which copies. Must not
//! know about orders or sessions.
#![forbid(unsafe_code)]

mod active_compilations;
mod barrier_pause;
pub mod compilation_stack;
pub mod method;
mod record;
mod tracker;

pub use method::Method;
pub use record::KnownInliners;
pub use tracker::{BarrierStrength, Inlined, Inlining, may_be_inlined};
