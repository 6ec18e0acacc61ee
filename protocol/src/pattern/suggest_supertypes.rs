//! Suggestions for a pattern by interface or base class that matched nothing: types with similar names.

use super::attribute_name::without_arity;
use super::matching::{Pattern, Target};
use super::names::csharp_type;
use super::params::Declared;
use super::parse::metadata_type;
use super::selectors::IMPLEMENTS;
use super::suggest::{BestSuggestions, QueryPart, last_split, show};

/// Distance, before typing mistakes, of a type before a member: the last word more likely belongs to the type.
const WITH_MEMBER: u32 = 4;

/// Suggests patterns by interface or base class; none if the pattern has a wildcard in the type.
pub(super) fn suggest_supertypes<'a>(
    pattern: &Pattern,
    names: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<String> {
    let Target::Implements { body, .. } = &pattern.target else { return Vec::new() };
    // As typed: the methods may be in another assembly than the interface.
    let assembly = pattern.text().split_once(IMPLEMENTS).map_or("", |(assembly, _)| assembly);
    let query = |name: &str| {
        let part = QueryPart::new(without_arity(&metadata_type(name, &mut Declared::new())));
        Some(part).filter(|part| !part.glob.has_wildcard())
    };
    let whole = query(body);
    let halves = last_split(body).and_then(|(type_half, member)| Some((query(type_half)?, member)));
    let mut nearest = BestSuggestions::default();
    let mut last = None;
    for (_, type_name, _) in names {
        if last.replace(type_name) == Some(type_name) {
            continue;
        }
        let name = without_arity(type_name);
        let distance = |part: &QueryPart| part.compare(&name).map(|comparison| comparison.distance);
        let with = |rest: &str| format!("{assembly}{IMPLEMENTS}{}{rest}", csharp_type(type_name));
        // An exact name is right already.
        if let Some(distance) = whole.as_ref().and_then(distance).filter(|distance| *distance > 0) {
            nearest.offer(distance, || with(""));
        }
        if let Some((half, member)) = &halves {
            match distance(half) {
                Some(0) => nearest.offer(1, || with("")),
                Some(distance) => {
                    nearest.offer(distance + WITH_MEMBER, || with(&format!(".{}", show(member))));
                }
                None => {}
            }
        }
    }
    nearest.patterns()
}
