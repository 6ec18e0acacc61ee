//! Encodes a [`Body`] into bytes.

use super::header::Header;
use super::layout::{Layout, layout, written_opcode};
use super::{Body, IlError, Instruction, Label, Operand, eh};
use redial_protocol::diagnostics::IlViolation;

/// An encoded method body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// Header, code, padding and exception table. Must be placed at a multiple of four bytes.
    pub bytes: Vec<u8>,
    /// Bytes of the header, before the first instruction.
    pub header_size: usize,
    /// Offset of each instruction in the new code, and of its end.
    pub offsets: Vec<u32>,
    /// `(old, new)` code offsets for `COR_IL_MAP`, ascending. There is a pair for each decoded instruction,
    /// because readers of the map round down to an entry without interpolating. They treat code before the
    /// first entry as prologue.
    pub map: Vec<(u32, u32)>,
}

/// Encodes a body. The header is tiny if that suffices, the exception table keeps its form unless it must
/// become fat, and short branches grow only where they must.
///
/// # Errors
/// Labels past the end, operands of the wrong kind (both only in bodies built by hand), or sizes beyond the
/// format.
pub fn encode(body: &Body) -> Result<Encoded, IlError> {
    if body.instructions.is_empty() {
        return Err(IlViolation::NoCode.into());
    }
    let Layout { grown, offsets } = layout(&body.instructions)?;
    let code_size = offsets.last().copied().unwrap_or(0);
    let header = Header {
        max_stack: body.max_stack,
        init_locals: body.init_locals,
        local_sig: body.local_sig,
        code_size,
        more_sections: !body.clauses.is_empty(),
    };
    let mut bytes = Vec::with_capacity(code_size as usize + 16 + 24 * body.clauses.len());
    header.write(&mut bytes);
    let header_size = bytes.len();
    let ends = offsets.iter().skip(1);
    for ((instruction, grown), end) in body.instructions.iter().zip(&grown).zip(ends) {
        write(instruction, *grown, *end, &offsets, &mut bytes);
    }
    if !body.clauses.is_empty() {
        eh::write(&body.clauses, body.fat_clauses, &offsets, &mut bytes)?;
    }
    let map = map(&body.instructions, &offsets);
    Ok(Encoded { bytes, header_size, offsets, map })
}

fn write(instruction: &Instruction, grown: bool, end: u32, offsets: &[u32], out: &mut Vec<u8>) {
    let opcode = written_opcode(instruction, grown);
    if opcode.size() == 2 {
        out.extend_from_slice(&opcode.value().to_be_bytes());
    } else {
        out.push(opcode.value() as u8);
    }
    // The layout has checked every label and every distance.
    let distance = |label: &Label| {
        let target = offsets.get(label.0 as usize).copied().unwrap_or(end);
        target.wrapping_sub(end) as i32
    };
    match &instruction.operand {
        Operand::None => {}
        Operand::U8(value) => out.push(*value),
        Operand::I8(value) => out.push(*value as u8),
        Operand::U16(value) => out.extend_from_slice(&value.to_le_bytes()),
        Operand::I32(value) => out.extend_from_slice(&value.to_le_bytes()),
        Operand::I64(value) => out.extend_from_slice(&value.to_le_bytes()),
        Operand::R4(bits) => out.extend_from_slice(&bits.to_le_bytes()),
        Operand::R8(bits) => out.extend_from_slice(&bits.to_le_bytes()),
        Operand::Token(token) => out.extend_from_slice(&token.to_le_bytes()),
        Operand::Target(label) => {
            let distance = distance(label);
            if opcode.long_form().is_some() {
                out.push(distance as i8 as u8);
            } else {
                out.extend_from_slice(&distance.to_le_bytes());
            }
        }
        Operand::Switch(labels) => {
            out.extend_from_slice(&(labels.len() as u32).to_le_bytes());
            for label in labels.iter() {
                out.extend_from_slice(&distance(label).to_le_bytes());
            }
        }
    }
}

fn map(instructions: &[Instruction], offsets: &[u32]) -> Vec<(u32, u32)> {
    let moved = instructions.iter().zip(offsets);
    moved.filter_map(|(instruction, new)| Some((instruction.old_offset?, *new))).collect()
}
