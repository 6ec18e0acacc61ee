//! The exception table after the code, in its small and fat forms (ECMA-335 II.25.4.5, II.25.4.6).

use std::ops::Range;

use super::bytes::Bytes;
use super::labels::Starts;
use super::{Clause, ClauseKind, IlError, Label};
use redial_protocol::diagnostics::{BodyPart, ClauseBound, IlViolation};

const KIND_MASK: u8 = 0x3F;
const KIND_CLAUSES: u8 = 0x01;
const FAT: u8 = 0x40;
const MORE_SECTIONS: u8 = 0x80;

const SECTION_HEADER: usize = 4;
const SMALL_CLAUSE: usize = 12;
const FAT_CLAUSE: usize = 24;
/// Maximum number of clauses whose section size fits the one byte of a small section.
const MAX_SMALL_CLAUSES: usize = (u8::MAX as usize - SECTION_HEADER) / SMALL_CLAUSE;
/// Maximum number of clauses whose section size fits the 24 bits of a fat section.
const MAX_FAT_CLAUSES: usize = ((1 << 24) - 1 - SECTION_HEADER) / FAT_CLAUSE;

const CATCH: u32 = 0;
const FILTER: u32 = 1;
const FINALLY: u32 = 2;
const FAULT: u32 = 4;

/// A clause in its file form: offsets and lengths in bytes.
struct Raw {
    flags: u32,
    try_offset: u32,
    try_length: u32,
    handler_offset: u32,
    handler_length: u32,
    /// Class token or offset of the filter.
    last: u32,
}

/// Reads the sections after the code. Returns the clauses and whether the table has the fat form.
pub(super) fn read(bytes: &mut Bytes<'_>, starts: &Starts) -> Result<(Vec<Clause>, bool), IlViolation> {
    const WHAT: BodyPart = BodyPart::Section;
    let mut clauses = Vec::new();
    let mut table = None;
    loop {
        bytes.align4();
        let start = bytes.position();
        let kind = bytes.u8(WHAT)?;
        if kind & KIND_MASK != KIND_CLAUSES {
            return Err(IlViolation::UnknownSection { kind });
        }
        if table.is_some() {
            return Err(IlViolation::SeveralTables);
        }
        let fat = kind & FAT != 0;
        table = Some(fat);
        let low = usize::from(bytes.u8(WHAT)?);
        let high = usize::from(bytes.u16(WHAT)?);
        // Compilers differ in whether the size includes the section's own header. As in the CLR, the division
        // by the size of a clause gives the same result for both.
        let size = if fat { low | high << 8 } else { low };
        let count = size / if fat { FAT_CLAUSE } else { SMALL_CLAUSE };
        let clause_size = if fat { FAT_CLAUSE } else { SMALL_CLAUSE };
        if count * clause_size > bytes.remaining() {
            return Err(IlViolation::Truncated { part: WHAT });
        }
        clauses.reserve_exact(count);
        for number in 0..count {
            let raw = if fat { read_fat(bytes)? } else { read_small(bytes)? };
            clauses.push(raw.resolve(number as u32, starts)?);
        }
        if kind & MORE_SECTIONS == 0 {
            return Ok((clauses, fat));
        }
        let rest = (start + size).saturating_sub(bytes.position());
        bytes.take(rest, WHAT)?;
    }
}

fn read_small(bytes: &mut Bytes<'_>) -> Result<Raw, IlViolation> {
    const WHAT: BodyPart = BodyPart::Clause;
    Ok(Raw {
        flags: u32::from(bytes.u16(WHAT)?),
        try_offset: u32::from(bytes.u16(WHAT)?),
        try_length: u32::from(bytes.u8(WHAT)?),
        handler_offset: u32::from(bytes.u16(WHAT)?),
        handler_length: u32::from(bytes.u8(WHAT)?),
        last: bytes.u32(WHAT)?,
    })
}

fn read_fat(bytes: &mut Bytes<'_>) -> Result<Raw, IlViolation> {
    const WHAT: BodyPart = BodyPart::Clause;
    Ok(Raw {
        flags: bytes.u32(WHAT)?,
        try_offset: bytes.u32(WHAT)?,
        try_length: bytes.u32(WHAT)?,
        handler_offset: bytes.u32(WHAT)?,
        handler_length: bytes.u32(WHAT)?,
        last: bytes.u32(WHAT)?,
    })
}

impl Raw {
    fn resolve(&self, clause: u32, starts: &Starts) -> Result<Clause, IlViolation> {
        let bound = |bound: ClauseBound, offset: u64| {
            starts.label(offset).ok_or(IlViolation::BadClauseBound { clause, bound, offset })
        };
        let region = |bounds: (ClauseBound, ClauseBound), offset: u32, length: u32| {
            let start = bound(bounds.0, u64::from(offset))?;
            Ok(start..bound(bounds.1, u64::from(offset) + u64::from(length))?)
        };
        let kind = match self.flags {
            CATCH => ClauseKind::Catch { class: self.last },
            FILTER => ClauseKind::Filter { start: bound(ClauseBound::Filter, u64::from(self.last))? },
            FINALLY => ClauseKind::Finally { unused: self.last },
            FAULT => ClauseKind::Fault { unused: self.last },
            flags => return Err(IlViolation::BadClauseKind { clause, flags }),
        };
        Ok(Clause {
            kind,
            try_region: region(
                (ClauseBound::TryStart, ClauseBound::TryEnd),
                self.try_offset,
                self.try_length,
            )?,
            handler: region(
                (ClauseBound::HandlerStart, ClauseBound::HandlerEnd),
                self.handler_offset,
                self.handler_length,
            )?,
        })
    }

    fn fits_small(&self) -> bool {
        let word = u32::from(u16::MAX);
        let byte = u32::from(u8::MAX);
        self.try_offset <= word
            && self.try_length <= byte
            && self.handler_offset <= word
            && self.handler_length <= byte
    }

    fn write(&self, fat: bool, out: &mut Vec<u8>) {
        if fat {
            for word in [
                self.flags,
                self.try_offset,
                self.try_length,
                self.handler_offset,
                self.handler_length,
                self.last,
            ] {
                out.extend_from_slice(&word.to_le_bytes());
            }
        } else {
            out.extend_from_slice(&(self.flags as u16).to_le_bytes());
            out.extend_from_slice(&(self.try_offset as u16).to_le_bytes());
            out.push(self.try_length as u8);
            out.extend_from_slice(&(self.handler_offset as u16).to_le_bytes());
            out.push(self.handler_length as u8);
            out.extend_from_slice(&self.last.to_le_bytes());
        }
    }
}

/// Appends the padding and the exception table. `offsets` has an entry for each instruction and the end of the
/// code. Uses the small form only if the table had it and everything still fits.
pub(super) fn write(
    clauses: &[Clause],
    was_fat: bool,
    offsets: &[u32],
    out: &mut Vec<u8>,
) -> Result<(), IlError> {
    let raw = clauses.iter().map(|clause| raw(clause, offsets)).collect::<Result<Vec<_>, _>>()?;
    let fat = was_fat || raw.len() > MAX_SMALL_CLAUSES || !raw.iter().all(Raw::fits_small);
    if raw.len() > MAX_FAT_CLAUSES {
        return Err(IlError::TooLarge("the exception table"));
    }
    out.resize(out.len().next_multiple_of(4), 0);
    let clause_size = if fat { FAT_CLAUSE } else { SMALL_CLAUSE };
    let size = (raw.len() * clause_size + SECTION_HEADER) as u32;
    let kind = if fat { KIND_CLAUSES | FAT } else { KIND_CLAUSES };
    out.extend_from_slice(&(size << 8 | u32::from(kind)).to_le_bytes());
    for clause in &raw {
        clause.write(fat, out);
    }
    Ok(())
}

fn raw(clause: &Clause, offsets: &[u32]) -> Result<Raw, IlError> {
    let offset = |label: Label| {
        let part = "an exception clause";
        offsets.get(label.0 as usize).copied().ok_or(IlError::BadLabel { part, label: label.0 })
    };
    let region = |region: &Range<Label>| -> Result<(u32, u32), IlError> {
        let start = offset(region.start)?;
        let end = offset(region.end)?;
        let length = end
            .checked_sub(start)
            .ok_or(IlError::BadLabel { part: "an exception clause", label: region.end.0 })?;
        Ok((start, length))
    };
    let (flags, last) = match clause.kind {
        ClauseKind::Catch { class } => (CATCH, class),
        ClauseKind::Filter { start } => (FILTER, offset(start)?),
        ClauseKind::Finally { unused } => (FINALLY, unused),
        ClauseKind::Fault { unused } => (FAULT, unused),
    };
    let (try_offset, try_length) = region(&clause.try_region)?;
    let (handler_offset, handler_length) = region(&clause.handler)?;
    Ok(Raw { flags, try_offset, try_length, handler_offset, handler_length, last })
}
