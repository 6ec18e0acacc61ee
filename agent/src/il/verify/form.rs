//! Layout of the parts of a body.

use super::super::Body;
use super::violation::Violation;
use redial_protocol::diagnostics::{BodyPart, IlViolation};

const TINY_HEADER: usize = 1;
const FAT_HEADER: usize = 12;

/// Checks the padding before the exception table and that there are no other bytes. Counts from the bytes,
/// independent of the decoder's cursor.
pub(super) fn check(bytes: &[u8], body: &Body) -> Result<(), Violation> {
    let first = bytes.first().copied().ok_or(IlViolation::Truncated { part: BodyPart::Header })?;
    let header = if first & 3 == 2 { TINY_HEADER } else { FAT_HEADER };
    let code_end = header + body.old_code_size as usize;
    let mut needed = code_end;
    if !body.clauses.is_empty() {
        let table = code_end.next_multiple_of(4);
        if !bytes.get(code_end..table).is_some_and(|padding| padding.iter().all(|byte| *byte == 0)) {
            return Err(Violation::Padding);
        }
        let clause_size = if body.fat_clauses { 24 } else { 12 };
        let size = 4 + clause_size * body.clauses.len();
        let stated = bytes
            .get(table..table + 4)
            .and_then(|header| <[u8; 4]>::try_from(header).ok())
            .map(|header| u32::from_le_bytes(header) >> 8);
        if stated != u32::try_from(size).ok() {
            return Err(Violation::Length { needed: size, actual: stated.unwrap_or(0) as usize });
        }
        needed = table + size;
    }
    if bytes.len() != needed {
        return Err(Violation::Length { needed, actual: bytes.len() });
    }
    Ok(())
}
