//! Signatures: any bytes are refused or parsed; a method's signature is written so that it reads the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::signature;

fuzz_target!(|data: &[u8]| {
    // Parsing must only come back; there is nothing to compare with.
    let _ = signature::parse_field(data);
    let _ = signature::parse_property(data);
    let _ = signature::parse_type_spec(data);
    let _ = signature::parse_method_spec(data);
    if let Ok(locals) = signature::parse_locals(data) {
        let written = signature::write_locals(&locals).expect("what was read can be written");
        assert_eq!(signature::parse_locals(&written).expect("what was written can be read"), locals);
    }
    if let Ok(method) = signature::parse_method(data) {
        let written = signature::write_method(&method).expect("what was read can be written");
        assert_eq!(signature::parse_method(&written).expect("what was written can be read"), method);
    }
});
