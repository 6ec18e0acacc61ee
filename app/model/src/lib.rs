//! The state that command line and window show: the processes and the reports of their agents. It does no I/O, reads no
//! clock and knows no toolkit; its owner feeds it and draws from it.
//!
//! # Shape
//! - [`Model`] holds everything the window shows: [`processes::Processes`], a [`connection::Connection`] for each
//!   process that was chosen, the [`fleet::Fleet`] while several are, and the [`log::Log`].
//! - Worker threads produce [`update::Update`]s, which [`Model::apply`] takes in. Once a frame, after the last update,
//!   [`Model::refresh`] brings lists, orders and groups up to date. Only changes cost time.
//! - Views read. User actions call the `&mut` methods of [`Model`]; those that concern an agent return a
//!   [`changes::DialChange`] for the worker to carry out, and mark the dials *pending* at once.
//!
//! # Subjects and tables
//! - A [`subject::Subject`] is one process or the fleet. Each owns a [`method_table::MethodTable`], and views that work
//!   for both take that table.
//! - A connection adds the session, control, the agent's status, orders, histograms, callers and traced calls. A fleet adds its
//!   members, the import of their modules and rows, and the aggregation of their replies.
//!
//! # A method table
//! - [`catalogue::Catalogue`]: domains → modules → namespaces → types → methods, each level a contiguous range of the
//!   next, all text in arenas. Indices ([`ids`]) stay valid until modules unloaded long ago are forgotten, which
//!   renumbers the others.
//! - [`live::Live`]: the agents' rows by [`redial_protocol::ids::RowId`]: wanted level, state, calls, rate, sparkline.
//! - [`list::List`]: the flat table after filter and sorting; [`tree::Tree`]: the same methods as expandable rows.
//! - [`selection::Selection`]: survives filtering, sorting and updates, because it names methods, not positions.
//! - [`method_table::MethodTable::dial`] is the knob of one method, [`method_table::MethodTable::group`] that of many.
#![forbid(unsafe_code)]
#![allow(clippy::single_range_in_vec_init, reason = "a list of ranges of methods may have one")]

pub mod call_groups;
pub mod call_history;
pub mod caller_tree;
pub mod callers;
pub mod catalogue;
pub mod changes;
pub mod charts;
mod chosen_processes;
pub mod connection;
pub mod cost;
pub mod dials;
pub mod events;
#[cfg(any(test, feature = "fixtures"))]
pub mod fixtures;
pub mod fleet;
pub mod histograms;
pub mod hot;
pub mod ids;
pub mod iis;
pub mod list;
pub mod live;
pub mod log;
pub mod method_code;
pub mod method_set;
pub mod method_table;
pub mod missing_reason;
mod name_order;
pub mod number_range;
pub mod orders;
pub mod process_choice;
pub mod process_snapshot;
pub mod processes;
pub mod program_output;
pub mod query;
mod ranking;
mod row_index;
mod row_pages;
pub mod row_poll;
pub mod selection;
pub mod series;
mod snapshot_clock;
mod sort_snapshot;
pub mod speedscope;
pub mod state;
pub mod subject;
pub mod suggestions;
pub mod tree;
pub mod update;
pub mod visible_rows;
pub mod wanted_level;

pub use state::Model;
