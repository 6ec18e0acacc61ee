//! The dialogs and overlays that can be open over the window.

use crate::settings::layouts::PanelId;
use crate::views;
use std::path::PathBuf;

/// The open dialogs, each with its own state.
#[derive(Default)]
pub(super) struct Dialogs {
    /// The command palette.
    pub palette: Option<views::palette::PaletteState>,
    /// A large change that awaits confirmation.
    pub confirm: Option<views::confirmation::LargeChange>,
    /// A change that affects other AppDomains and awaits confirmation.
    pub sharing: Option<views::sharing_dialog::SharingQuestion>,
    /// Whether the dialog with control, orders and history is open.
    pub agent: bool,
    /// The budget dialog.
    pub budget: Option<views::budget::BudgetState>,
    /// The dialog with the last numbers of ended processes.
    pub last_numbers: Option<views::last_numbers::LastNumbersState>,
    /// Whether the list of keys is open.
    pub keys: bool,
    /// Whether the launch dialog is open.
    pub launch: bool,
    /// The dialog of dial sets.
    pub dial_sets: Option<views::dial_sets::DialSetsState>,
    /// Whether the dialog that arranges columns is open.
    pub columns: bool,
    /// The dialog of layouts.
    pub layouts: Option<views::layouts::LayoutsState>,
    /// The list that chooses a program or a folder, over the launch dialog.
    pub files: Option<views::file_list::FileListState>,
    /// The question for the file of a session.
    pub session: Option<views::saved_session::SessionQuestion>,
    /// The file of a picture of the window or a panel, which is taken once no dialog is open.
    pub picture: Option<(PathBuf, Option<PanelId>)>,
    /// A saved session or a comparison with one.
    pub saved_table: Option<views::saved_session::SavedTable>,
    /// The file of a session that was used last.
    pub last_session: Option<PathBuf>,
    /// The setup dialog.
    pub set_up: Option<views::setup_dialog::SetupState>,
}

impl Dialogs {
    /// Closes the questions about changes, because their method numbers no longer name the same methods.
    pub fn close_questions(&mut self) {
        (self.confirm, self.sharing) = (None, None);
    }

    /// Returns whether any is open.
    pub fn is_any_open(&self) -> bool {
        let asks = self.confirm.is_some() || self.sharing.is_some() || self.set_up.is_some();
        let edits = self.budget.is_some() || self.palette.is_some() || self.last_numbers.is_some();
        let sessions = self.session.is_some() || self.saved_table.is_some();
        let sheets =
            self.dial_sets.is_some() || self.files.is_some() || self.agent || self.keys || self.columns;
        asks || edits || sessions || sheets || self.launch || self.layouts.is_some()
    }

    /// Closes the topmost dialogs: questions, sheets and the palette before the others. Returns whether any was open.
    pub fn close(&mut self) -> bool {
        let question = self.confirm.take().is_some() || self.sharing.take().is_some();
        let sheet =
            self.set_up.take().is_some() || self.budget.take().is_some() || self.dial_sets.take().is_some();
        if self.files.take().is_some() {
            return true;
        }
        if question || self.palette.take().is_some() || sheet || self.session.take().is_some() {
            return true;
        }
        if self.layouts.take().is_some() || self.saved_table.take().is_some() {
            return true;
        }
        let any = self.keys || self.launch || self.agent || self.columns || self.last_numbers.is_some();
        self.columns = false;
        (self.keys, self.launch, self.agent, self.last_numbers) = (false, false, false, None);
        any
    }
}
