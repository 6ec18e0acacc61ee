//! The pane's own state.

use crate::ui::list::Scroll;
use redial_protocol::ids::CopyKey;

/// What the pane shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeView {
    /// The source file.
    #[default]
    Source,
    /// The original IL beside that with the probe.
    Il,
}

/// The view's own state.
#[derive(Debug, Default)]
pub struct CodeState {
    /// What is shown.
    pub view: CodeView,
    /// The command that opens a file in an editor.
    pub editor: String,
    copy: Option<CopyKey>,
    /// Scroll the method into view when its text is there.
    pub(super) reveal: bool,
    pub(super) scroll: Scroll,
    pub(super) before: Scroll,
    pub(super) after: Scroll,
}

impl CodeState {
    /// Begins at the top when another method is shown.
    pub fn look_at(&mut self, copy: CopyKey) {
        if self.copy.replace(copy) != Some(copy) {
            (self.scroll, self.before, self.after) = Default::default();
            self.reveal = true;
        }
    }
}
