//! The panel's own state.

use super::condition_editor::ConditionEditor;
use crate::ui::list::Scroll;
use redial_model::call_groups::GroupTitle;
use redial_model::ids::ConnectionId;

/// What decides which rows' calls are shown: they are looked up again when it changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventsKey {
    /// The process.
    pub connection: ConnectionId,
    /// Whether all rows are shown.
    pub of_all: bool,
    /// Edition of the selection.
    pub selection: u64,
    /// Editions of catalogue, list and rows.
    pub methods: (u64, u64, u64),
    /// Number of rows whose calls are known.
    pub traced: usize,
}

/// The view's own state.
#[derive(Debug, Default)]
pub struct EventsState {
    /// The filter's text.
    pub text: String,
    /// Whether calls of all methods are shown, not only of the selected ones.
    pub of_all: bool,
    /// Scroll the selected call into view.
    pub follow: bool,
    /// Condition and limits being edited.
    pub editor: ConditionEditor,
    /// What decided the shown rows in the last frame.
    pub key: Option<EventsKey>,
    pub(super) scroll: Scroll,
    /// The selected group, where calls are grouped.
    pub(super) group: Option<GroupTitle>,
    pub(super) group_scroll: Scroll,
    /// The pointer is over the rows, so they keep their places.
    pub(super) held: bool,
}

impl EventsState {
    /// Returns whether rows must keep their places.
    pub fn is_held(&self) -> bool {
        self.held
    }
}
