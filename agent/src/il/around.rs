//! Code around a whole method: before it, when an exception leaves it, and when it returns.
//!
//! The body becomes the try region of a fault clause; each `ret` becomes a `leave` to the one place behind the handler
//! where the method now returns, its result in a variable on the way. A fault handler is no part of the search for a
//! handler and runs as an exception passes by, so nobody can tell that it is there; and on the way out without an
//! exception no handler is called at all.

use super::prologue::append;
use super::{
    Body, Clause, ClauseKind, Edit, IlError, Insn, Instruction, Label, Landing, Opcode, Operand, Rewritten,
    decode, encode,
};

/// What is put around a method. Each piece of code must leave the stack as it finds it, empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Around {
    /// Runs once before the method's own first instruction, outside the try region.
    pub before: Vec<Insn>,
    /// Runs behind it, inside the try region.
    pub first: Vec<Insn>,
    /// Runs when an exception leaves the method; the `endfinally` comes behind it.
    pub fault: Vec<Insn>,
    /// Runs when the method returns; the result and the `ret` come behind it.
    pub after: Vec<Insn>,
    /// Runs within the method, before the instruction at each place, for whoever comes from the one above it.
    pub within: Vec<(Label, Vec<Insn>)>,
    /// The most that any of them puts on the stack.
    pub stack: u16,
    /// The variable that holds the result meanwhile; None for a method without one.
    pub result: Option<u16>,
    /// StandAloneSig token of the locals, in place of the body's own; it must begin with the body's own locals.
    pub local_sig: u32,
}

/// Whether a method gives its stack frame away (`jmp`, or a call with the prefix `tail.`): then there is no place at
/// which it returns, and no try region may hold the instruction.
pub fn gives_frame_away(body: &Body) -> bool {
    body.instructions.iter().any(|one| matches!(one.opcode, Opcode::TAIL | Opcode::JMP))
}

/// Puts code around a method.
///
/// # Errors
/// A body that [`decode`] refuses, one that [`gives_frame_away`], or one that would become too large.
pub fn with_code_around(original: &[u8], around: Around) -> Result<Rewritten, IlError> {
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
        // On top of what the method has there.
        body.max_stack = body.max_stack.saturating_add(around.stack);
    }
    let encoded = encode(&surround(body, around))?;
    Ok(Rewritten { body: encoded.bytes, map: encoded.map })
}

fn surround(body: Body, around: Around) -> Body {
    let Around { before, first, fault, after, within: _, stack, result, local_sig } = around;
    let keeps = u32::from(result.is_some());
    // Where each instruction comes to stand; of a `ret`, what takes its place.
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
    // A label past the end stays wrong and is refused by the layout.
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
    // The outermost clause is the last (ECMA-335 II.19).
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
