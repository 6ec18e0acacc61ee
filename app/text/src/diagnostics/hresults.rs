//! Wording of HRESULTs.

use redial_protocol::hresult;

/// Explains an HRESULT, always including its number.
pub fn explanation(code: u32) -> String {
    match (meaning(code), hresult::name(code)) {
        (Some(meaning), Some(name)) => format!("{meaning} ({name}), HRESULT {code:#010x}"),
        _ => format!("HRESULT {code:#010x}"),
    }
}

/// Returns the meaning of an HRESULT that has a name.
fn meaning(code: u32) -> Option<&'static str> {
    Some(match code {
        0x8007_000E => "the process is out of memory",
        0x8007_0057 => "the runtime rejected an argument",
        0x8000_4001 => "this runtime does not offer it",
        0x8000_4005 => "the runtime gave no reason",
        0x8013_1350 => "the function has not been compiled yet",
        0x8013_1351 => "the data is not complete yet",
        0x8013_1363 => "the runtime does not allow this call at this point",
        0x8013_1372 => "the flag cannot be set after the start",
        0x8013_137A => "the module is dynamic",
        0x8013_137C => "ReJIT is not enabled in this process",
        0x8013_137D => "the function has no active recompilation",
        0x8013_137E => "the function is in a collectible assembly",
        0x8013_138A => "Hot Reload may change the module",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn explains_every_named_hresult() {
        let named =
            (0x8000_4000..0x8000_5000).chain(0x8007_0000..0x8007_0100).chain(0x8013_1300..0x8013_1400);
        let named: Vec<u32> = named.filter(|code| hresult::name(*code).is_some()).collect();
        assert_eq!(named.len(), 13);
        assert!(named.iter().all(|code| meaning(*code).is_some()), "{named:x?}");
        assert_eq!(explanation(0x8000_4005), "the runtime gave no reason (E_FAIL), HRESULT 0x80004005");
        assert_eq!(explanation(0x8013_9999), "HRESULT 0x80139999");
    }
}
