//! The columns of processes side by side.

use crate::views::methods::MethodsState;
use redial_model::ids::ConnectionId;
use std::collections::BTreeMap;

/// The window's state of processes side by side.
#[derive(Default)]
pub(super) struct ProcessColumns {
    /// The tables other than the current one.
    pub tables: BTreeMap<ConnectionId, MethodsState>,
    /// The position of the first visible process.
    pub from: usize,
    /// All processes shown, in order.
    pub order: Vec<ConnectionId>,
    /// The common scroll position, points.
    pub scroll: f64,
}
