//! Choices that commands carry.

use crate::settings::layouts::PanelId;
use redial_model::number_range::NumberRange;

/// The calls that numbers cover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RangeChoice {
    /// All calls.
    #[default]
    Total,
    /// The calls from now on.
    SinceNow,
    /// The calls of the last ten seconds.
    Recent,
}

impl RangeChoice {
    /// Returns the choice that led to a range.
    pub fn of(range: NumberRange) -> RangeChoice {
        match range {
            NumberRange::Total => RangeChoice::Total,
            NumberRange::Since { .. } => RangeChoice::SinceNow,
            NumberRange::Recent => RangeChoice::Recent,
        }
    }
}

/// The subject of the file list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileChoice {
    /// The program to launch.
    Program,
    /// The folder it runs in.
    Folder,
    /// The file of a session.
    Session,
    /// The folder in which to save a session.
    SessionFolder,
}

impl FileChoice {
    /// Returns whether the choice is for the file of a session.
    pub fn is_session(self) -> bool {
        matches!(self, FileChoice::Session | FileChoice::SessionFolder)
    }

    /// Returns whether a folder is chosen, not a file.
    pub fn is_folder(self) -> bool {
        matches!(self, FileChoice::Folder | FileChoice::SessionFolder)
    }
}

/// The purpose of a session's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionPurpose {
    /// To save the numbers of the process.
    Save,
    /// To show saved numbers.
    Open,
    /// To compare saved numbers with those of the process.
    Compare,
    /// To look at calls in speedscope.
    Speedscope,
    /// To save a picture of the window, or of one panel.
    Picture(Option<PanelId>),
}

impl SessionPurpose {
    /// Returns whether a new file is written.
    pub fn is_save(self) -> bool {
        matches!(self, SessionPurpose::Save | SessionPurpose::Speedscope | SessionPurpose::Picture(_))
    }
}

/// The format of a copied table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyFormat {
    /// Columns of text.
    Text,
    /// A Markdown table.
    Markdown,
    /// Comma-separated values (RFC 4180).
    Csv,
}

/// The format of a copied call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFormat {
    /// The line that `redial trace` prints.
    Text,
    /// The object that `redial trace --json` prints.
    Json,
}
