//! Each rule about regions with a body that breaks only that rule.

use super::support::*;
use crate::il::verify::{Violation, verify};
use crate::il::{Label, Opcode};

fn checked(code: &[u8], clauses: &[Numbers]) -> Result<(), Violation> {
    let body = verify(&fat(code, &[small(clauses)]), &VOID).map(drop);
    assert_eq!(body, verify(&fat(code, &[large(clauses)]), &VOID).map(drop));
    body
}

fn crosses(from: u32, opcode: Opcode, to: u32) -> Result<(), Violation> {
    Err(Violation::Crosses { from: Label(from), opcode, to: Label(to) })
}

fn misplaced(at: u32, opcode: Opcode) -> Result<(), Violation> {
    Err(Violation::Misplaced { at: Label(at), opcode })
}

/// `nop; [0..] try at 1 { nop; nop; leave.s end } handler at 5 { nop; leave.s end } nop; ret`.
/// Instructions: 0 nop, 1 nop, 2 nop, 3 leave.s, 4 handler's nop, 5 leave.s, 6 nop, 7 ret.
const CODE: [u8; 10] = [0x00, 0x00, 0x00, 0xDE, 3, 0x00, 0xDE, 0, 0x00, 0x2A];
const CAUGHT: Numbers = (CATCH, 1, 4, 5, 3, 0);

fn with(at: usize, bytes: &[u8]) -> [u8; 10] {
    let mut code = CODE;
    code[at..at + bytes.len()].copy_from_slice(bytes);
    code
}

#[test]
fn sound_regions_pass() {
    assert_eq!(checked(&CODE, &[CAUGHT]), Ok(()));
    // Two catches for one try region: leave.s 0 in the second continues after it.
    let code = [0x00, 0xDE, 6, 0x26, 0xDE, 3, 0x26, 0xDE, 0, 0x2A];
    assert_eq!(checked(&code, &[(CATCH, 0, 3, 3, 3, 0), (CATCH, 0, 3, 6, 3, 0)]), Ok(()));
    // try { try { leave } catch { leave } leave } finally { }
    let code = [0x00, 0xDE, 3, 0x26, 0xDE, 0, 0xDE, 1, 0xDC, 0x2A];
    assert_eq!(checked(&code, &[(CATCH, 0, 3, 3, 3, 0), (FINALLY, 0, 8, 8, 1, 0)]), Ok(()));
}

#[test]
fn regions_have_instructions() {
    let empty = |region| Err(Violation::EmptyRegion { clause: 0, region });
    assert_eq!(checked(&CODE, &[(CATCH, 1, 0, 5, 3, 0)]), empty("try region"));
    assert_eq!(checked(&CODE, &[(CATCH, 1, 4, 5, 0, 0)]), empty("handler"));
    assert_eq!(checked(&CODE, &[(FILTER, 1, 4, 5, 3, 5)]), empty("filter"));
    // A filter after its handler counts as empty too.
    assert_eq!(checked(&CODE, &[(FILTER, 1, 4, 5, 3, 8)]), empty("filter"));
}

#[test]
fn regions_do_not_overlap() {
    // The handler begins within its own try region.
    let error = Err(Violation::Overlap { first: 0, second: 0 });
    assert_eq!(checked(&CODE, &[(CATCH, 1, 5 - 1, 3, 5, 0)]), error);
    // A handler that is its own try region.
    assert_eq!(checked(&CODE, &[(CATCH, 1, 4, 1, 4, 0)]), error);
    // Another clause's try region begins inside the handler and ends after it.
    let error = Err(Violation::Overlap { first: 0, second: 1 });
    assert_eq!(checked(&CODE, &[CAUGHT, (FINALLY, 6, 3, 9, 1, 0)]), error);
}

#[test]
fn a_handler_is_in_the_region_of_its_try() {
    // The second clause's try region is inside the first's, but its handler is not.
    let code = [0x00, 0x00, 0xDE, 3, 0x26, 0xDE, 0, 0xDC, 0x2A];
    let error = Err(Violation::HandlerElsewhere { clause: 0 });
    assert_eq!(checked(&code, &[(FAULT, 0, 1, 7, 1, 0), (CATCH, 0, 4, 4, 3, 0)]), error);
    let inside = [0x00, 0xDE, 1, 0xDC, 0xDE, 3, 0x26, 0xDE, 0, 0x2A];
    assert_eq!(checked(&inside, &[(FAULT, 0, 3, 3, 1, 0), (CATCH, 0, 6, 6, 3, 0)]), Ok(()));
}

#[test]
fn inner_clauses_come_first() {
    let code = [0x00, 0xDE, 1, 0xDC, 0xDE, 3, 0x26, 0xDE, 0, 0x2A];
    let inner = (FAULT, 0, 3, 3, 1, 0);
    let outer = (CATCH, 0, 6, 6, 3, 0);
    assert_eq!(checked(&code, &[inner, outer]), Ok(()));
    assert_eq!(checked(&code, &[outer, inner]), Err(Violation::ClauseOrder { outer: 0, inner: 1 }));
}

#[test]
fn a_try_region_is_entered_with_an_empty_stack() {
    // ldc.i4.0; try { pop; leave.s 3 } catch { nop; leave.s 0 } ret
    let code = [0x16, 0x26, 0xDE, 3, 0x00, 0xDE, 0, 0x2A];
    let error = Err(Violation::TryStack { at: Label(1), depth: 1 });
    assert_eq!(checked(&code, &[(CATCH, 1, 3, 4, 3, 0)]), error);
    let before = [0x16, 0x26, 0x00, 0xDE, 3, 0x00, 0xDE, 0, 0x2A];
    assert_eq!(checked(&before, &[(CATCH, 2, 3, 5, 3, 0)]), Ok(()));
}

#[test]
fn only_leave_exits_try_regions_and_catches() {
    // The try region's leave.s as br.s
    assert_eq!(checked(&with(3, &[0x2B]), &[CAUGHT]), crosses(3, Opcode::BR_S, 6));
    // The handler's leave.s
    assert_eq!(checked(&with(6, &[0x2B]), &[CAUGHT]), crosses(5, Opcode::BR_S, 6));
    // Falling out of the try region into the handler, and out of the handler.
    assert_eq!(checked(&with(3, &[0x00, 0x00]), &[CAUGHT]), crosses(4, Opcode::NOP, 5));
    assert_eq!(checked(&with(6, &[0x00, 0x26]), &[CAUGHT]), crosses(6, Opcode::POP, 7));
}

#[test]
fn nothing_leaves_finally_fault_or_filter() {
    for flags in [FINALLY, FAULT] {
        let clause = (flags, 1, 4, 5, 3, 0);
        assert_eq!(checked(&CODE, &[clause]), crosses(5, Opcode::LEAVE_S, 6));
    }
    // try { leave.s 8 } filter { pop; leave.s 5; ldc.i4.0; endfilter } { pop; leave.s 0 } ret
    let code = |in_filter: [u8; 2]| {
        let code = [0xDE, 9, 0x26, in_filter[0], in_filter[1], 0x16, 0xFE, 0x11, 0x26, 0xDE, 0, 0x2A];
        checked(&code, &[(FILTER, 0, 2, 8, 3, 2)])
    };
    assert_eq!(code([0x00, 0x00]), Ok(()));
    assert_eq!(code([0xDE, 6]), crosses(2, Opcode::LEAVE_S, 7));
}

#[test]
fn try_regions_are_entered_at_their_first_instruction() {
    // ldnull; brtrue.s in front, to the start, the middle, and the handler
    let to = |distance| {
        let mut code = vec![0x14, 0x2D, distance];
        code.extend(CODE);
        checked(&code, &[(CATCH, 4, 4, 8, 3, 0)])
    };
    assert_eq!(to(1), Ok(()));
    assert_eq!(to(2), crosses(1, Opcode::BRTRUE_S, 4));
    assert_eq!(to(5), crosses(1, Opcode::BRTRUE_S, 6));
}

#[test]
fn leave_may_resume_the_try_region_but_enter_no_handler() {
    // The try region's leave.s to the handler's first and second instruction
    assert_eq!(checked(&with(3, &[0xDE, 0]), &[CAUGHT]), crosses(3, Opcode::LEAVE_S, 4));
    assert_eq!(checked(&with(3, &[0xDE, 1]), &[CAUGHT]), crosses(3, Opcode::LEAVE_S, 5));
    // The catch's leave.s back into its try region (Visual Basic's Resume); not from elsewhere.
    assert_eq!(checked(&with(6, &[0xDE, 0xFA]), &[CAUGHT]), Ok(()));
    let behind = [&with(8, &[0x00, 0xDE])[..], &[0xF7]].concat();
    assert_eq!(checked(&behind, &[CAUGHT]), crosses(7, Opcode::LEAVE_S, 2));
}

#[test]
fn ret_and_jmp_are_outside_all_regions() {
    assert_eq!(checked(&with(2, &[0x2A]), &[CAUGHT]), misplaced(2, Opcode::RET));
    assert_eq!(checked(&with(5, &[0x2A]), &[CAUGHT]), misplaced(4, Opcode::RET));
    // try { jmp } finally { endfinally } ret
    let code = [0x27, 1, 0, 0, 6, 0xDC, 0x2A];
    assert_eq!(checked(&code, &[(FINALLY, 0, 5, 5, 1, 0)]), misplaced(0, Opcode::JMP));
}

#[test]
fn endfinally_is_in_finally_or_fault() {
    assert_eq!(checked(&with(2, &[0xDC]), &[CAUGHT]), misplaced(2, Opcode::ENDFINALLY));
    assert_eq!(checked(&with(5, &[0xDC]), &[CAUGHT]), misplaced(4, Opcode::ENDFINALLY));
    assert_eq!(checked(&with(0, &[0xDC]), &[CAUGHT]), misplaced(0, Opcode::ENDFINALLY));
    // In the try region of a clause inside a finally, it would not end that finally.
    let code = [0xDE, 8, 0xDC, 0x00, 0xDE, 3, 0x26, 0xDE, 0, 0xDC, 0x2A];
    let clauses = [(CATCH, 2, 4, 6, 3, 0), (FINALLY, 0, 2, 2, 8, 0)];
    assert_eq!(checked(&code, &clauses), misplaced(1, Opcode::ENDFINALLY));
}

#[test]
fn endfilter_is_the_last_of_its_filter() {
    // try { leave.s 6 } filter { ldc.i4.0; endfilter } { pop; leave.s 0 } ret, with a pop before
    let filter = |code: [u8; 13]| checked(&code, &[(FILTER, 0, 2, 9, 3, 2)]);
    let good = [0xDE, 10, 0x26, 0x00, 0x00, 0x00, 0x16, 0xFE, 0x11, 0x26, 0xDE, 0, 0x2A];
    assert_eq!(filter(good), Ok(()));
    let mut early = good;
    early[2..9].copy_from_slice(&[0xFE, 0x11, 0x00, 0x00, 0x16, 0xFE, 0x11]);
    assert_eq!(filter(early), misplaced(1, Opcode::ENDFILTER));
    let mut outside = good;
    outside[10..13].copy_from_slice(&[0xFE, 0x11, 0x2A]);
    assert!(matches!(filter(outside), Err(Violation::Misplaced { opcode: Opcode::ENDFILTER, .. })));
}

#[test]
fn rethrow_is_in_a_catch_but_not_in_an_inner_finally() {
    let rethrow = [0xFE, 0x1A];
    let code = [0x00, 0xDE, 2, rethrow[0], rethrow[1], 0x2A];
    assert_eq!(checked(&code, &[(CATCH, 0, 3, 3, 2, 0)]), Ok(()));
    assert_eq!(checked(&code, &[(FINALLY, 0, 3, 3, 2, 0)]), misplaced(2, Opcode::RETHROW));
    assert_eq!(checked(&with(0, &rethrow), &[(CATCH, 2, 3, 5, 3, 0)]), misplaced(0, Opcode::RETHROW));
    // catch { try { leave.s } finally { rethrow } pop.. }
    let nested = [0xDE, 6, 0xDE, 2, rethrow[0], rethrow[1], 0xDE, 0, 0x2A];
    let clauses = [(FINALLY, 2, 2, 4, 2, 0), (CATCH, 0, 2, 2, 6, 0)];
    assert!(matches!(checked(&nested, &clauses), Err(Violation::Misplaced { opcode: Opcode::RETHROW, .. })));
}
