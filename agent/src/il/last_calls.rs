//! Calls in tail position.

use super::{Body, Opcode, Operand};

/// Returns the tokens of calls in tail position: `call` or `callvirt` followed only by the return. In optimised
/// code the JIT may turn each into a jump, so that the stack does not grow; it looks past `nop`.
pub fn last_calls(body: &Body) -> impl Iterator<Item = u32> {
    let returns_after = |index: usize| {
        let mut following = body.instructions.iter().skip(index + 1).map(|instruction| instruction.opcode);
        following.find(|opcode| *opcode != Opcode::NOP) == Some(Opcode::RET)
    };
    body.instructions.iter().enumerate().filter_map(move |(index, instruction)| {
        match (instruction.opcode, &instruction.operand) {
            (Opcode::CALL | Opcode::CALLVIRT, Operand::Token(token)) => {
                returns_after(index).then_some(*token)
            }
            _ => None,
        }
    })
}
