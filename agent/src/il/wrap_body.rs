//! Wraps a whole method in code: before it, when an exception leaves it, and when it returns.
//!
//! The body becomes the try region of a fault clause. Each `ret` becomes a `leave` to the single exit after the
//! handler; the result passes through a local variable. A fault handler takes no part in the search for a
//! handler and runs while the exception passes, so the program cannot observe it. Without an exception no
//! handler runs at all.

use super::insn::append;
use super::{
    Body, Clause, ClauseKind, Edit, IlError, Insn, Instruction, Label, Landing, Opcode, Operand, Rewritten,
    decode, encode,
};

/// Code to wrap around a method. Each part must leave the stack empty, as it finds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyWrapper {
    /// Runs once before the method's own first instruction, outside the try region.
    pub before: Vec<Insn>,
    /// Runs after `before`, inside the try region.
    pub first: Vec<Insn>,
    /// Runs when an exception leaves the method; `endfinally` follows.
    pub fault: Vec<Insn>,
    /// Runs when the method returns; the result and `ret` follow.
    pub after: Vec<Insn>,
    /// Runs within the method, before the instruction at each place, but only on fall-through.
    pub within: Vec<(Label, Vec<Insn>)>,
    /// Maximum stack depth of any of them.
    pub stack: u16,
    /// Local variable that holds the result meanwhile; None for a method without one.
    pub result: Option<u16>,
    /// StandAloneSig token that replaces the body's; its locals must begin with the body's own.
    pub local_sig: u32,
}

/// Returns whether a method gives its stack frame away (`jmp`, or a call with the prefix `tail.`). Such a
/// method has no place of return, and no try region may contain the instruction.
pub fn gives_frame_away(body: &Body) -> bool {
    body.instructions.iter().any(|one| matches!(one.opcode, Opcode::TAIL | Opcode::JMP))
}

/// Wraps a method in code.
///
/// # Errors
/// A body that [`decode`] refuses, that [`gives_frame_away`], or that would become too large.
pub fn wrap_body(original: &[u8], around: BodyWrapper) -> Result<Rewritten, IlError> {
    let mut body = decode(original)?;
    if gives_frame_away(&body) {
        return Err(IlError::NoWayOut);
    }
    let mut around = around;
    if !around.within.is_empty() {
        let mut edit = Edit::new();
        for (at, code) in around.within.drain(..) {
            edit.insert_before(at, Landing::Original, code);
        }
        edit.apply(&mut body)?;
        // The method may already have values on the stack there.
        body.max_stack = body.max_stack.saturating_add(around.stack);
    }
    let encoded = encode(&surround(body, around))?;
    Ok(Rewritten { body: encoded.bytes, map: encoded.map })
}

fn surround(body: Body, around: BodyWrapper) -> Body {
    let BodyWrapper { before, first, fault, after, within: _, stack, result, local_sig } = around;
    let keeps = u32::from(result.is_some());
    // New position of each instruction; for a `ret`, of its replacement.
    let mut moved = Vec::with_capacity(body.instructions.len() + 1);
    let start = before.len() as u32;
    let mut next = start + first.len() as u32;
    for instruction in &body.instructions {
        moved.push(Label(next));
        next += 1 + if instruction.opcode == Opcode::RET { keeps } else { 0 };
    }
    moved.push(Label(next));
    let (start, handler) = (Label(start), Label(next));
    let way_out = Label(next + fault.len() as u32 + 1);
    // A label past the end stays invalid, and the layout refuses it.
    let to = |label: Label| moved.get(label.0 as usize).copied().unwrap_or(Label(u32::MAX));

    let mut list = Vec::with_capacity(next as usize + fault.len() + after.len() + 3);
    append(&mut list, before);
    append(&mut list, first);
    for mut instruction in body.instructions {
        if instruction.opcode == Opcode::RET {
            let mut old_offset = instruction.old_offset;
            if let Some(local) = result {
                list.push(Instruction { old_offset: old_offset.take(), ..store(local) });
            }
            let leave = Instruction::new(Opcode::LEAVE_S, Operand::Target(way_out));
            list.push(Instruction { old_offset, ..leave });
            continue;
        }
        match &mut instruction.operand {
            Operand::Target(label) => *label = to(*label),
            Operand::Switch(labels) => labels.iter_mut().for_each(|label| *label = to(*label)),
            _ => {}
        }
        list.push(instruction);
    }
    append(&mut list, fault);
    list.push(Instruction::new(Opcode::ENDFINALLY, Operand::None));
    append(&mut list, after);
    list.extend(result.map(load));
    list.push(Instruction::new(Opcode::RET, Operand::None));

    let mut clauses = body.clauses;
    for clause in &mut clauses {
        if let ClauseKind::Filter { start } = &mut clause.kind {
            *start = to(*start);
        }
        for region in [&mut clause.try_region, &mut clause.handler] {
            (region.start, region.end) = (to(region.start), to(region.end));
        }
    }
    // The outermost clause comes last (ECMA-335 II.19).
    let kind = ClauseKind::Fault { unused: 0 };
    clauses.push(Clause { kind, try_region: start..handler, handler: handler..way_out });
    Body { max_stack: body.max_stack.max(stack), local_sig, instructions: list, clauses, ..body }
}

fn store(local: u16) -> Instruction {
    match u8::try_from(local) {
        Ok(short) => Instruction::new(Opcode::STLOC_S, Operand::U8(short)),
        Err(_) => Instruction::new(Opcode::STLOC, Operand::U16(local)),
    }
}

fn load(local: u16) -> Instruction {
    match u8::try_from(local) {
        Ok(short) => Instruction::new(Opcode::LDLOC_S, Operand::U8(short)),
        Err(_) => Instruction::new(Opcode::LDLOC, Operand::U16(local)),
    }
}
