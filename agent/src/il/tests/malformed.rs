//! Malformed bodies and their errors.

use super::support::*;
use crate::il::decode;
use redial_protocol::diagnostics::{BodyPart, ClauseBound, IlViolation};

fn refused(bytes: &[u8]) -> IlViolation {
    decode(bytes).unwrap_err()
}

const NOP_RET: [u8; 2] = [0x00, 0x2A];

#[test]
fn refuses_bad_headers() {
    assert_eq!(refused(&[]), IlViolation::Truncated { part: BodyPart::Header });
    for first in [0x00, 0x01, 0x04, 0x05, 0x07, 0x0F] {
        assert_eq!(refused(&[first; 20]), IlViolation::BadHeader { first });
    }
    for length in 1..12 {
        let fat = fat(&NOP_RET, &[]);
        assert_eq!(refused(&fat[..length]), IlViolation::Truncated { part: BodyPart::Header });
    }
    let mut short = fat(&NOP_RET, &[]);
    short[1] = 0x20;
    assert_eq!(refused(&short), IlViolation::BadHeaderSize { words: 2 });
}

#[test]
fn skips_longer_headers_than_the_standards() {
    let mut long = fat(&NOP_RET, &[]);
    long[1] = 0x40;
    long.splice(12..12, [9, 9, 9, 9]);
    assert_eq!(decode(&long).unwrap().instructions.len(), 2);
}

#[test]
fn refuses_missing_code() {
    assert_eq!(refused(&[0x02]), IlViolation::NoCode);
    assert_eq!(refused(&fat(&[], &[])), IlViolation::NoCode);
    assert_eq!(refused(&[0x0A, 0x00]), IlViolation::Truncated { part: BodyPart::Code });
    let mut huge = fat(&NOP_RET, &[]);
    huge[4..8].copy_from_slice(&u32::MAX.to_le_bytes());
    assert_eq!(refused(&huge), IlViolation::Truncated { part: BodyPart::Code });
}

#[test]
fn refuses_unknown_instructions() {
    for value in [0x24, 0x77, 0x78, 0xA6, 0xB2, 0xBB, 0xC1, 0xC4, 0xC5, 0xC7, 0xCF, 0xE1, 0xF8, 0xFD, 0xFF] {
        assert_eq!(refused(&tiny(&[0x00, value])), IlViolation::BadOpcode { value: value.into(), offset: 1 });
    }
    for second in [0x08, 0x10, 0x1B, 0x1F, 0x20, 0xFE, 0xFF] {
        let value = 0xFE00 | u16::from(second);
        assert_eq!(refused(&tiny(&[0xFE, second, 0x2A])), IlViolation::BadOpcode { value, offset: 0 });
    }
    assert_eq!(refused(&tiny(&[0x00, 0xFE])), IlViolation::Truncated { part: BodyPart::Instruction });
}

#[test]
fn refuses_truncated_operands() {
    let truncated = IlViolation::Truncated { part: BodyPart::Operand };
    for code in [
        &[0x0E][..],                  // ldarg.s
        &[0x1F],                      // ldc.i4.s
        &[0x20, 0, 0, 0],             // ldc.i4
        &[0x21, 0, 0, 0, 0, 0, 0, 0], // ldc.i8
        &[0x22, 0, 0, 0],             // ldc.r4
        &[0x23, 0, 0, 0, 0, 0, 0, 0], // ldc.r8
        &[0x28, 0, 0, 0],             // call
        &[0x2B],                      // br.s
        &[0x38, 0, 0, 0],             // br
        &[0x45, 1, 0, 0],             // switch
        &[0x45, 1, 0, 0, 0, 0, 0, 0], // switch with half a target
        &[0xFE, 0x09, 0],             // ldarg
        &[0xFE, 0x12],                // unaligned.
    ] {
        assert_eq!(refused(&tiny(code)), truncated, "{code:02x?}");
    }
}

#[test]
fn switch_with_more_targets_than_bytes_allocates_nothing() {
    let code = [0x45, 0xFF, 0xFF, 0xFF, 0xFF, 0x2A];
    assert_eq!(refused(&tiny(&code)), IlViolation::Truncated { part: BodyPart::Operand });
}

#[test]
fn refuses_branches_into_instructions() {
    let to = |distance: i8| refused(&tiny(&[0x2B, distance as u8, 0x20, 0, 0, 0, 0, 0x2A]));
    assert_eq!(to(1), IlViolation::BadTarget { offset: 0, target: 3 });
    assert_eq!(to(6), IlViolation::BadTarget { offset: 0, target: 8 });
    assert_eq!(to(7), IlViolation::BadTarget { offset: 0, target: 9 });
    assert_eq!(to(-3), IlViolation::BadTarget { offset: 0, target: -1 });
    let far = [0x00, 0x38, 0xFF, 0xFF, 0xFF, 0x7F];
    assert_eq!(refused(&tiny(&far)), IlViolation::BadTarget { offset: 1, target: 0x8000_0005 });
    let switch = [0x16, 0x45, 2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x2A];
    assert_eq!(refused(&tiny(&switch)), IlViolation::BadTarget { offset: 1, target: 15 });
}

/// `nop; ldc.i4 0; pop; ret`: no instruction starts at 2 to 5.
const GAPS: [u8; 8] = [0x00, 0x20, 0, 0, 0, 0, 0x26, 0x2A];

#[test]
fn clause_bounds_inside_instructions_and_past_the_end() {
    let bound = |clause: Numbers, bound, offset| {
        for section in [small(&[clause]), large(&[clause])] {
            assert_eq!(
                refused(&fat(&GAPS, &[section])),
                IlViolation::BadClauseBound { clause: 0, bound, offset }
            );
        }
    };
    bound((CATCH, 2, 4, 6, 1, 0), ClauseBound::TryStart, 2);
    bound((CATCH, 0, 2, 6, 1, 0), ClauseBound::TryEnd, 2);
    bound((CATCH, 0, 6, 5, 1, 0), ClauseBound::HandlerStart, 5);
    bound((CATCH, 0, 6, 6, 3, 0), ClauseBound::HandlerEnd, 9);
    bound((FILTER, 0, 1, 6, 1, 3), ClauseBound::Filter, 3);
    let past = large(&[(FINALLY, u32::MAX, u32::MAX, 0, 1, 0)]);
    let error = refused(&fat(&GAPS, &[past]));
    assert_eq!(
        error,
        IlViolation::BadClauseBound { clause: 0, bound: ClauseBound::TryStart, offset: u32::MAX.into() }
    );
}

#[test]
fn refuses_clauses_of_unknown_kind() {
    for flags in [3, 5, 6, 7, 8, 0x100] {
        let section = large(&[(CATCH, 0, 1, 6, 1, 0), (flags, 0, 1, 6, 1, 0)]);
        assert_eq!(refused(&fat(&GAPS, &[section])), IlViolation::BadClauseKind { clause: 1, flags });
    }
}

#[test]
fn refuses_unknown_sections() {
    let clause = (FINALLY, 0, 1, 6, 1, 0);
    assert_eq!(refused(&fat(&GAPS, &[vec![]])), IlViolation::Truncated { part: BodyPart::Section });
    assert_eq!(refused(&fat(&GAPS, &[vec![0x02, 4, 0, 0]])), IlViolation::UnknownSection { kind: 0x02 });
    let mut more = small(&[clause]);
    more[0] |= 0x80;
    assert_eq!(refused(&fat(&GAPS, &[more.clone(), small(&[clause])])), IlViolation::SeveralTables);
    assert_eq!(
        refused(&fat(&GAPS, &[more.clone(), vec![0x02, 4, 0, 0]])),
        IlViolation::UnknownSection { kind: 0x02 }
    );
    let truncated = IlViolation::Truncated { part: BodyPart::Section };
    assert_eq!(refused(&fat(&GAPS, &[more])), truncated);
    for section in [small(&[clause]), large(&[clause])] {
        for length in 1..section.len() {
            assert_eq!(refused(&fat(&GAPS, &[section[..length].to_vec()])), truncated);
        }
    }
    let mut claims = large(&[clause]);
    claims[1..4].copy_from_slice(&[0xFF; 3]);
    assert_eq!(refused(&fat(&GAPS, &[claims])), truncated);
}

#[test]
fn ignores_bytes_after_the_body() {
    let clause = (FINALLY, 0, 1, 6, 1, 0);
    for body in
        [tiny(&NOP_RET), fat(&GAPS, &[]), fat(&GAPS, &[small(&[clause])]), fat(&GAPS, &[large(&[clause])])]
    {
        let with_junk = [&body[..], &[0xAB; 37]].concat();
        assert_eq!(decode(&with_junk).unwrap(), decode(&body).unwrap());
    }
}

#[test]
fn accepts_section_sizes_without_their_header() {
    let clause = (FINALLY, 0, 1, 6, 1, 0);
    for mut section in [small(&[clause]), large(&[clause])] {
        let body = decode(&fat(&GAPS, &[section.clone()])).unwrap();
        section[1] -= 4;
        assert_eq!(decode(&fat(&GAPS, &[section])).unwrap(), body);
    }
}
