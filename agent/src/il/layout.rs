//! Decides which branches are short and computes the offset of every instruction.
//!
//! A long branch stays long; a short one stays short while its distance fits. Growing one can push another over
//! its limit, but only a neighbour: a short branch across the grown one is within 129 instructions of it. So
//! each growth re-examines a bounded window, and the total time is linear in the code.

use super::opcodes::OperandKind;
use super::{IlError, Instruction, Label, Opcode, Operand};

/// Form and offset of each instruction.
pub(super) struct Layout {
    /// Whether a branch with a short opcode is written in the long form.
    pub(super) grown: Vec<bool>,
    /// Offset of each instruction and of the end of the code.
    pub(super) offsets: Vec<u32>,
}

/// Bytes that a branch grows by: its distance takes four bytes instead of one.
const GROWTH: i64 = 3;
/// Number of instructions on either side that can contain a short branch across a place (each has at least one
/// byte).
const REACH: usize = 130;

pub(super) fn layout(instructions: &[Instruction]) -> Result<Layout, IlError> {
    let mut sizes = Vec::with_capacity(instructions.len());
    let mut total: u64 = 0;
    for (index, instruction) in instructions.iter().enumerate() {
        let size = size(index as u32, instruction)?;
        total += u64::from(size);
        sizes.push(size);
    }
    // Each branch could still grow by three bytes; with this bound every distance fits into 32 signed bits.
    if total + 3 * sizes.len() as u64 > i32::MAX as u64 {
        return Err(IlError::TooLarge("the code"));
    }
    let mut offsets = sum(&sizes);
    let mut short = ShortBranches::find(instructions, &offsets)?;
    let grown = short.grow();
    if grown.iter().any(|grown| *grown) {
        for (size, grown) in sizes.iter_mut().zip(&grown) {
            *size += if *grown { GROWTH as u32 } else { 0 };
        }
        offsets = sum(&sizes);
    }
    Ok(Layout { grown, offsets })
}

fn sum(sizes: &[u32]) -> Vec<u32> {
    let mut offsets = Vec::with_capacity(sizes.len() + 1);
    let mut at = 0;
    offsets.push(at);
    offsets.extend(sizes.iter().map(|size| {
        at += size;
        at
    }));
    offsets
}

/// Returns the bytes of an instruction in the form of its opcode.
pub(super) fn size(index: u32, instruction: &Instruction) -> Result<u32, IlError> {
    let opcode = instruction.opcode;
    let operand = match (opcode.info().operand, &instruction.operand) {
        (OperandKind::None, Operand::None) => 0,
        (OperandKind::U8, Operand::U8(_)) | (OperandKind::I8, Operand::I8(_)) => 1,
        (OperandKind::U16, Operand::U16(_)) => 2,
        (OperandKind::I32, Operand::I32(_)) | (OperandKind::R4, Operand::R4(_)) => 4,
        (OperandKind::Token, Operand::Token(_)) => 4,
        (OperandKind::I64, Operand::I64(_)) | (OperandKind::R8, Operand::R8(_)) => 8,
        (OperandKind::ShortTarget, Operand::Target(_)) => 1,
        (OperandKind::LongTarget, Operand::Target(_)) => 4,
        (OperandKind::Switch, Operand::Switch(labels)) => u32::try_from(labels.len())
            .ok()
            .and_then(|count| count.checked_mul(4)?.checked_add(4))
            .ok_or(IlError::TooLarge("a switch"))?,
        _ => return Err(IlError::BadOperand { index, opcode }),
    };
    operand.checked_add(opcode.size()).ok_or(IlError::TooLarge("a switch"))
}

/// The branches that are still short, with their distances.
struct ShortBranches {
    /// One entry per instruction.
    entries: Vec<Option<Short>>,
    grown: Vec<bool>,
    too_far: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Short {
    target: usize,
    distance: i64,
}

impl Short {
    fn fits(&self) -> bool {
        i8::try_from(self.distance).is_ok()
    }
}

impl ShortBranches {
    fn find(instructions: &[Instruction], offsets: &[u32]) -> Result<Self, IlError> {
        let mut entries = vec![None; instructions.len()];
        let mut too_far = Vec::new();
        let ends = offsets.iter().skip(1);
        for (index, ((instruction, end), entry)) in
            instructions.iter().zip(ends).zip(entries.iter_mut()).enumerate()
        {
            let target = match &instruction.operand {
                Operand::Target(label) => distance_to(*label, instructions.len(), offsets)?,
                Operand::Switch(labels) => {
                    for label in labels.iter() {
                        distance_to(*label, instructions.len(), offsets)?;
                    }
                    continue;
                }
                _ => continue,
            };
            if instruction.opcode.info().operand != OperandKind::ShortTarget {
                continue;
            }
            let (target, target_offset) = target;
            let short = Short { target, distance: i64::from(target_offset) - i64::from(*end) };
            if !short.fits() {
                too_far.push(index);
            }
            *entry = Some(short);
        }
        Ok(ShortBranches { entries, grown: vec![false; instructions.len()], too_far })
    }

    /// Grows the branches that must grow and returns which did.
    fn grow(&mut self) -> Vec<bool> {
        while let Some(index) = self.too_far.pop() {
            if let Some(entry) = self.entries.get_mut(index) {
                *entry = None;
            }
            if let Some(grown) = self.grown.get_mut(index) {
                *grown = true;
            }
            self.push_neighbours(index);
        }
        std::mem::take(&mut self.grown)
    }

    /// Updates the distance of every short branch across the grown instruction.
    fn push_neighbours(&mut self, grown: usize) {
        let first = grown.saturating_sub(REACH);
        let window = self.entries.iter_mut().enumerate().skip(first).take(2 * REACH + 1);
        for (index, entry) in window {
            let Some(short) = entry else { continue };
            let fitted = short.fits();
            if index < grown && grown < short.target {
                short.distance += GROWTH;
            } else if short.target <= grown && grown < index {
                short.distance -= GROWTH;
            }
            if fitted && !short.fits() {
                self.too_far.push(index);
            }
        }
    }
}

/// Returns index and offset of a branch's target, which must be an instruction.
fn distance_to(label: Label, count: usize, offsets: &[u32]) -> Result<(usize, u32), IlError> {
    let index = label.0 as usize;
    match offsets.get(index) {
        Some(offset) if index < count => Ok((index, *offset)),
        _ => Err(IlError::BadLabel { part: "a branch", label: label.0 }),
    }
}

/// Returns the opcode that an instruction is written with.
pub(super) fn written_opcode(instruction: &Instruction, grown: bool) -> Opcode {
    if grown { instruction.opcode.long_form().unwrap_or(instruction.opcode) } else { instruction.opcode }
}
