//! Dial sets: any text is refused with a sentence or parsed, and parsed orders survive printing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_protocol::dialset;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match dialset::parse(text) {
        Ok(orders) => {
            let printed = dialset::print(&orders);
            assert_eq!(dialset::parse(&printed).expect("a printed dial set can be parsed"), orders);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if let Err(error) = dialset::parse_dial_option(text) {
        assert!(!error.to_string().is_empty());
    }
});
