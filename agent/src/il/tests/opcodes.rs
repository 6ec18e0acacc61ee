//! Tests of the instruction table.

use super::support::*;
use crate::il::opcodes::{ALL, Flow, OperandKind};
use crate::il::{Opcode, decode, encode};

#[test]
fn table_has_191_one_byte_and_28_two_byte_instructions() {
    assert_eq!(ALL.len(), 219);
    assert_eq!(ALL.iter().filter(|opcode| opcode.size() == 2).count(), 28);
    let mut names: Vec<_> = ALL.iter().map(|opcode| opcode.info().name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 219);
}

#[test]
fn long_and_short_forms_belong_together() {
    let mut pairs = 0;
    for opcode in ALL {
        assert_eq!(
            opcode.long_form().is_some(),
            opcode.info().operand == OperandKind::ShortTarget,
            "{opcode}"
        );
        assert_eq!(
            opcode.short_form().is_some(),
            opcode.info().operand == OperandKind::LongTarget,
            "{opcode}"
        );
        let Some(long) = opcode.long_form() else { continue };
        pairs += 1;
        assert_eq!(long.short_form(), Some(*opcode));
        assert_eq!(format!("{long}.s"), opcode.to_string());
        let (short, long) = (opcode.info(), long.info());
        assert_eq!((short.pops, short.pushes, short.flow), (long.pops, long.pushes, long.flow));
    }
    assert_eq!(pairs, 14);
}

#[test]
fn effects_left_to_signatures_are_marked() {
    for opcode in ALL {
        let info = opcode.info();
        let by_signature = matches!(info.flow, Flow::Call | Flow::Return);
        let known = ["call", "calli", "callvirt", "newobj", "ret"].contains(&info.name);
        assert_eq!(by_signature, known, "{opcode}");
        assert_eq!(info.flow == Flow::Prefix, info.name.ends_with('.'), "{opcode}");
    }
}

/// Returns the bytes of an instruction with an operand that shows its byte order.
fn bytes(opcode: Opcode) -> Vec<u8> {
    let mut bytes = match opcode.size() {
        1 => vec![opcode.value() as u8],
        _ => vec![0xFE, opcode.value() as u8],
    };
    bytes.extend_from_slice(match opcode.info().operand {
        OperandKind::None => &[][..],
        OperandKind::U8 => &[0xA1],
        OperandKind::I8 => &[0xA1],
        OperandKind::U16 => &[1, 0xA2],
        OperandKind::I32 | OperandKind::R4 | OperandKind::Token => &[1, 2, 3, 0xA4],
        OperandKind::I64 | OperandKind::R8 => &[1, 2, 3, 4, 5, 6, 7, 0xA8],
        OperandKind::ShortTarget => &[0],
        OperandKind::LongTarget => &[0, 0, 0, 0],
        OperandKind::Switch => &[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    });
    bytes
}

#[test]
fn every_instruction_round_trips() {
    let mut code: Vec<u8> = ALL.iter().copied().flat_map(bytes).collect();
    code.push(0x2A);
    let original = fat(&code, &[]);
    let body = decode(&original).unwrap();
    let opcodes: Vec<_> = body.instructions.iter().map(|instruction| instruction.opcode).collect();
    assert_eq!(opcodes[..219], *ALL);
    let encoded = encode(&body).unwrap();
    assert_eq!(encoded.bytes, original);
    let starts: Vec<_> =
        body.instructions.iter().map(|instruction| instruction.old_offset.unwrap()).collect();
    assert_eq!(encoded.offsets[..220], starts);
    assert_eq!(encoded.offsets[220] as usize, code.len());
}

#[test]
fn long_branches_that_could_be_short_stay_long() {
    let code =
        [0x38, 0, 0, 0, 0, 0x16, 0x39, 0xFA, 0xFF, 0xFF, 0xFF, 0x2B, 0xF3, 0xDD, 0, 0, 0, 0, 0xDE, 0, 0x2A];
    let body = decode(&tiny(&code)).unwrap();
    assert_eq!(encode(&body).unwrap().bytes, tiny(&code));
}
