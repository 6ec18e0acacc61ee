//! Tests of code around a whole method.

use super::support::{Numbers, VALUE, VOID, fat, small, tiny};
use crate::il::verify::{verify, verify_structure};
use crate::il::{BodyWrapper, ClauseKind, IlError, Insn, Label, Opcode, Operand, decode, wrap_body};

/// Code whose numbers show its place.
fn around(result: Option<u16>) -> BodyWrapper {
    let mark = |number| vec![Insn::LdcI4(number), Insn::Pop];
    BodyWrapper {
        before: mark(3),
        first: Vec::new(),
        fault: mark(4),
        after: mark(5),
        within: Vec::new(),
        stack: 1,
        result,
        local_sig: 0x1100_0009,
    }
}

fn words(body: &[u8]) -> Vec<String> {
    let body = decode(body).unwrap();
    let word = |instruction: &crate::il::Instruction| match &instruction.operand {
        Operand::Target(label) => format!("{} {label}", instruction.opcode),
        Operand::U8(number) => format!("{} {number}", instruction.opcode),
        _ => instruction.opcode.to_string(),
    };
    body.instructions.iter().map(word).collect()
}

#[test]
fn every_exit_runs_the_code_after_the_body() {
    // ldarg.0; brtrue.s +2; ldc.i4.1; ret; ldc.i4.2; ret
    let original = tiny(&[0x02, 0x2D, 2, 0x17, 0x2A, 0x18, 0x2A]);
    let rewritten = wrap_body(&original, around(Some(1))).unwrap();
    let expected = [
        "ldc.i4.3",
        "pop",
        "ldarg.0",
        "brtrue.s 7",
        "ldc.i4.1",
        "stloc.s 1",
        "leave.s 13",
        "ldc.i4.2",
        "stloc.s 1",
        "leave.s 13",
        "ldc.i4.4",
        "pop",
        "endfinally",
        "ldc.i4.5",
        "pop",
        "ldloc.s 1",
        "ret",
    ];
    assert_eq!(words(&rewritten.body), expected);
    let body = verify(&rewritten.body, &VALUE).unwrap();
    assert_eq!((body.local_sig, body.clauses.len()), (0x1100_0009, 1));
    let clause = &body.clauses[0];
    assert_eq!(
        (clause.try_region.clone(), clause.handler.clone()),
        (Label(2)..Label(10), Label(10)..Label(13))
    );
    assert!(matches!(clause.kind, ClauseKind::Fault { .. }));
    // Each original instruction has an entry; for a `ret`, the first instruction of its replacement.
    let old: Vec<u32> = rewritten.map.iter().map(|(old, _)| *old).collect();
    assert_eq!(old, [0, 1, 3, 4, 5, 6]);
}

#[test]
fn methods_without_result_or_end_stay_sound() {
    let rewritten = wrap_body(&tiny(&[0x2A]), around(None)).unwrap();
    assert_eq!(
        words(&rewritten.body)[2..],
        ["leave.s 6", "ldc.i4.4", "pop", "endfinally", "ldc.i4.5", "pop", "ret"]
    );
    verify(&rewritten.body, &VOID).unwrap();
    // ldnull; throw, and an endless loop
    for code in [&[0x14, 0x7A][..], &[0x00, 0x2B, 0xFD]] {
        verify(&wrap_body(&tiny(code), around(Some(300))).unwrap().body, &VALUE).unwrap();
    }
}

#[test]
fn a_branch_to_the_first_instruction_stays_inside() {
    // nop; ldarg.0; brtrue.s to the nop; ret
    let rewritten = wrap_body(&tiny(&[0x00, 0x02, 0x2D, 0xFC, 0x2A]), around(None)).unwrap();
    assert_eq!(words(&rewritten.body)[4], "brtrue.s 2");
    verify(&rewritten.body, &VOID).unwrap();
}

#[test]
fn own_clauses_come_first_and_keep_their_bounds() {
    // try { nop; leave.s end } finally { endfinally } end: ret, with the clause's handler right before the exit
    let clause: Numbers = (2, 0, 3, 3, 1, 0);
    let original = fat(&[0x00, 0xDE, 0x01, 0xDC, 0x2A], &[small(&[clause])]);
    let body = verify(&wrap_body(&original, around(None)).unwrap().body, &VOID).unwrap();
    let [inner, outer] = &body.clauses[..] else { panic!("{:?}", body.clauses) };
    assert_eq!((inner.try_region.clone(), inner.handler.clone()), (Label(2)..Label(4), Label(4)..Label(5)));
    assert_eq!((outer.try_region.clone(), outer.handler.clone()), (Label(2)..Label(6), Label(6)..Label(9)));
    // try { leave.s } catch { pop; rethrow }: a handler that ends the code, and no return.
    let clause: Numbers = (0, 0, 2, 2, 3, 0x0100_0001);
    let original = fat(&[0x14, 0x7A, 0x26, 0xFE, 0x1A], &[small(&[clause])]);
    let body = verify(&wrap_body(&original, around(None)).unwrap().body, &VOID).unwrap();
    assert_eq!(body.clauses[0].handler, Label(4)..Label(6));
    assert_eq!(body.clauses[1].handler.start, Label(6));
}

#[test]
fn distant_exits_use_a_long_leave() {
    let mut code = vec![0x02, 0x2D, 1, 0x2A];
    code.extend([0x00; 300]);
    code.push(0x2A);
    let rewritten = wrap_body(&fat(&code, &[]), around(None)).unwrap();
    assert_eq!(decode(&rewritten.body).unwrap().instructions[4].opcode, Opcode::LEAVE);
    verify(&rewritten.body, &VOID).unwrap();
}

#[test]
fn refuses_methods_that_give_their_frame_away() {
    // tail. call 0x06000001; ret, and jmp 0x06000001
    for code in [&[0xFE, 0x14, 0x28, 1, 0, 0, 6, 0x2A][..], &[0x27, 1, 0, 0, 6]] {
        assert_eq!(wrap_body(&tiny(code), around(None)), Err(IlError::NoWayOut));
    }
}

#[test]
fn a_sound_structure_stays_sound() {
    // A switch to two returns and the next instruction.
    let code = [0x02, 0x45, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 0x2A, 0x2A, 0x2A];
    let rewritten = wrap_body(&tiny(&code), around(None)).unwrap();
    verify_structure(&rewritten.body).unwrap();
    let body = decode(&rewritten.body).unwrap();
    let Operand::Switch(targets) = &body.instructions[3].operand else { panic!("a switch") };
    assert_eq!(targets[..], [Label(5), Label(6)]);
}

#[test]
fn code_within_runs_only_on_fall_through() {
    // ldarg.0; brtrue.s +2; nop; nop; ldarg.0; pop; ret: code before the second nop and before the branch's
    // target.
    let original = tiny(&[0x02, 0x2D, 2, 0x00, 0x00, 0x02, 0x26, 0x2A]);
    let mark = |number| vec![Insn::LdcI4(number), Insn::Pop];
    let within = vec![(Label(4), mark(7)), (Label(3), mark(6))];
    let rewritten = wrap_body(&original, BodyWrapper { within, ..around(None) }).unwrap();
    let expected = [
        "ldc.i4.3",
        "pop",
        "ldarg.0",
        "brtrue.s 10",
        "nop", // before the second nop
        "ldc.i4.6",
        "pop",
        "nop", // before the branch's target
        "ldc.i4.7",
        "pop",
        "ldarg.0",
        "pop",
        "leave.s 16", // after the body
        "ldc.i4.4",
        "pop",
        "endfinally",
        "ldc.i4.5",
        "pop",
        "ret",
    ];
    assert_eq!(words(&rewritten.body), expected);
    verify(&rewritten.body, &VOID).unwrap();
    assert!(wrap_body(&original, BodyWrapper { within: vec![(Label(9), mark(1))], ..around(None) }).is_err());
}
