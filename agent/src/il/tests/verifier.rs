//! Each rule about form, stack and instructions with a body that breaks only that rule; regions have their own
//! file.

use super::support::*;
use crate::il::maxstack::StackFault;
use crate::il::verify::{Violation, verify, verify_structure};
use crate::il::{Label, Opcode};
use redial_protocol::diagnostics::{ClauseBound, IlViolation};

fn broken(bytes: &[u8]) -> Violation {
    verify(bytes, &VOID).unwrap_err()
}

fn sound(bytes: &[u8]) {
    verify(bytes, &VOID).unwrap();
}

/// `try { nop; leave.s 1 } finally { endfinally } ret`: three bytes of padding follow.
const PROTECTED: [u8; 5] = [0x00, 0xDE, 1, 0xDC, 0x2A];
const CLAUSE: Numbers = (FINALLY, 0, 3, 3, 1, 0);

#[test]
fn sound_bodies_pass() {
    sound(&tiny(&[0x2A]));
    sound(&fat(&[0x2A], &[]));
    sound(&fat(&PROTECTED, &[small(&[CLAUSE])]));
    sound(&fat(&PROTECTED, &[large(&[CLAUSE])]));
    verify(&tiny(&[0x16, 0x2A]), &VALUE).unwrap();
}

#[test]
fn unreadable_bodies_are_broken() {
    let error = IlViolation::BadOpcode { value: 0x24, offset: 0 };
    assert_eq!(broken(&tiny(&[0x24, 0x2A])), Violation::Unreadable(error));
    let error = IlViolation::BadTarget { offset: 0, target: 3 };
    assert_eq!(broken(&tiny(&[0x2B, 1, 0x1F, 0, 0x2A])), Violation::Unreadable(error));
    let bound = IlViolation::BadClauseBound { clause: 0, bound: ClauseBound::TryEnd, offset: 2 };
    let clause = (FINALLY, 0, 2, 3, 1, 0);
    assert_eq!(broken(&fat(&PROTECTED, &[small(&[clause])])), Violation::Unreadable(bound));
}

#[test]
fn padding_is_zero() {
    for at in 17..20 {
        let mut body = fat(&PROTECTED, &[small(&[CLAUSE])]);
        body[at] = 1;
        assert_eq!(broken(&body), Violation::Padding);
        body[at] = 0;
        sound(&body);
    }
}

#[test]
fn sections_begin_at_a_multiple_of_four() {
    let mut body = fat(&PROTECTED, &[small(&[CLAUSE])]);
    body.drain(17..20);
    assert!(matches!(broken(&body), Violation::Unreadable(IlViolation::UnknownSection { .. })));
    let mut body = fat(&PROTECTED, &[small(&[CLAUSE])]);
    body.splice(20..20, [1, 16, 0, 0]);
    assert!(verify(&body, &VOID).is_err());
}

#[test]
fn nothing_follows_and_sizes_are_exact() {
    for body in [tiny(&[0x2A]), fat(&[0x2A], &[]), fat(&PROTECTED, &[small(&[CLAUSE])])] {
        let longer = [&body[..], &[0]].concat();
        assert_eq!(broken(&longer), Violation::Length { needed: body.len(), actual: body.len() + 1 });
    }
    let mut section = small(&[CLAUSE]);
    section[1] = 12;
    let error = Violation::Length { needed: 16, actual: 12 };
    assert_eq!(broken(&fat(&PROTECTED, &[section])), error);
}

#[test]
fn checks_the_stack_at_every_instruction() {
    let underflow = StackFault::Underflow { at: Label(0), opcode: Opcode::POP, pops: 1, depth: 0 };
    assert_eq!(broken(&tiny(&[0x26, 0x2A])), Violation::Stack(underflow));
    assert_eq!(underflow.to_string(), "instruction 0 (pop) takes 1 from a stack of 0");
    let mismatch = StackFault::Mismatch { at: Label(3), first: 0, second: 1 };
    assert_eq!(broken(&tiny(&[0x16, 0x2D, 1, 0x16, 0x2A])), Violation::Stack(mismatch));
    // The structure alone does not show it.
    verify_structure(&tiny(&[0x26, 0x2A])).unwrap();
}

#[test]
fn header_must_allow_the_depth_of_the_code() {
    let code = [0x16, 0x16, 0x26, 0x26, 0x2A];
    sound(&fat_with_stack(2, &code, &[]));
    assert_eq!(broken(&fat_with_stack(1, &code, &[])), Violation::MaxStack { stated: 1, needed: 2 });
}

#[test]
fn an_exception_needs_room_on_the_stack() {
    // try { nop; leave.s 3 } catch { pop; leave.s 0 } ret
    let code = [0x00, 0xDE, 3, 0x26, 0xDE, 0, 0x2A];
    let section = small(&[(CATCH, 0, 3, 3, 3, 0)]);
    sound(&fat_with_stack(1, &code, std::slice::from_ref(&section)));
    let error = Violation::MaxStack { stated: 0, needed: 1 };
    assert_eq!(broken(&fat_with_stack(0, &code, &[section])), error);
}

#[test]
fn control_must_not_continue_after_the_end() {
    assert_eq!(broken(&tiny(&[0x2A, 0x00])), Violation::FallsOffEnd);
    // Also if a conditional branch or a call is last.
    assert_eq!(broken(&tiny(&[0x16, 0x2D, 0xFD])), Violation::FallsOffEnd);
    assert_eq!(broken(&tiny(&[0x28, 0, 0, 0, 6])), Violation::FallsOffEnd);
    sound(&tiny(&[0x00, 0x2B, 0xFD]));
    sound(&tiny(&[0x14, 0x7A]));
}

#[test]
fn prefixes_precede_instructions_that_accept_them() {
    let prefix = |code: &[u8], opcode| {
        assert_eq!(broken(&tiny(code)), Violation::Prefix { at: Label(1), opcode }, "{code:02x?}");
    };
    // ldnull; volatile. then pop instead of ldind.ref
    prefix(&[0x14, 0xFE, 0x13, 0x26, 0x2A], Opcode::VOLATILE);
    sound(&tiny(&[0x14, 0xFE, 0x13, 0x50, 0x26, 0x2A]));
    prefix(&[0x14, 0xFE, 0x12, 1, 0x26, 0x2A], Opcode::UNALIGNED);
    sound(&tiny(&[0x14, 0xFE, 0x12, 1, 0x50, 0x26, 0x2A]));
    prefix(&[0x14, 0xFE, 0x16, 1, 0, 0, 2, 0x26, 0x2A], Opcode::CONSTRAINED);
    sound(&tiny(&[0x14, 0xFE, 0x16, 1, 0, 0, 2, 0x6F, 0x10, 0, 0, 6, 0x2A]));
    prefix(&[0x14, 0xFE, 0x1E, 0x26, 0x2A], Opcode::READONLY);
    sound(&tiny(&[0x14, 0x16, 0xFE, 0x1E, 0x8F, 1, 0, 0, 2, 0x26, 0x2A]));
    prefix(&[0x14, 0xFE, 0x14, 0x26, 0x2A], Opcode::TAIL);
    // Of two prefixes, the first is wrong.
    prefix(&[0x14, 0xFE, 0x14, 0xFE, 0x13, 0x50, 0x26, 0x2A], Opcode::TAIL);
    sound(&tiny(&[0x14, 0xFE, 0x12, 1, 0xFE, 0x13, 0x50, 0x26, 0x2A]));
}

#[test]
fn a_tail_call_is_followed_by_ret() {
    let call = [0xFE, 0x14, 0x28, 0, 0, 0, 6];
    sound(&tiny(&[&call[..], &[0x2A]].concat()));
    let error = Violation::Prefix { at: Label(0), opcode: Opcode::TAIL };
    assert_eq!(broken(&tiny(&[&call[..], &[0x00, 0x2A]].concat())), error);
}

#[test]
fn no_branch_comes_between_a_prefix_and_its_instruction() {
    // ldnull; br.s to volatile. or to the ldind.ref after it; volatile.; ldind.ref; pop; ret
    let code = |distance| tiny(&[0x14, 0x2B, distance, 0xFE, 0x13, 0x50, 0x26, 0x2A]);
    sound(&code(0));
    assert_eq!(broken(&code(2)), Violation::SplitPrefix { at: Label(3) });
}

#[test]
fn no_region_begins_between_a_prefix_and_its_instruction() {
    // ldnull; pop; volatile.; [try] ldsfld; pop; leave.s 1; [finally] endfinally; ret
    let code = [0x14, 0x26, 0xFE, 0x13, 0x7E, 1, 0, 0, 4, 0x26, 0xDE, 1, 0xDC, 0x2A];
    sound(&fat(&code, &[small(&[(FINALLY, 2, 10, 12, 1, 0)])]));
    let error = Violation::SplitPrefix { at: Label(3) };
    assert_eq!(broken(&fat(&code, &[small(&[(FINALLY, 4, 8, 12, 1, 0)])])), error);
}

#[test]
fn every_fault_is_a_sentence() {
    let sentence = "the header allows 1 values on the stack, the code puts 2 there";
    assert_eq!(Violation::MaxStack { stated: 1, needed: 2 }.to_string(), sentence);
    let crosses = Violation::Crosses { from: Label(1), opcode: Opcode::BR_S, to: Label(4) };
    let sentence = "control goes from instruction 1 (br.s) to 4 across the bound of a protected region";
    assert_eq!(crosses.to_string(), sentence);
}
