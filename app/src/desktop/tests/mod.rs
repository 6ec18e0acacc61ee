//! Tests of the whole window without a screen, fed with updates in place of workers.

pub mod fixture;

mod side_by_side;
mod bodyless_methods;
mod budget;
mod callers;
mod completions;
mod contrast;
mod costs;
mod domains;
mod process_switching;
mod gestures;
mod keys;
mod filter_hints;
mod row_order;
mod detail_panel;
mod unavailable_processes;
mod layout;
mod settings;
mod fleet;
mod snapshots;
mod fleet_snapshots;
mod stability;
mod times;
mod fleet_texts;
mod notifications;
mod tree;
