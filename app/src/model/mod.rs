//! Pure state: what the processes and their agents said, put together for a screen. It does no I/O, reads no clock
//! and knows no toolkit; whoever holds it feeds it and draws from it.
//!
//! # Shape
//! - [`Model`] holds everything the window shows: [`processes::Processes`], one [`connection::Connection`] for each
//!   agent that was asked for, and the [`log::Log`].
//! - Worker threads produce [`update::Update`]s; [`Model::apply`] takes one in. [`Model::settle`], once a frame after
//!   the last update, brings lists, sorting and groups up to date (only what changed costs anything).
//! - Views read. What a user does goes to the `&mut` methods of [`Model`] and [`connection::Connection`]; those that
//!   concern an agent answer with a [`changes::DialChange`] for the worker to carry out, and mark the dials *pending* at once.
//!
//! # A connection
//! - [`catalogue::Catalogue`]: domains → modules → namespaces → types → methods, each level a contiguous range of the
//!   next, all text in arenas. Indices ([`ids`]) stay valid until modules unloaded long ago are forgotten; then all that
//!   is kept is renumbered.
//! - [`live::Live`]: the agent's rows by [`redial_protocol::ids::RowId`]: wanted, state, calls, rate, sparkline.
//! - [`histograms::Histograms`]: the histogram of the one timed method that is looked at, and those that were marked.
//! - [`callers::Callers`]: who calls it.
//! - [`list::List`]: the flat table after filter and sorting; [`tree::Tree`]: the same methods as expandable rows.
//! - [`selection::Selection`]: survives filtering, sorting and updates, because it names methods, not positions.
//! - [`connection::Connection::dial`] is what a knob shows of one method, [`connection::Connection::group`] of many.
#![forbid(unsafe_code)]
#![allow(clippy::single_range_in_vec_init, reason = "a list of ranges of methods may have one")]

mod name_order;
pub mod callers;
pub mod catalogue;
mod chosen_processes;
pub mod connection;
pub mod cost;
pub mod dials;
pub mod fleet;
pub mod histograms;
pub mod ids;
pub mod iis;
pub mod visible_rows;
pub mod wanted_level;
pub mod list;
pub mod live;
mod row_index;
mod row_pages;
pub mod log;
pub mod row_poll;
pub mod method_set;
pub mod method_table;
pub mod missing_reason;
pub mod suggestions;
pub mod orders;
pub mod program_output;
pub mod processes;
pub mod query;
mod ranking;
pub mod selection;
pub mod series;
pub mod process_choice;
mod sort_snapshot;
pub mod state;
pub mod subject;
pub mod tree;
pub mod changes;
pub mod update;

pub use state::Model;
