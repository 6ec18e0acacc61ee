//! Probes: slots of counters, timers, and the native helpers that instrumented bodies call. Must not know
//! modules, methods or dials.

mod address_space;
mod arena;
pub mod async_helper;
pub mod blocks;
pub mod call_cost;
pub mod callers;
pub mod clock;
pub mod completions;
pub mod condition_setter;
pub mod conditions;
pub mod count_helper;
pub mod exception_chain;
pub mod exception_stack;
pub mod exception_types;
#[cfg(all(test, target_os = "linux", target_env = "gnu"))]
mod first_call_tests;
pub mod frame_size;
pub mod histogram;
pub mod missing_data;
pub mod slot_changes;
pub mod slowest_calls;
pub mod stack_helpers;
pub mod stack_pages;
pub mod stack_walk;
mod thread_list;
pub mod thread_timer;
mod thread_value;
pub mod thrown;
mod tick_rate;
pub mod time_helper;
pub mod timers;
pub mod trace;

pub use arena::{BUDGET as TIMING_BUDGET, used_bytes as timing_bytes};
