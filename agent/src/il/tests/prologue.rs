//! Tests of prologues.

use crate::il::verify::verify_structure;
use crate::il::{
    ClauseKind, Guarded, Insn, Label, Opcode, Operand, Prologue, Rewritten, decode, last_calls, with_prologue,
};

fn probe() -> Vec<Insn> {
    vec![Insn::LdcI4(1000), Insn::LdcI8(0x7FFF_1234_5678_9ABC), Insn::ConvI, Insn::Calli(0x1100_0001)]
}

const PROBE_BYTES: [u8; 20] =
    [0x20, 0xE8, 0x03, 0, 0, 0x21, 0xBC, 0x9A, 0x78, 0x56, 0x34, 0x12, 0xFF, 0x7F, 0xD3, 0x29, 1, 0, 0, 0x11];

#[test]
fn a_tiny_method_stays_tiny_while_it_fits() {
    let Rewritten { body, map } = with_prologue(&[0x06, 0x2A], Prologue::new(probe(), 2)).unwrap();
    assert_eq!(body[0], (21 << 2) | 2);
    assert_eq!(body[1..21], PROBE_BYTES);
    assert_eq!(body[21..], [0x2A]);
    assert_eq!(map, [(0, 20)]);
}

#[test]
fn a_tiny_method_becomes_fat_at_64_bytes() {
    let mut tiny = vec![(44 << 2) | 2];
    tiny.extend([0; 43]);
    tiny.push(0x2A);
    let Rewritten { body, .. } = with_prologue(&tiny, Prologue::new(probe(), 2)).unwrap();
    assert_eq!(body[..12], [0x03, 0x30, 8, 0, 64, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(body.len(), 12 + 64);
    tiny.remove(1);
    tiny[0] = (43 << 2) | 2;
    assert_eq!(with_prologue(&tiny, Prologue::new(probe(), 2)).unwrap().body.len(), 1 + 63);
}

#[test]
fn max_stack_is_the_larger_of_both() {
    let deep = |stack| {
        decode(&with_prologue(&[0x06, 0x2A], Prologue::new(probe(), stack)).unwrap().body).unwrap().max_stack
    };
    assert_eq!(deep(2), 8);
    assert_eq!(deep(9), 9);
}

#[test]
fn loops_to_the_start_skip_the_prologue() {
    // nop; br.s -3 (to the nop)
    let Rewritten { body, .. } =
        with_prologue(&[(3 << 2) | 2, 0x00, 0x2B, 0xFD], Prologue::new(probe(), 2)).unwrap();
    assert_eq!(body[21..], [0x00, 0x2B, 0xFD]);
}

#[test]
fn the_trap_form_skips_its_second_call() {
    let trap = [
        Insn::LdcI4(5),
        Insn::LdcI8(1),
        Insn::ConvI,
        Insn::Calli(0x1100_0001),
        Insn::Brfalse(3),
        Insn::LdcI8(2),
        Insn::ConvI,
        Insn::Calli(0x1100_0002),
    ];
    let Rewritten { body, map } = with_prologue(&[0x06, 0x2A], Prologue::new(trap, 2)).unwrap();
    let expected = [
        &[0x1B, 0x21, 1, 0, 0, 0, 0, 0, 0, 0, 0xD3, 0x29, 1, 0, 0, 0x11][..],
        &[0x2C, 15],
        &[0x21, 2, 0, 0, 0, 0, 0, 0, 0, 0xD3, 0x29, 2, 0, 0, 0x11],
        &[0x2A],
    ]
    .concat();
    assert_eq!(body[1..], expected);
    assert_eq!(map, [(0, 33)]);
}

#[test]
fn a_skip_past_the_prologue_is_refused() {
    let result = with_prologue(&[0x06, 0x2A], Prologue::new([Insn::Brfalse(1)], 2));
    assert_eq!(
        result.unwrap_err().to_string(),
        "an inserted branch refers to instruction 0, past the end of the code"
    );
}

#[test]
fn try_regions_from_the_start_exclude_the_prologue() {
    // try { nop; leave.s end } finally { endfinally } end: ret, small section
    let original = [
        &[0x1B, 0x30, 1, 0, 5, 0, 0, 0, 0, 0, 0, 0][..],
        &[0x00, 0xDE, 0x01, 0xDC, 0x2A],
        &[0, 0, 0],
        &[0x01, 16, 0, 0],
        &[2, 0, 0, 0, 3, 3, 0, 1, 0, 0, 0, 0],
    ]
    .concat();
    let Rewritten { body, map } = with_prologue(&original, Prologue::new(probe(), 2)).unwrap();
    let expected = [
        &[0x1B, 0x30, 2, 0, 25, 0, 0, 0, 0, 0, 0, 0][..],
        &PROBE_BYTES,
        &[0x00, 0xDE, 0x01, 0xDC, 0x2A],
        &[0, 0, 0],
        &[0x01, 16, 0, 0],
        &[2, 0, 20, 0, 3, 23, 0, 1, 0, 0, 0, 0],
    ]
    .concat();
    assert_eq!(body, expected);
    assert_eq!(map, [(0, 20), (1, 21), (3, 23), (4, 24)]);
}

#[test]
fn last_calls_are_those_before_a_return() {
    // ldarg.0; brtrue.s past the first ret; ldarg.0; CALL 0x2B000001; AFTER…; ret; ldnull; call 0x06000002; pop; ret
    let tail_calls = |call: u8, after: &[u8]| {
        let size = 9 + after.len() as u8 + 1 + 8;
        let start = [&[(size << 2) | 2, 0x02, 0x2D, 7 + after.len() as u8, 0x02, call, 1, 0, 0, 0x2B], after];
        let end = [0x2A, 0x14, 0x28, 2, 0, 0, 6, 0x26, 0x2A];
        let body = decode(&[&start.concat(), &end[..]].concat()).expect("it is valid");
        last_calls(&body).collect::<Vec<_>>()
    };
    for call in [0x28, 0x6F] {
        for nothing in [&[][..], &[0x00], &[0x00, 0x00]] {
            assert_eq!(tail_calls(call, nothing), [0x2B00_0001], "{call:x} {nothing:x?}");
        }
        assert_eq!(tail_calls(call, &[0x65]), [], "its result is negated");
    }
    assert_eq!(tail_calls(0x73, &[]), [], "newobj");
}

#[test]
fn prologue_try_region_is_separate_from_the_methods() {
    let endfinally = Insn::Any(Opcode::ENDFINALLY, Operand::None);
    let code = [Insn::LdcI4(1), Insn::Pop, Insn::Leave(1), endfinally];
    let guarded = Guarded { try_region: 0..1, handler: 1..2 }.behind(2);
    // nop; leave.s +1; endfinally; ret, with a finally around the nop.
    let original = [
        0x1B, 0x30, 8, 0, 5, 0, 0, 0, 0, 0, 0, 0, // the header
        0x00, 0xDE, 0x01, 0xDC, 0x2A, 0, 0, 0, // the code
        0x01, 0x10, 0, 0, 0x02, 0, 0, 0, 0x03, 0x03, 0, 0x01, 0, 0, 0, 0,
    ];
    for (original, more) in [(&[0x06_u8, 0x2A][..], 0), (&original, 1)] {
        let mut prologue = Prologue::new(code.clone(), 1);
        prologue.guarded = Some(guarded.clone());
        let rewritten = with_prologue(original, prologue).unwrap();
        let body = verify_structure(&rewritten.body).unwrap();
        assert_eq!(body.clauses.len(), more + 1);
        let own = body.clauses.last().unwrap();
        assert!(matches!(own.kind, ClauseKind::Finally { .. }));
        assert_eq!((own.try_region.clone(), own.handler.clone()), (Label(2)..Label(3), Label(3)..Label(4)));
    }
}
