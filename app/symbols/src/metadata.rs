//! The root of metadata: its streams (ECMA-335 II.24.2.1).

use super::reader::{FormatError, Reader};

const SIGNATURE: u32 = 0x424a_5342;
/// More streams than any compiler writes.
const MAX_STREAMS: u16 = 64;
/// Longest name of a stream, its end included.
const MAX_NAME: usize = 32;

/// The streams that a portable PDB has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Streams<'b> {
    /// `#Pdb`.
    pub pdb: Option<&'b [u8]>,
    /// `#~`.
    pub tables: Option<&'b [u8]>,
    /// `#Blob`.
    pub blobs: &'b [u8],
}

/// Finds the streams.
pub fn streams(bytes: &[u8]) -> Result<Streams<'_>, FormatError> {
    let mut reader = Reader::at(bytes, 0);
    if reader.u32() != Ok(SIGNATURE) {
        return Err(FormatError::NotA("a portable PDB"));
    }
    reader.take(8)?;
    let version = reader.offset()?;
    reader.take(version)?;
    reader.u16()?;
    let count = reader.u16()?;
    if count > MAX_STREAMS {
        return Err(FormatError::Wrong("number of streams"));
    }
    let mut streams = Streams::default();
    for _ in 0..count {
        let (offset, size) = (reader.offset()?, reader.offset()?);
        let name = name(&mut reader)?;
        let end = offset.checked_add(size).ok_or(FormatError::Short)?;
        let content = bytes.get(offset..end).ok_or(FormatError::Short)?;
        match name {
            b"#Pdb" => streams.pdb = Some(content),
            b"#~" => streams.tables = Some(content),
            b"#Blob" => streams.blobs = content,
            _ => {}
        }
    }
    Ok(streams)
}

/// Reads a name that ends with a zero and is padded to four bytes.
fn name<'b>(reader: &mut Reader<'b>) -> Result<&'b [u8], FormatError> {
    let from = *reader;
    for length in 1..=MAX_NAME / 4 {
        let mut part = from;
        let padded = part.take(4 * length)?;
        if let Some(end) = padded.iter().position(|byte| *byte == 0) {
            *reader = part;
            return Ok(padded.get(..end).unwrap_or_default());
        }
    }
    Err(FormatError::Wrong("name of a stream"))
}
