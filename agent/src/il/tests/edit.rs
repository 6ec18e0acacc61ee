//! Tests of insertions.

use super::support::*;
use crate::il::{Body, Edit, IlError, Insn, Label, Landing, Opcode, Operand, decode, encode};

/// `nop; br.s 0; ret`
fn looping() -> Body {
    decode(&tiny(&[0x00, 0x2B, 0xFD, 0x2A])).unwrap()
}

fn one(value: i32) -> Vec<Insn> {
    vec![Insn::LdcI4(value), Insn::Pop]
}

fn code(body: &Body) -> Vec<u8> {
    encode(body).unwrap().bytes[1..].to_vec()
}

#[test]
fn branches_land_where_the_insertion_says() {
    for (landing, distance) in [(Landing::Inserted, 0xFB), (Landing::Original, 0xFD)] {
        let mut body = looping();
        let mut edit = Edit::new();
        edit.insert_before(Label(0), landing, one(0));
        edit.apply(&mut body).unwrap();
        assert_eq!(code(&body), [0x16, 0x26, 0x00, 0x2B, distance, 0x2A], "{landing:?}");
    }
}

#[test]
fn insertions_at_one_place_keep_their_order() {
    let mut body = looping();
    let mut edit = Edit::new();
    edit.insert_before(Label(0), Landing::Original, one(0));
    edit.insert_before(Label(2), Landing::Original, one(2));
    edit.insert_before(Label(0), Landing::Inserted, one(1));
    edit.apply(&mut body).unwrap();
    // The branch goes to the second insertion; only fall-through runs the first.
    assert_eq!(code(&body), [0x16, 0x26, 0x17, 0x26, 0x00, 0x2B, 0xFB, 0x18, 0x26, 0x2A]);
}

#[test]
fn inserted_labels_refer_to_the_unedited_body() {
    let mut body = looping();
    let mut edit = Edit::new();
    let jump = Insn::Any(Opcode::BR_S, Operand::Target(Label(2)));
    edit.insert_before(Label(0), Landing::Original, vec![Insn::LdcI4(1), Insn::Brtrue(1), jump]);
    edit.apply(&mut body).unwrap();
    // brtrue.s skips the jump; the jump goes to ret.
    assert_eq!(code(&body), [0x17, 0x2D, 2, 0x2B, 3, 0x00, 0x2B, 0xFD, 0x2A]);
}

#[test]
fn inserts_at_the_end_of_the_code() {
    let mut body = looping();
    let mut edit = Edit::new();
    edit.insert_before(body.end(), Landing::Inserted, vec![Insn::Any(Opcode::RET, Operand::None)]);
    edit.apply(&mut body).unwrap();
    assert_eq!(code(&body), [0x00, 0x2B, 0xFD, 0x2A, 0x2A]);
}

#[test]
fn regions_include_insertions_only_if_landed_on() {
    // try { nop; leave.s 1 } finally { endfinally } ret
    let original = fat(&[0x00, 0xDE, 1, 0xDC, 0x2A], &[small(&[(FINALLY, 0, 3, 3, 1, 0)])]);
    let regions = |at: u32, landing| {
        let mut body = decode(&original).unwrap();
        let mut edit = Edit::new();
        edit.insert_before(Label(at), landing, one(0));
        edit.apply(&mut body).unwrap();
        let clause = body.clauses[0].clone();
        (clause.try_region.start.0, clause.try_region.end.0, clause.handler.start.0, clause.handler.end.0)
    };
    assert_eq!(regions(0, Landing::Inserted), (0, 4, 4, 5));
    assert_eq!(regions(0, Landing::Original), (2, 4, 4, 5));
    assert_eq!(regions(1, Landing::Inserted), (0, 4, 4, 5));
    assert_eq!(regions(1, Landing::Original), (0, 4, 4, 5));
    assert_eq!(regions(2, Landing::Inserted), (0, 2, 2, 5));
    assert_eq!(regions(3, Landing::Inserted), (0, 2, 2, 3));
}

#[test]
fn failed_edits_change_nothing() {
    let mut body = looping();
    let mut edit = Edit::new();
    edit.insert_before(Label(0), Landing::Original, one(0));
    edit.insert_before(Label(4), Landing::Original, one(0));
    assert_eq!(edit.apply(&mut body), Err(IlError::BadLabel { part: "an insertion", label: 4 }));
    let mut edit = Edit::new();
    edit.insert_before(Label(1), Landing::Original, vec![Insn::Br(0), Insn::Br(1)]);
    assert_eq!(edit.apply(&mut body), Err(IlError::BadLabel { part: "an inserted branch", label: 1 }));
    assert_eq!(body, looping());
}

#[test]
fn numbers_take_their_shortest_form() {
    let written = |value: i32| {
        let mut body = decode(&tiny(&[0x2A])).unwrap();
        let mut edit = Edit::new();
        edit.insert_before(Label(0), Landing::Original, vec![Insn::LdcI4(value)]);
        edit.apply(&mut body).unwrap();
        let mut code = code(&body);
        code.pop();
        code
    };
    assert_eq!(written(-1), [0x15]);
    for value in 0..=8 {
        assert_eq!(written(value), [0x16 + value as u8]);
    }
    assert_eq!(written(9), [0x1F, 9]);
    assert_eq!(written(-128), [0x1F, 0x80]);
    assert_eq!(written(127), [0x1F, 0x7F]);
    assert_eq!(written(128), [0x20, 0x80, 0, 0, 0]);
    assert_eq!(written(-129), [0x20, 0x7F, 0xFF, 0xFF, 0xFF]);
}
