//! Signatures: any bytes are refused or parsed, and a parsed method signature survives writing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::signature;

fuzz_target!(|data: &[u8]| {
    // Parsing only has to return; there is nothing to compare.
    let _ = signature::parse_field(data);
    let _ = signature::parse_property(data);
    let _ = signature::parse_type_spec(data);
    let _ = signature::parse_method_spec(data);
    if let Ok(locals) = signature::parse_locals(data) {
        let written = signature::write_locals(&locals).expect("a parsed signature can be written");
        assert_eq!(signature::parse_locals(&written).expect("a written signature can be parsed"), locals);
    }
    if let Ok(method) = signature::parse_method(data) {
        let written = signature::write_method(&method).expect("a parsed signature can be written");
        assert_eq!(signature::parse_method(&written).expect("a written signature can be parsed"), method);
    }
});
