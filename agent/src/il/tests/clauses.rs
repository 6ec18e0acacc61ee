//! Tests of the exception table in both forms.

use super::support::*;
use crate::il::{Body, ClauseKind, Edit, IlError, Insn, Label, Landing, decode, encode};

/// `try { nop*; leave.s end } handler { nop*; endfinally } end: ret`, with these numbers of `nop`s.
fn protected(in_try: usize, in_handler: usize) -> (Vec<u8>, Numbers) {
    let mut code = vec![0x00; in_try];
    code.extend([0xDD]);
    code.extend((in_handler as u32 + 1).to_le_bytes());
    code.extend(std::iter::repeat_n(0x00, in_handler));
    code.extend([0xDC, 0x2A]);
    let try_length = in_try as u32 + 5;
    (code, (FINALLY, 0, try_length, try_length, in_handler as u32 + 1, 0))
}

fn padded(body: &Body, nops: usize) -> Vec<u8> {
    let mut body = body.clone();
    let mut edit = Edit::new();
    edit.insert_before(
        Label(0),
        Landing::Original,
        vec![Insn::Any(crate::il::Opcode::NOP, crate::il::Operand::None); nops],
    );
    edit.apply(&mut body).unwrap();
    encode(&body).unwrap().bytes
}

#[test]
fn both_forms_round_trip() {
    let (code, clause) = protected(10, 10);
    for section in [small(&[clause]), large(&[clause])] {
        let original = fat(&code, &[section]);
        assert_eq!(encode(&decode(&original).unwrap()).unwrap().bytes, original);
    }
}

#[test]
fn padding_reaches_the_next_multiple_of_four() {
    for nops in 0..4 {
        let (code, clause) = protected(nops, 1);
        let original = fat(&code, &[small(&[clause])]);
        assert_eq!(encode(&decode(&original).unwrap()).unwrap().bytes, original);
        let kind = (12 + code.len()).next_multiple_of(4);
        assert_eq!(original[kind], 1);
        assert!(original[12 + code.len()..kind].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn grows_to_fat_form_when_a_try_region_exceeds_255_bytes() {
    let (code, clause) = protected(250, 1);
    let body = decode(&fat(&code, &[small(&[clause])])).unwrap();
    let mut grown = body.clone();
    let mut edit = Edit::new();
    edit.insert_before(Label(1), Landing::Inserted, vec![Insn::LdcI4(1), Insn::Pop]);
    edit.apply(&mut grown).unwrap();
    let bytes = encode(&grown).unwrap().bytes;
    let section = (12 + code.len() + 2).next_multiple_of(4);
    assert_eq!(bytes[section..], large(&[(FINALLY, 0, 257, 257, 2, 0)]));
    assert_eq!(encode(&body).unwrap().bytes[(12 + code.len()).next_multiple_of(4)], 1);
}

#[test]
fn grows_to_fat_form_when_a_handler_exceeds_255_bytes() {
    let (code, clause) = protected(1, 254);
    let mut body = decode(&fat(&code, &[small(&[clause])])).unwrap();
    assert_eq!(clause.4, 255);
    let mut edit = Edit::new();
    edit.insert_before(Label(3), Landing::Inserted, vec![Insn::LdcI4(1), Insn::Pop]);
    edit.apply(&mut body).unwrap();
    let bytes = encode(&body).unwrap().bytes;
    let section = (12 + code.len() + 2).next_multiple_of(4);
    assert_eq!(bytes[section..], large(&[(FINALLY, 0, 6, 6, 257, 0)]));
}

#[test]
fn grows_to_fat_form_when_an_offset_exceeds_65535() {
    let (code, clause) = protected(1, 1);
    let body = decode(&fat(&code, &[small(&[clause])])).unwrap();
    // The handler is at 6, so up to 65529 bytes fit before it.
    let form = |nops: usize| padded(&body, nops)[(12 + code.len() + nops).next_multiple_of(4)];
    assert_eq!(form(65_529), 0x01);
    assert_eq!(form(65_530), 0x41);
}

#[test]
fn grows_to_fat_form_with_the_21st_clause() {
    let (code, clause) = protected(1, 1);
    let mut body = decode(&fat(&code, &[small(&[clause; 20])])).unwrap();
    let section = (12 + code.len()).next_multiple_of(4);
    assert_eq!(encode(&body).unwrap().bytes[section..section + 2], [0x01, 244]);
    body.clauses.push(body.clauses[0].clone());
    assert_eq!(encode(&body).unwrap().bytes[section..], large(&[clause; 21]));
}

#[test]
fn the_fat_form_stays_fat() {
    let (code, clause) = protected(1, 1);
    let body = decode(&fat(&code, &[large(&[clause])])).unwrap();
    let bytes = padded(&body, 3);
    let moved = (FINALLY, 3, 6, 9, 2, 0);
    assert_eq!(bytes[(12 + code.len() + 3).next_multiple_of(4)..], large(&[moved]));
}

#[test]
fn edits_preserve_clauses_and_move_filters() {
    // try { nop; leave.s } x3 handlers: filter {ldc.i4.0; endfilter} {pop; leave.s}, catch {pop; leave.s}, fault
    let code = [
        0x00, 0xDE, 12, // 0: try
        0x26, 0x16, 0xFE, 0x11, // 3: filter
        0x26, 0xDE, 5, // 7: its handler
        0x26, 0xDE, 2,    // 10: catch
        0xDC, // 13: fault
        0x00, 0x2A, // 14
    ];
    let clauses =
        [(FILTER, 0, 3, 7, 3, 3), (CATCH, 0, 3, 10, 3, 0x0100_0007), (FAULT, 0, 13, 13, 1, 0xDEAD_BEEF)];
    let body = decode(&fat(&code, &[small(&clauses)])).unwrap();
    assert_eq!(body.clauses[0].kind, ClauseKind::Filter { start: Label(2) });
    assert_eq!(body.clauses[1].kind, ClauseKind::Catch { class: 0x0100_0007 });
    assert_eq!(body.clauses[2].kind, ClauseKind::Fault { unused: 0xDEAD_BEEF });
    let bytes = padded(&body, 5);
    let moved =
        [(FILTER, 5, 3, 12, 3, 8), (CATCH, 5, 3, 15, 3, 0x0100_0007), (FAULT, 5, 13, 18, 1, 0xDEAD_BEEF)];
    assert_eq!(bytes[(12 + code.len() + 5).next_multiple_of(4)..], small(&moved));
}

#[test]
fn a_region_may_end_where_the_code_ends() {
    // try { leave.s -2 } finally { endfinally }: the handler ends with the code.
    let code = [0xDE, 0xFE, 0xDC];
    let original = fat(&code, &[small(&[(FINALLY, 0, 2, 2, 1, 0)])]);
    let body = decode(&original).unwrap();
    assert_eq!(body.clauses[0].handler, Label(1)..body.end());
    assert_eq!(encode(&body).unwrap().bytes, original);
}

#[test]
fn refuses_regions_that_end_before_they_start() {
    let (code, clause) = protected(1, 1);
    let mut body = decode(&fat(&code, &[small(&[clause])])).unwrap();
    body.clauses[0].handler = Label(3)..Label(2);
    let error = IlError::BadLabel { part: "an exception clause", label: 2 };
    assert_eq!(encode(&body), Err(error));
    body.clauses[0].handler = Label(2)..Label(99);
    assert_eq!(encode(&body), Err(IlError::BadLabel { part: "an exception clause", label: 99 }));
}
