//! The window: applies the workers' updates to the model, draws the views and executes their commands. The
//! drawing thread never waits for anything.

mod app;
mod change_requests;
mod charts;
mod clipboard;
mod clock;
mod code;
mod columns;
mod demo;
mod detail_requests;
mod dial_sets;
mod dialogs;
mod dispatch;
mod dock;
mod dock_panes;
mod empty_state;
mod events;
mod field_focus;
mod fleet_commands;
mod folder_reader;
mod frame_budget;
mod geometry;
mod history;
mod hot_search;
mod icon;
mod keyboard;
mod launching;
mod layout;
mod layouts;
mod list_options;
mod lower_panel;
mod merged_events;
mod navigation;
mod notifications;
mod number_range;
mod options;
mod panel_areas;
mod panels;
mod pending_focus;
mod pending_start;
mod picture;
mod pin_lookup;
mod pins;
mod sessions;
mod side_by_side;
mod startup;
#[cfg(test)]
mod tests;
mod toast;
mod workers;

pub use app::App;
pub use clock::Clock;
pub use options::Options;
pub use startup::open;
