//! Patterns: any text is refused with a sentence or parsed, and matching never panics.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::pattern::Pattern;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    // Up to the first line end it is a pattern; the rest, if any, is assembly, type, method and parameters to match.
    let mut lines = text.split('\n');
    let pattern = match Pattern::parse(lines.next().unwrap_or_default()) {
        Ok(pattern) => pattern,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let again = Pattern::parse(pattern.text()).expect("its own text is a pattern");
    assert_eq!(again.text(), pattern.text());
    let mut word = || lines.next().unwrap_or("x");
    let (assembly, type_name, method, parameters) = (word(), word(), word(), word());
    assert_eq!(pattern.matches_assembly(assembly), again.matches_assembly(assembly));
    let first = pattern.for_type(type_name).map(|found| found.matches(method, 1, || parameters.to_owned()));
    let second = again.for_type(type_name).map(|found| found.matches(method, 1, || parameters.to_owned()));
    assert_eq!(first, second);
});
