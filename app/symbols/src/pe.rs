//! The debug directory of a module (a PE file): the id of its PDB, and the PDB itself if it is embedded.

use super::reader::{FormatError, Reader};

/// Index of the debug directory among the data directories.
const DEBUG: usize = 6;
const CODE_VIEW: u32 = 2;
const EMBEDDED: u32 = 17;
/// Minor version of a CodeView entry that refers to a portable PDB.
const PORTABLE: u16 = 0x504d;
const ENTRY: usize = 28;
/// More entries than any linker writes.
const MAX_ENTRIES: usize = 64;
/// Most sections of a PE file.
const MAX_SECTIONS: u16 = 96;
/// Largest embedded PDB, bytes.
const MAX_EMBEDDED: usize = 256 << 20;
/// Longest path of a PDB, bytes.
const MAX_PATH: usize = 1 << 12;

/// The id of a PDB: a module and its PDB have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PdbId {
    /// A GUID.
    pub guid: [u8; 16],
    /// A time stamp or a part of a hash.
    pub stamp: u32,
}

impl PdbId {
    /// Formats the GUID as usual.
    pub fn text(&self) -> String {
        let guid = &self.guid;
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let reversed = |range: std::ops::Range<usize>| {
            let mut bytes = guid.get(range).unwrap_or_default().to_vec();
            bytes.reverse();
            hex(&bytes)
        };
        let rest = |range: std::ops::Range<usize>| hex(guid.get(range).unwrap_or_default());
        format!("{}-{}-{}-{}-{}", reversed(0..4), reversed(4..6), reversed(6..8), rest(8..10), rest(10..16))
    }
}

/// What a module says about its PDB.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebugDirectory {
    /// The id; absent if the module refers to no portable PDB.
    pub id: Option<PdbId>,
    /// Where the compiler wrote the PDB; may be a name alone.
    pub path: String,
    /// The PDB in the module.
    pub embedded: Option<Vec<u8>>,
}

impl DebugDirectory {
    /// Reads the debug directory of a module.
    ///
    /// # Errors
    /// When the bytes are no PE file, or are damaged.
    pub fn of(bytes: &[u8]) -> Result<DebugDirectory, FormatError> {
        let not_pe = |_| FormatError::NotA("a PE file");
        if bytes.get(..2) != Some(b"MZ") {
            return Err(FormatError::NotA("a PE file"));
        }
        let header = Reader::at(bytes, 0x3c).offset().map_err(not_pe)?;
        let mut reader = Reader::at(bytes, header);
        if reader.take(4).map_err(not_pe)? != b"PE\0\0" {
            return Err(FormatError::NotA("a PE file"));
        }
        reader.u16()?;
        let sections = reader.u16()?.min(MAX_SECTIONS);
        reader.take(12)?;
        let optional_size = usize::from(reader.u16()?);
        reader.u16()?;
        let optional = header + 24;
        let directories = match reader.u16()? {
            0x10b => optional + 96,
            0x20b => optional + 112,
            _ => return Err(FormatError::Wrong("optional header")),
        };
        let count = Reader::at(bytes, directories - 4).offset()?;
        if count <= DEBUG {
            return Ok(DebugDirectory::default());
        }
        let mut debug = Reader::at(bytes, directories + 8 * DEBUG);
        let (address, size) = (debug.u32()?, debug.offset()?);
        if address == 0 {
            return Ok(DebugDirectory::default());
        }
        let table = Reader::at(bytes, optional + optional_size);
        let start = file_offset(table, sections, address)?;
        let mut found = DebugDirectory::default();
        for number in 0..(size / ENTRY).min(MAX_ENTRIES) {
            let mut entry = Reader::at(bytes, start.saturating_add(number * ENTRY));
            entry.take(4)?;
            let stamp = entry.u32()?;
            entry.u16()?;
            let minor = entry.u16()?;
            let kind = entry.u32()?;
            let size = entry.offset()?;
            entry.u32()?;
            let offset = entry.offset()?;
            match kind {
                CODE_VIEW if minor == PORTABLE => {
                    let mut data = Reader::at(Reader::at(bytes, offset).take(size)?, 0);
                    if data.take(4)? != b"RSDS" {
                        continue;
                    }
                    found.id = Some(PdbId { guid: data.array()?, stamp });
                    data.u32()?;
                    let path = data.take(size.saturating_sub(24).min(MAX_PATH))?;
                    let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
                    found.path = String::from_utf8_lossy(path.get(..end).unwrap_or_default()).into_owned();
                }
                EMBEDDED => found.embedded = Some(embedded(Reader::at(bytes, offset).take(size)?)?),
                _ => {}
            }
        }
        Ok(found)
    }
}

/// Returns where an address is in the file.
fn file_offset(mut table: Reader<'_>, sections: u16, address: u32) -> Result<usize, FormatError> {
    for _ in 0..sections {
        table.take(12)?;
        let (start, size, offset) = (table.u32()?, table.u32()?, table.u32()?);
        table.take(16)?;
        if let Some(within) = address.checked_sub(start).filter(|within| *within < size) {
            return usize::try_from(u64::from(offset) + u64::from(within)).map_err(|_| FormatError::Short);
        }
    }
    Err(FormatError::Wrong("debug directory"))
}

fn embedded(bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
    let wrong = FormatError::Wrong("embedded PDB");
    let mut reader = Reader::at(bytes, 0);
    if reader.take(4)? != b"MPDB" {
        return Err(wrong);
    }
    let size = reader.offset()?;
    if size > MAX_EMBEDDED {
        return Err(wrong);
    }
    let packed = reader.take(bytes.len().saturating_sub(8))?;
    let unpacked = miniz_oxide::inflate::decompress_to_vec_with_limit(packed, size).map_err(|_| wrong)?;
    if unpacked.len() == size { Ok(unpacked) } else { Err(wrong) }
}
