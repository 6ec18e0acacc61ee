//! The views of the window. A view reads shared state and its own view state, and pushes commands. It changes
//! nothing else and must not know threads, pipes or files.

pub mod agent;
pub mod budget;
pub mod callers;
pub mod cells;
pub mod change_progress;
pub mod column_headers;
pub mod columns;
mod completions;
pub mod confirmation;
pub mod connection_loss;
pub mod copies;
pub mod cost;
pub mod detail;
mod detail_lines;
pub mod empty_views;
pub mod ended_process;
pub mod events;
pub mod fleet_header;
pub mod key_sheet;
pub mod knob_state;
pub mod last_numbers;
pub mod latency;
pub mod launch_dialog;
pub mod log;
pub mod menu_bar;
pub mod methods;
pub mod missing_row;
pub mod palette;
pub mod processes;
mod row_notes;
pub mod rows;
pub mod setup_dialog;
pub mod sharing_dialog;
pub mod slowest_calls;
pub mod status_bar;
