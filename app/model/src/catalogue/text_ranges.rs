//! Where the texts of a module are in the arenas of a catalogue.

use std::ops::Range;

/// The ranges of a module's texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    /// In the types' texts: one for each of the module's types, in order.
    pub types: Range<u32>,
    /// In the names.
    pub names: Range<u32>,
    /// In the signatures.
    pub signatures: Range<u32>,
}
