//! Changes dials: the one thread that calls `RequestReJIT` and `RequestRevert`. That thread is native and never runs
//! managed code. Across those calls it holds no lock except module readers, which no callback during them waits for
//! (`ReJITError` arrives there).
#![forbid(unsafe_code)]

mod async_bodies;
mod async_detection;
mod async_traces;
mod body_size;
mod budget;
mod budget_steps;
mod change_audit;
mod change_report;
mod change_state;
mod changes;
mod conditions;
mod control_queue;
mod cost_meter;
mod domains;
mod dry_run;
mod enum_types;
mod exceptions;
mod heap_trim;
mod inlined_callers;
mod inlining_barrier;
mod loaded_methods;
mod missing_assemblies;
mod prepare;
mod request;
mod request_outcome;
mod revert;
mod reverting_check;
mod row_request;
pub mod scan;
pub mod thread;
mod trace_requests;
mod worker;

pub use worker::Worker;
