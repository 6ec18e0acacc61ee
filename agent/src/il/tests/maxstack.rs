//! Tests of stack depths.

use super::support::*;
use crate::il::maxstack::{self, Depths, StackFault};
use crate::il::{Label, Opcode, decode};

fn walked(code: &[u8], shapes: &FixedShapes) -> Result<Depths, StackFault> {
    maxstack::depths(&decode(&tiny(code)).unwrap(), shapes)
}

fn max(code: &[u8]) -> u16 {
    walked(code, &VOID).unwrap().max
}

#[test]
fn straight_code() {
    assert_eq!(max(&[0x2A]), 0);
    // ldc.i4.0; dup; dup; pop; pop; pop; ret
    assert_eq!(max(&[0x16, 0x25, 0x25, 0x26, 0x26, 0x26, 0x2A]), 3);
}

#[test]
fn calls_pop_and_push_by_their_signature() {
    // ldc.i4.0; ldc.i4.0; call(2) -> 1; pop; ret
    let call = [0x16, 0x16, 0x28, 0x21, 0, 0, 6, 0x26, 0x2A];
    let depths = walked(&call, &VOID).unwrap();
    assert_eq!(depths.before, [Some(0), Some(1), Some(2), Some(1), Some(0)]);
    // calli also pops the pointer: ldc.i4.0; ldc.i4.0; calli(1) -> 0; ret
    assert_eq!(max(&[0x16, 0x16, 0x29, 0x10, 0, 0, 6, 0x2A]), 2);
}

#[test]
fn follows_branches_and_all_switch_targets() {
    // ldc.i4.0; brtrue.s 2; nop; ret; ldc.i4.0; pop; ret
    let depths = walked(&[0x16, 0x2D, 2, 0x00, 0x2A, 0x16, 0x26, 0x2A], &VOID).unwrap();
    assert_eq!(depths.before, [Some(0), Some(1), Some(0), Some(0), Some(0), Some(1), Some(0)]);
    // ldc.i4.0; switch (+1); ret; ldc.i4.0; pop; ret
    let switch = [0x16, 0x45, 1, 0, 0, 0, 1, 0, 0, 0, 0x2A, 0x16, 0x26, 0x2A];
    assert_eq!(walked(&switch, &VOID).unwrap().before[4], Some(1));
}

#[test]
fn unreachable_code_has_no_depth() {
    // br.s 1; pop; ret
    assert_eq!(walked(&[0x2B, 1, 0x26, 0x2A], &VOID).unwrap().before, [Some(0), None, Some(0)]);
}

#[test]
fn handlers_begin_with_the_exception_except_finally_and_fault() {
    let entry = |flags| {
        // try { leave.s 3 } handler { nop; leave.s 0 / endfinally }, ret
        let code = [0xDE, 3, 0x00, 0xDE, 0, 0x2A];
        let body = decode(&fat(&code, &[small(&[(flags, 0, 2, 2, 3, 2)])])).unwrap();
        maxstack::depths(&body, &VOID).unwrap().before[1]
    };
    assert_eq!((entry(CATCH), entry(FILTER)), (Some(1), Some(1)));
    assert_eq!((entry(FINALLY), entry(FAULT)), (Some(0), Some(0)));
}

#[test]
fn leave_empties_the_stack() {
    // ldc.i4.0; leave.s 0; ret
    let depths = walked(&[0x16, 0xDE, 0, 0x2A], &VOID).unwrap();
    assert_eq!(depths.before, [Some(0), Some(1), Some(0)]);
}

#[test]
fn faults_are_named() {
    let at = Label;
    let fault = |code: &[u8], shapes| walked(code, shapes).unwrap_err();
    assert_eq!(
        fault(&[0x16, 0x58, 0x26, 0x2A], &VOID),
        StackFault::Underflow { at: at(1), opcode: Opcode::ADD, pops: 2, depth: 1 }
    );
    // ldc.i4.0; brtrue.s 1; ldc.i4.0; ret: two paths to ret
    assert_eq!(
        fault(&[0x16, 0x2D, 1, 0x16, 0x2A], &VOID),
        StackFault::Mismatch { at: at(3), first: 0, second: 1 }
    );
    let not_exact = |at, opcode, needed, depth| StackFault::NotExact { at, opcode, needed, depth };
    assert_eq!(fault(&[0x16, 0x2A], &VOID), not_exact(at(1), Opcode::RET, 0, 1));
    assert_eq!(fault(&[0x2A], &VALUE), not_exact(at(0), Opcode::RET, 1, 0));
    assert_eq!(fault(&[0x16, 0x27, 1, 0, 0, 6], &VOID), not_exact(at(1), Opcode::JMP, 0, 1));
    assert_eq!(fault(&[0x16, 0x16, 0xFE, 0x11, 0x2A], &VOID), not_exact(at(2), Opcode::ENDFILTER, 1, 2));
    let unresolved = StackFault::Unresolved { at: at(0), token: 0x0BAD_0001 };
    assert_eq!(fault(&[0x28, 1, 0, 0xAD, 0x0B, 0x2A], &VOID), unresolved);
    assert_eq!(unresolved.to_string(), "instruction 0 calls 0x0bad0001, which cannot be resolved");
    assert_eq!(fault(&[0x00], &VOID), StackFault::FallsOff { at: at(0) });
}

#[test]
fn refuses_more_values_than_a_header_can_state() {
    let code: Vec<u8> = std::iter::repeat_n(0x16, 65_536).chain([0x2A]).collect();
    let body = decode(&fat(&code, &[])).unwrap();
    assert_eq!(maxstack::depths(&body, &VOID), Err(StackFault::TooDeep { at: Label(65_535) }));
}
