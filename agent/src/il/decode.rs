//! Decodes bytes into a [`Body`].

use super::bytes::Bytes;
use super::header::Header;
use super::labels::Starts;
use super::opcodes::{OperandKind, TWO_BYTE_PREFIX};
use super::{Body, Instruction, Label, Opcode, Operand, eh};
use redial_protocol::diagnostics::{BodyPart, IlViolation};

/// Decodes a method body as `ICorProfilerInfo::GetILFunctionBody` returns it: header, code, exception table.
/// Bytes after the last section are allowed and ignored.
///
/// # Errors
/// Any deviation from ECMA-335 II.25.4 and III.
pub fn decode(body: &[u8]) -> Result<Body, IlViolation> {
    let mut bytes = Bytes::new(body);
    let header = Header::read(&mut bytes)?;
    if header.code_size == 0 {
        return Err(IlViolation::NoCode);
    }
    let code = bytes.take(header.code_size as usize, BodyPart::Code)?;
    let (instructions, starts) = instructions(code)?;
    let (clauses, fat_clauses) =
        if header.more_sections { eh::read(&mut bytes, &starts)? } else { (Vec::new(), false) };
    Ok(Body {
        max_stack: header.max_stack,
        init_locals: header.init_locals,
        local_sig: header.local_sig,
        instructions,
        clauses,
        fat_clauses,
        old_code_size: header.code_size,
    })
}

fn instructions(code: &[u8]) -> Result<(Vec<Instruction>, Starts), IlViolation> {
    let mut starts = Starts::new(code.len());
    // The framework averages three bytes per instruction; the list grows if necessary.
    let mut list = Vec::with_capacity(code.len() / 3 + 1);
    let mut bytes = Bytes::new(code);
    let mut has_targets = false;
    while !bytes.is_empty() {
        let offset = bytes.position() as u32;
        starts.note(bytes.position(), list.len() as u32);
        let opcode = opcode(&mut bytes, offset)?;
        let operand = operand(&mut bytes, opcode.info().operand)?;
        has_targets |= matches!(operand, Operand::Target(_) | Operand::Switch(_));
        list.push(Instruction { opcode, operand, old_offset: Some(offset) });
    }
    starts.note(code.len(), list.len() as u32);
    if has_targets {
        resolve(&mut list, code.len(), &starts)?;
    }
    Ok((list, starts))
}

fn opcode(bytes: &mut Bytes<'_>, offset: u32) -> Result<Opcode, IlViolation> {
    const WHAT: BodyPart = BodyPart::Instruction;
    let first = bytes.u8(WHAT)?;
    if first == TWO_BYTE_PREFIX {
        let second = bytes.u8(WHAT)?;
        let value = u16::from(TWO_BYTE_PREFIX) << 8 | u16::from(second);
        return Opcode::two_byte(second).ok_or(IlViolation::BadOpcode { value, offset });
    }
    Opcode::one_byte(first).ok_or(IlViolation::BadOpcode { value: u16::from(first), offset })
}

/// Reads an operand. Until [`resolve`], targets contain their distance as two's complement in the label.
fn operand(bytes: &mut Bytes<'_>, kind: OperandKind) -> Result<Operand, IlViolation> {
    const WHAT: BodyPart = BodyPart::Operand;
    Ok(match kind {
        OperandKind::None => Operand::None,
        OperandKind::U8 => Operand::U8(bytes.u8(WHAT)?),
        OperandKind::I8 => Operand::I8(bytes.u8(WHAT)? as i8),
        OperandKind::U16 => Operand::U16(bytes.u16(WHAT)?),
        OperandKind::I32 => Operand::I32(bytes.i32(WHAT)?),
        OperandKind::I64 => Operand::I64(bytes.u64(WHAT)? as i64),
        OperandKind::R4 => Operand::R4(bytes.u32(WHAT)?),
        OperandKind::R8 => Operand::R8(bytes.u64(WHAT)?),
        OperandKind::Token => Operand::Token(bytes.u32(WHAT)?),
        OperandKind::ShortTarget => Operand::Target(Label(i32::from(bytes.u8(WHAT)? as i8) as u32)),
        OperandKind::LongTarget => Operand::Target(Label(bytes.u32(WHAT)?)),
        OperandKind::Switch => {
            let count = bytes.u32(WHAT)? as usize;
            if count > bytes.remaining() / 4 {
                return Err(IlViolation::Truncated { part: WHAT });
            }
            let mut targets = Vec::with_capacity(count);
            for _ in 0..count {
                targets.push(Label(bytes.u32(WHAT)?));
            }
            Operand::Switch(targets.into_boxed_slice())
        }
    })
}

/// Converts distances to labels.
fn resolve(list: &mut [Instruction], code_size: usize, starts: &Starts) -> Result<(), IlViolation> {
    let mut next = code_size as u32; // walking backwards, this is the offset after the instruction
    for instruction in list.iter_mut().rev() {
        let offset = instruction.old_offset.unwrap_or(next);
        let resolved = |label: &Label| starts.target(offset, i64::from(next) + i64::from(label.0 as i32));
        match &mut instruction.operand {
            Operand::Target(label) => *label = resolved(label)?,
            Operand::Switch(labels) => {
                for label in labels.iter_mut() {
                    *label = resolved(label)?;
                }
            }
            _ => {}
        }
        next = offset;
    }
    Ok(())
}
