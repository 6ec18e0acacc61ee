//! What pinned methods were last looked up for.

use redial_model::ids::SubjectId;

/// The state that pins were last looked up in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PinLookup {
    pub subject: Option<SubjectId>,
    /// Editions of the catalogue and of the numbers of its methods.
    pub editions: (u64, u64),
    pub names: Vec<String>,
}
