//! Tiny and fat method headers (ECMA-335 II.25.4.2, II.25.4.3).

use super::bytes::Bytes;
use redial_protocol::diagnostics::{BodyPart, IlViolation};

const FORMAT_MASK: u8 = 0x3;
const TINY: u8 = 0x2;
const FAT: u8 = 0x3;
/// The standard has two bits of format, but the CLR reads three and does not accept a fat header with this bit.
const FAT_FORMAT_MASK: u8 = 0x7;
const MORE_SECTIONS: u16 = 0x8;
const INIT_LOCALS: u16 = 0x10;
/// Size of a fat header in words of four bytes, in the upper four bits of the flags.
const FAT_WORDS: u16 = 3;

/// Maximum stack depth implied by a tiny header.
pub(super) const TINY_MAX_STACK: u16 = 8;
/// Maximum bytes of code under a tiny header.
const TINY_MAX_CODE: u32 = 63;

/// Contents of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) max_stack: u16,
    pub(super) init_locals: bool,
    pub(super) local_sig: u32,
    pub(super) code_size: u32,
    pub(super) more_sections: bool,
}

impl Header {
    /// Reads a header; leaves `bytes` at the first instruction.
    pub(super) fn read(bytes: &mut Bytes<'_>) -> Result<Header, IlViolation> {
        const WHAT: BodyPart = BodyPart::Header;
        let first = bytes.u8(WHAT)?;
        if first & FORMAT_MASK == TINY {
            return Ok(Header {
                max_stack: TINY_MAX_STACK,
                init_locals: false,
                local_sig: 0,
                code_size: u32::from(first >> 2),
                more_sections: false,
            });
        }
        if first & FAT_FORMAT_MASK != FAT {
            return Err(IlViolation::BadHeader { first });
        }
        let flags = u16::from(first) | u16::from(bytes.u8(WHAT)?) << 8;
        let words = flags >> 12;
        if words < FAT_WORDS {
            return Err(IlViolation::BadHeaderSize { words: words as u8 });
        }
        let header = Header {
            max_stack: bytes.u16(WHAT)?,
            code_size: bytes.u32(WHAT)?,
            local_sig: bytes.u32(WHAT)?,
            init_locals: flags & INIT_LOCALS != 0,
            more_sections: flags & MORE_SECTIONS != 0,
        };
        // A longer header is from a later standard; the CLR skips the unknown part.
        bytes.take(usize::from(words - FAT_WORDS) * 4, WHAT)?;
        Ok(header)
    }

    /// Returns whether a tiny header is sufficient.
    pub(super) fn fits_tiny(&self) -> bool {
        self.code_size <= TINY_MAX_CODE
            && self.max_stack <= TINY_MAX_STACK
            && self.local_sig == 0
            && !self.init_locals
            && !self.more_sections
    }

    /// Writes the smaller of the two forms that holds everything.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        if self.fits_tiny() {
            out.push((self.code_size as u8) << 2 | TINY);
            return;
        }
        let mut flags = FAT_WORDS << 12 | u16::from(FAT);
        if self.more_sections {
            flags |= MORE_SECTIONS;
        }
        if self.init_locals {
            flags |= INIT_LOCALS;
        }
        out.extend_from_slice(&flags.to_le_bytes());
        out.extend_from_slice(&self.max_stack.to_le_bytes());
        out.extend_from_slice(&self.code_size.to_le_bytes());
        out.extend_from_slice(&self.local_sig.to_le_bytes());
    }
}
