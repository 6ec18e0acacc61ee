//! The window: applies the workers' updates to the model, draws the views and executes their commands. The
//! drawing thread never waits for anything.
#![forbid(unsafe_code)]

mod app;
mod dispatch;
mod side_by_side;
mod clock;
mod clipboard;
mod columns;
mod demo;
mod dialogs;
mod geometry;
mod keyboard;
mod layout;
mod list_options;
mod options;
mod detail_requests;
mod startup;
mod pending_focus;
mod pending_start;
mod field_focus;
mod frame_budget;
mod panels;
mod fleet_commands;
#[cfg(test)]
mod tests;
mod notifications;
mod change_requests;
mod empty_state;
mod toast;
mod workers;

pub use clock::Clock;
pub use app::App;
pub use options::Options;
pub use startup::open;
