//! Bytes of bodies, built from the standard and not with the encoder.

use crate::il::Opcode;
use crate::il::maxstack::{CallShape, Shapes};

/// A body with a tiny header.
pub fn tiny(code: &[u8]) -> Vec<u8> {
    assert!(code.len() < 64);
    [&[(code.len() as u8) << 2 | 2][..], code].concat()
}

/// A body with a fat header, a stack of 8 and these sections (with padding before the first).
pub fn fat(code: &[u8], sections: &[Vec<u8>]) -> Vec<u8> {
    fat_with_stack(8, code, sections)
}

/// Like [`fat`], with another stack.
pub fn fat_with_stack(max_stack: u16, code: &[u8], sections: &[Vec<u8>]) -> Vec<u8> {
    let flags = 0x3003_u16 | if sections.is_empty() { 0 } else { 8 };
    let mut body = flags.to_le_bytes().to_vec();
    body.extend(max_stack.to_le_bytes());
    body.extend((code.len() as u32).to_le_bytes());
    body.extend([0; 4]);
    body.extend(code);
    for section in sections {
        body.resize(body.len().next_multiple_of(4), 0);
        body.extend(section);
    }
    body
}

/// An exception clause as numbers: flags, try offset and length, handler offset and length, class or filter.
pub type Numbers = (u32, u32, u32, u32, u32, u32);

pub const CATCH: u32 = 0;
pub const FILTER: u32 = 1;
pub const FINALLY: u32 = 2;
pub const FAULT: u32 = 4;

/// A section in the small form.
pub fn small(clauses: &[Numbers]) -> Vec<u8> {
    let mut section = vec![1, (clauses.len() * 12 + 4) as u8, 0, 0];
    for (flags, try_offset, try_length, handler_offset, handler_length, last) in clauses {
        section.extend((*flags as u16).to_le_bytes());
        section.extend((*try_offset as u16).to_le_bytes());
        section.push(*try_length as u8);
        section.extend((*handler_offset as u16).to_le_bytes());
        section.push(*handler_length as u8);
        section.extend(last.to_le_bytes());
    }
    section
}

/// A section in the fat form.
pub fn large(clauses: &[Numbers]) -> Vec<u8> {
    let size = (clauses.len() * 24 + 4) as u32;
    let mut section = (size << 8 | 0x41).to_le_bytes().to_vec();
    for (flags, try_offset, try_length, handler_offset, handler_length, last) in clauses {
        for word in [flags, try_offset, try_length, handler_offset, handler_length, last] {
            section.extend(word.to_le_bytes());
        }
    }
    section
}

/// Token 0x0600_00pr takes p arguments and returns r values; 0x0BAD_.... cannot be resolved.
pub struct FixedShapes {
    pub returns_value: bool,
}

impl Shapes for FixedShapes {
    fn call(&self, opcode: Opcode, token: u32) -> Option<CallShape> {
        let pops = (token >> 4 & 0xF) as u16 + u16::from(opcode == Opcode::CALLI);
        (token >> 16 != 0x0BAD).then_some(CallShape { pops, pushes: (token & 0xF) as u16 })
    }

    fn returns_value(&self) -> bool {
        self.returns_value
    }
}

/// Shapes of a method without a result.
pub const VOID: FixedShapes = FixedShapes { returns_value: false };
/// Shapes of a method with a result.
pub const VALUE: FixedShapes = FixedShapes { returns_value: true };
