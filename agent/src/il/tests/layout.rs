//! Tests of branch forms and offsets.

use super::support::*;
use crate::il::opcodes::OperandKind;
use crate::il::{Body, IlError, Instruction, Label, Opcode, Operand, decode, encode};
use redial_protocol::diagnostics::IlViolation;

fn nop() -> Instruction {
    Instruction::new(Opcode::NOP, Operand::None)
}

fn branch(opcode: Opcode, target: usize) -> Instruction {
    Instruction::new(opcode, Operand::Target(Label(target as u32)))
}

fn body(instructions: Vec<Instruction>) -> Body {
    Body {
        max_stack: 8,
        init_locals: false,
        local_sig: 0,
        instructions,
        clauses: Vec::new(),
        fat_clauses: false,
        old_code_size: 0,
    }
}

fn ret() -> Instruction {
    Instruction::new(Opcode::RET, Operand::None)
}

/// `br.s` over this many `nop`s to a `ret`.
fn forward(nops: usize) -> Body {
    let mut list = vec![branch(Opcode::BR_S, nops + 1)];
    list.extend(std::iter::repeat_n(nop(), nops));
    list.push(ret());
    body(list)
}

/// `br.s` back over this many `nop`s.
fn backward(nops: usize) -> Body {
    let mut list = vec![nop(); nops];
    list.push(branch(Opcode::BR_S, 0));
    body(list)
}

fn code(body: &Body) -> Vec<u8> {
    let encoded = encode(body).unwrap();
    let end = encoded.header_size + *encoded.offsets.last().unwrap() as usize;
    encoded.bytes[encoded.header_size..end].to_vec()
}

#[test]
fn short_branches_grow_when_the_distance_does_not_fit() {
    assert_eq!(code(&forward(127))[..2], [0x2B, 127]);
    assert_eq!(code(&forward(128))[..5], [0x38, 128, 0, 0, 0]);
    assert_eq!(code(&backward(126))[126..], [0x2B, 0x80]);
    assert_eq!(code(&backward(127))[127..], [0x38, 0x7C, 0xFF, 0xFF, 0xFF]);
}

#[test]
fn every_short_branch_has_a_long_form() {
    for opcode in crate::il::opcodes::ALL {
        if opcode.info().operand != OperandKind::ShortTarget {
            continue;
        }
        let mut far = forward(128);
        far.instructions[0].opcode = *opcode;
        let written = decode(&encode(&far).unwrap().bytes).unwrap();
        assert_eq!(Some(written.instructions[0].opcode), opcode.long_form());
        assert_eq!(written.instructions[0].operand, far.instructions[0].operand);
    }
}

#[test]
fn one_growth_pushes_others_over_their_limit() {
    // Three branches in a row: over two branches and 123 nops, over one and 125, and over `last` nops.
    let forms = |last: usize| {
        let targets = [126, 128, 3 + last];
        let mut list: Vec<_> = targets.iter().map(|target| branch(Opcode::BR_S, *target)).collect();
        list.extend(std::iter::repeat_n(nop(), 130));
        list.push(ret());
        let written = decode(&encode(&body(list)).unwrap().bytes).unwrap();
        written.instructions.iter().take(3).map(|instruction| instruction.opcode).collect::<Vec<_>>()
    };
    assert_eq!(forms(127), [Opcode::BR_S; 3]);
    assert_eq!(forms(128), [Opcode::BR; 3]);
}

/// A chain in which the growth of each branch pushes only the one before it over its limit.
fn chain(links: usize) -> Body {
    // Each link is a br.s to just after the next link's branch, at a distance of exactly 127.
    let mut list = Vec::new();
    for link in 0..links {
        list.push(branch(Opcode::BR_S, (link + 1) * 126 + 1));
        list.extend(std::iter::repeat_n(nop(), 125));
    }
    // The last target is one byte too far for the last branch.
    list.push(nop());
    list.push(nop());
    list.push(nop());
    list.push(ret());
    let last = (links - 1) * 126;
    list[last] = branch(Opcode::BR_S, last + 1 + 128);
    body(list)
}

#[test]
fn long_chains_grow_in_linear_time() {
    // A full pass for each growth would take hours.
    let chain = chain(40_000);
    let written = decode(&encode(&chain).unwrap().bytes).unwrap();
    let is_branch = |instruction: &&Instruction| matches!(instruction.operand, Operand::Target(_));
    assert_eq!(written.instructions.iter().filter(is_branch).count(), 40_000);
    assert!(written.instructions.iter().filter(is_branch).all(|branch| branch.opcode == Opcode::BR));
    for (written, chain) in written.instructions.iter().zip(&chain.instructions) {
        assert_eq!(written.operand, chain.operand);
    }
}

#[test]
fn chains_do_not_grow_if_their_end_fits() {
    let mut chain = chain(100);
    let last = 99 * 126;
    chain.instructions[last] = branch(Opcode::BR_S, last + 1 + 127);
    let written = decode(&encode(&chain).unwrap().bytes).unwrap();
    assert!(written.instructions.iter().all(|instruction| instruction.opcode != Opcode::BR));
}

#[test]
fn a_switch_reaches_both_ways() {
    // nop; ldc.i4.0; switch (nop, ret, ldc.i4.0); ret
    let code = [
        &[0x00, 0x16, 0x45, 3, 0, 0, 0][..],
        &(-19_i32).to_le_bytes(),
        &0_i32.to_le_bytes(),
        &(-18_i32).to_le_bytes(),
        &[0x2A],
    ]
    .concat();
    let original = tiny(&code);
    let decoded = decode(&original).unwrap();
    let targets = Operand::Switch(Box::new([Label(0), Label(3), Label(1)]));
    assert_eq!(decoded.instructions[2].operand, targets);
    assert_eq!(encode(&decoded).unwrap().bytes, original);
}

#[test]
fn refuses_badly_built_bodies() {
    assert_eq!(encode(&body(Vec::new())), Err(IlViolation::NoCode.into()));
    let error = IlError::BadLabel { part: "a branch", label: 1 };
    assert_eq!(encode(&body(vec![branch(Opcode::BR, 1)])), Err(error));
    let switch = Instruction::new(Opcode::SWITCH, Operand::Switch(Box::new([Label(0), Label(7)])));
    assert_eq!(encode(&body(vec![switch])), Err(IlError::BadLabel { part: "a branch", label: 7 }));
    let call = Instruction::new(Opcode::CALL, Operand::I32(1));
    let error = IlError::BadOperand { index: 1, opcode: Opcode::CALL };
    assert_eq!(encode(&body(vec![nop(), call])), Err(error));
    assert_eq!(error.to_string(), "instruction 1 (call) has an operand of the wrong kind");
}
