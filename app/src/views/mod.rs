//! What stands in the window. A view gets shared references to what it shows and its own view state, and pushes
//! commands; it changes nothing else and must not know threads, pipes or files.
#![forbid(unsafe_code)]

pub mod agent;
pub mod bar;
pub mod blank;
pub mod budget;
pub mod callers;
pub mod cells;
pub mod columns;
mod completions;
pub mod confirm;
pub mod copies;
pub mod cost;
pub mod detail;
pub mod empty;
pub mod ended;
pub mod face;
pub mod heads;
pub mod keys;
pub mod last_numbers;
pub mod latency;
pub mod launch;
pub mod log;
pub mod loss;
pub mod methods;
pub mod palette;
pub mod processes;
pub mod progress;
pub mod rows;
pub mod setup;
pub mod several;
pub mod sharing;
pub mod strip;
pub mod worst;
