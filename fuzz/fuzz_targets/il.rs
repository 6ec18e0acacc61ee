//! IL: any bytes are refused or decoded; what was decoded is written again, and an edit keeps a sound body sound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::il::maxstack::{CallShape, Shapes};
use redial_agent::il::verify::{verify, verify_structure};
use redial_agent::il::{
    Around, Edit, Insn, Label, Landing, Opcode, Prologue, decode, encode, gives_frame_away, machine, with_code_around,
    with_prologue,
};

/// What the count probe inserts: an argument, a leaf's address, an indirect call.
const PROLOGUE: [Insn; 4] =
    [Insn::LdcI4(77), Insn::LdcI8(0x1122_3344_5566_7788), Insn::ConvI, Insn::Calli(0x1100_0001)];

/// Calls whose shape is in the token, so that the walk over the stack meets every number.
struct TokenShapes;

impl Shapes for TokenShapes {
    fn call(&self, _: Opcode, token: u32) -> Option<CallShape> {
        Some(CallShape { pops: (token >> 8 & 0xFF) as u16, pushes: (token & 1) as u16 })
    }

    fn returns_value(&self) -> bool {
        false
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(body) = decode(data) else { return };
    let written = encode(&body).expect("what was read can be written");
    let again = decode(&written.bytes).expect("what was written can be read");
    assert_eq!(again.instructions, body.instructions);
    assert_eq!(again.clauses, body.clauses);
    let twice = encode(&again).expect("what was written once can be written again");
    assert_eq!(twice.bytes, written.bytes);

    let edited = with_prologue(data, Prologue::new(PROLOGUE, 2)).expect("what was read takes a prologue");
    let decoded = decode(&edited.body).expect("the edited body can be read");
    assert_eq!(decoded.instructions.len(), body.instructions.len() + PROLOGUE.len());
    if verify_structure(&written.bytes).is_ok() {
        verify_structure(&edited.body).expect("an edit keeps a sound body sound");
    }
    if verify(&written.bytes, &TokenShapes).is_ok() {
        // The probe's call has no shape of its own here, so this prologue has none.
        let balanced = [Insn::LdcI8(1), Insn::Pop];
        let edited = with_prologue(&written.bytes, Prologue::new(balanced, 1)).expect("what was written takes a prologue");
        verify(&edited.body, &TokenShapes).expect("a prologue keeps the stack as it was");
    }

    // Code around the whole: refused only where there is no place behind it.
    let balanced = || vec![Insn::LdcI8(1), Insn::Pop];
    let result = data.len().is_multiple_of(2).then_some(300);
    let machine = machine(&body);
    let within = machine.iter().flat_map(|machine| &machine.completes).map(|at| (*at, balanced())).collect();
    let local_sig = 0x1100_0001;
    let around =
        Around { before: balanced(), first: balanced(), fault: balanced(), after: balanced(), within, stack: 1, result, local_sig };
    match with_code_around(&written.bytes, around) {
        Ok(timed) if verify_structure(&written.bytes).is_ok() => {
            verify_structure(&timed.body).expect("code around a sound body keeps it sound");
        }
        Ok(timed) => drop(decode(&timed.body).expect("a body with code around it can be read")),
        Err(_) => assert!(gives_frame_away(&body)),
    }

    // Something before every other instruction: short branches grow.
    let mut strewn = body.clone();
    let mut edit = Edit::new();
    for at in (0..body.end().0).step_by(2) {
        edit.insert_before(Label(at), Landing::Inserted, vec![Insn::LdcI8(1), Insn::Pop]);
    }
    edit.apply(&mut strewn).expect("insertions at instructions can be made");
    let written = encode(&strewn).expect("a strewn body can be written");
    let again = decode(&written.bytes).expect("a strewn body can be read");
    assert_eq!(again.instructions.len(), strewn.instructions.len());
    for (again, strewn) in again.instructions.iter().zip(&strewn.instructions) {
        assert_eq!(again.operand, strewn.operand);
        assert!(again.opcode == strewn.opcode || Some(again.opcode) == strewn.opcode.long_form());
    }
    assert_eq!(again.clauses, strewn.clauses);
});
