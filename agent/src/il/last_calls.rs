//! What a method calls last.

use super::{Body, Opcode, Operand};

/// Tokens of what a body calls last: behind a `call` or `callvirt` nothing comes but the return. Optimised, the JIT may make a
/// jump of each, so that the stack does not grow; it sees past `nop`.
pub fn last_calls(body: &Body) -> impl Iterator<Item = u32> {
    let returns_behind = |index: usize| {
        let mut behind = body.instructions.iter().skip(index + 1).map(|one| one.opcode);
        behind.find(|opcode| *opcode != Opcode::NOP) == Some(Opcode::RET)
    };
    body.instructions.iter().enumerate().filter_map(move |(index, one)| match (one.opcode, &one.operand) {
        (Opcode::CALL | Opcode::CALLVIRT, Operand::Token(token)) => returns_behind(index).then_some(*token),
        _ => None,
    })
}
