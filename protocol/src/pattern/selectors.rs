//! Parts of a pattern that select methods by attributes, or by the interface or base class whose members they
//! implement: `[Shop.Audit]` and `implements:Shop.IOrderHandler.Handle*`.

use super::attribute_name::AttributeName;
use super::error::PatternError;
use super::glob::STAR;
use super::names::closing;

/// Begins a pattern that names an interface or base class.
pub(super) const IMPLEMENTS: &str = "implements:";

/// Text of a pattern between the assembly and the params, without spaces and with stars as [`STAR`].
pub(super) struct Selected<'t> {
    pub(super) attributes: Vec<AttributeName>,
    /// Whether the names are those of an interface or base class and its members.
    pub(super) implements: bool,
    pub(super) names: &'t str,
}

/// Splits off what selects methods other than by name. `text` is the whole pattern as typed.
pub(super) fn cut_selectors<'t>(body: &'t str, text: &str) -> Result<Selected<'t>, PatternError> {
    let mut attributes = Vec::new();
    let mut names = body;
    while names.starts_with('[') {
        let position = position(text, '[', attributes.len());
        let pattern = || text.to_owned();
        let close = closing(names, 0)
            .filter(|close| names[*close..].starts_with(']'))
            .ok_or_else(|| PatternError::OpenAttribute { pattern: pattern(), position })?;
        let name = &names[1..close];
        if name.is_empty() {
            return Err(PatternError::NoAttribute { pattern: pattern(), position });
        }
        if name.contains(['(', ',', '=', '"', ':', '[', '<']) {
            return Err(PatternError::AttributeArguments { pattern: pattern(), position });
        }
        attributes.push(AttributeName::new(name));
        names = &names[close + 1..];
    }
    let implemented = names.strip_prefix(IMPLEMENTS);
    if implemented.is_some_and(str::is_empty) {
        let position = text.find(':').map_or(0, |colon| text[..colon].chars().count() + 1);
        return Err(PatternError::NoInterface { pattern: text.to_owned(), position });
    }
    Ok(Selected { attributes, implements: implemented.is_some(), names: implemented.unwrap_or(names) })
}

/// Returns the position, from 1, of the `nth` occurrence of a character.
fn position(text: &str, wanted: char, nth: usize) -> usize {
    let mut places = text.chars().enumerate().filter(|(_, c)| *c == wanted).map(|(index, _)| index + 1);
    places.nth(nth).unwrap_or(1)
}

/// Returns whether a part of a pattern stands for every name.
pub(super) fn is_any(names: &str) -> bool {
    names.chars().all(|c| c == STAR)
}
