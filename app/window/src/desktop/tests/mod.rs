//! Tests of the whole window without a screen, fed with updates in place of workers.

pub mod fixture;

mod bodyless_methods;
mod budget;
mod callers;
mod columns;
mod calls;
mod charts;
mod code;
mod completions;
mod contrast;
mod costs;
mod detail_panel;
mod domains;
mod events;
mod filter_hints;
mod fleet;
mod fleet_snapshots;
mod fleet_texts;
mod gestures;
mod keys;
mod layout;
mod navigation;
mod notifications;
mod pins;
mod process_switching;
mod row_order;
mod saved;
mod settings;
mod side_by_side;
mod snapshots;
mod stability;
mod timeline;
mod times;
mod traced_program;
mod tree;
mod unavailable_processes;
