//! Patterns: any text is refused with a sentence or parsed, and matching never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::pattern::Pattern;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // The first line is a pattern; the others, if any, are assembly, type, method and parameters to match.
    let mut lines = text.split('\n');
    let pattern = match Pattern::parse(lines.next().unwrap_or_default()) {
        Ok(pattern) => pattern,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let reparsed = Pattern::parse(pattern.text()).expect("its own text is a pattern");
    assert_eq!(reparsed.text(), pattern.text());
    let mut word = || lines.next().unwrap_or("x");
    let (assembly, type_name, method, parameters) = (word(), word(), word(), word());
    assert_eq!(pattern.matches_assembly(assembly), reparsed.matches_assembly(assembly));
    let matches = |pattern: &Pattern| {
        let of_type = [pattern.for_type(type_name), pattern.for_supertype(type_name)];
        let by_name =
            of_type.map(|of_type| of_type.map(|of_type| of_type.matches(method, 1, || parameters.to_owned())));
        let attributes: Vec<bool> =
            pattern.attributes().iter().map(|attribute| attribute.matches(type_name)).collect();
        (by_name, attributes)
    };
    assert_eq!(matches(&pattern), matches(&reparsed));
});
