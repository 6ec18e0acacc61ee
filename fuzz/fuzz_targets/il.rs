//! IL: any bytes are refused or decoded; what was decoded is written again, and an edit keeps a sound body sound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::il::verify::verify_structure;
use redial_agent::il::{Insn, decode, encode, with_prologue};

/// What the count probe inserts: an argument, a leaf's address, an indirect call.
const PROLOGUE: [Insn; 4] =
    [Insn::LdcI4(77), Insn::LdcI8(0x1122_3344_5566_7788), Insn::ConvI, Insn::Calli(0x1100_0001)];

fuzz_target!(|data: &[u8]| {
    let Ok(body) = decode(data) else { return };
    let Ok(written) = encode(&body) else { return };
    let again = decode(&written.bytes).expect("what was written can be read");
    assert_eq!(again.instructions, body.instructions);
    assert_eq!(again.clauses, body.clauses);
    let twice = encode(&again).expect("what was written once can be written again");
    assert_eq!(twice.bytes, written.bytes);
    if let Ok(edited) = with_prologue(data, &PROLOGUE, 2) {
        let decoded = decode(&edited.body).expect("the edited body can be read");
        assert_eq!(decoded.instructions.len(), body.instructions.len() + PROLOGUE.len());
        if verify_structure(data).is_ok() {
            verify_structure(&edited.body).expect("an edit keeps a sound body sound");
        }
    }
});
