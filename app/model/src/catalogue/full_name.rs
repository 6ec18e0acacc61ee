//! The full name of a method.

use std::ops::Range;

/// `Module!Namespace.Type.Method(PARAMS)` for display, with the ranges of its parts. See
/// [`super::Catalogue::pattern`] for the pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FullName {
    /// The text.
    pub text: String,
    /// The module's name.
    pub module: Range<usize>,
    /// Namespace and type.
    pub type_name: Range<usize>,
    /// The method's own name.
    pub method: Range<usize>,
    /// `(PARAMS)`.
    pub signature: Range<usize>,
}

impl FullName {
    /// Returns a part of it.
    pub fn part(&self, range: &Range<usize>) -> &str {
        self.text.get(range.clone()).unwrap_or_default()
    }
}
