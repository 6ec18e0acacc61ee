//! IL: any bytes are refused or decoded; decoded bodies survive encoding, and edits keep a sound body sound.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::il::maxstack::{CallShape, Shapes};
use redial_agent::il::verify::{verify, verify_structure};
use redial_agent::il::{
    BodyWrapper, Edit, Insn, Label, Landing, Opcode, Prologue, decode, encode, gives_frame_away,
    state_machine, with_prologue, wrap_body,
};

/// Instructions of the count probe: an argument, the address of a helper, an indirect call.
const PROLOGUE: [Insn; 4] =
    [Insn::LdcI4(77), Insn::LdcI8(0x1122_3344_5566_7788), Insn::ConvI, Insn::Calli(0x1100_0001)];

/// Encodes the shape of a call in its token, so that the walk over the stack meets every number.
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
    let written = encode(&body).expect("a decoded body can be encoded");
    let redecoded = decode(&written.bytes).expect("an encoded body can be decoded");
    assert_eq!(redecoded.instructions, body.instructions);
    assert_eq!(redecoded.clauses, body.clauses);
    let twice = encode(&redecoded).expect("an encoded body can be encoded again");
    assert_eq!(twice.bytes, written.bytes);

    let edited = with_prologue(data, Prologue::new(PROLOGUE, 2)).expect("a decoded body takes a prologue");
    let decoded = decode(&edited.body).expect("the edited body can be decoded");
    assert_eq!(decoded.instructions.len(), body.instructions.len() + PROLOGUE.len());
    if verify_structure(&written.bytes).is_ok() {
        verify_structure(&edited.body).expect("an edit keeps a sound body sound");
    }
    if verify(&written.bytes, &TokenShapes).is_ok() {
        // The probe's call has no shape here, so this prologue contains no call.
        let balanced = [Insn::LdcI8(1), Insn::Pop];
        let edited = with_prologue(&written.bytes, Prologue::new(balanced, 1))
            .expect("an encoded body takes a prologue");
        verify(&edited.body, &TokenShapes).expect("a prologue keeps the stack unchanged");
    }

    // Wraps the whole body; refused only if the body gives its stack frame away.
    let balanced = || vec![Insn::LdcI8(1), Insn::Pop];
    let result = data.len().is_multiple_of(2).then_some(300);
    let machine = state_machine(&body);
    let within = machine.iter().flat_map(|machine| &machine.completes).map(|at| (*at, balanced())).collect();
    let local_sig = 0x1100_0001;
    let wrapper = BodyWrapper {
        before: balanced(),
        first: balanced(),
        fault: balanced(),
        after: balanced(),
        within,
        stack: 1,
        result,
        local_sig,
    };
    match wrap_body(&written.bytes, wrapper) {
        Ok(timed) if verify_structure(&written.bytes).is_ok() => {
            verify_structure(&timed.body).expect("wrapping keeps a sound body sound");
        }
        Ok(timed) => drop(decode(&timed.body).expect("a wrapped body can be decoded")),
        Err(_) => assert!(gives_frame_away(&body)),
    }

    // Inserts code before every second instruction, so that short branches grow.
    let mut edited_body = body.clone();
    let mut edit = Edit::new();
    for at in (0..body.end().0).step_by(2) {
        edit.insert_before(Label(at), Landing::Inserted, vec![Insn::LdcI8(1), Insn::Pop]);
    }
    edit.apply(&mut edited_body).expect("insertions at instructions succeed");
    let written = encode(&edited_body).expect("the edited body can be encoded");
    let redecoded = decode(&written.bytes).expect("the edited body can be decoded");
    assert_eq!(redecoded.instructions.len(), edited_body.instructions.len());
    for (redecoded, edited_body) in redecoded.instructions.iter().zip(&edited_body.instructions) {
        assert_eq!(redecoded.operand, edited_body.operand);
        assert!(
            redecoded.opcode == edited_body.opcode
                || Some(redecoded.opcode) == edited_body.opcode.long_form()
        );
    }
    assert_eq!(redecoded.clauses, edited_body.clauses);
});
