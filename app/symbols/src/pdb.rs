//! Documents and sequence points of a portable PDB.

use super::metadata;
use super::pe::PdbId;
use super::reader::{FormatError, Reader};

/// Index of the table of documents; those before it describe types and have no place in a PDB.
const DOCUMENT: u32 = 0x30;
/// Index of the table with a row for each method.
const METHOD_DEBUG_INFORMATION: u32 = 0x31;
/// Size of the header of `#Pdb`: id, entry point, and a bit for each table of the module.
const PDB_HEADER: usize = 20;
/// Most sequence points of a method.
const MAX_POINTS: usize = 1 << 20;
/// Longest path of a document, bytes.
const MAX_PATH: usize = 1 << 15;

/// The line that a compiler gave to an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencePoint {
    /// Offset of the first instruction, in the original IL.
    pub il_offset: u32,
    /// Index into [`MethodSource::documents`].
    pub document: u32,
    /// Lines and columns, counted from 1; absent for instructions without source.
    pub lines: Option<Lines>,
}

/// A part of a document. Lines and columns count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// First line.
    pub start: u32,
    /// Column in it.
    pub start_column: u32,
    /// Last line.
    pub end: u32,
    /// Column after the last character.
    pub end_column: u32,
}

/// Where the code of a method comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodSource {
    /// Paths as the compiler wrote them.
    pub documents: Vec<String>,
    /// In the order of instructions.
    pub points: Vec<SequencePoint>,
}

impl MethodSource {
    /// Returns the document and line in which the method begins.
    pub fn start(&self) -> Option<(&str, u32)> {
        self.points.iter().find_map(|point| self.line(point))
    }

    /// Returns the document and line of the instruction at an offset of the original IL.
    pub fn at(&self, il_offset: u32) -> Option<(&str, u32)> {
        let after = self.points.partition_point(|point| point.il_offset <= il_offset);
        self.points.get(after.checked_sub(1)?).and_then(|point| self.line(point))
    }

    fn line(&self, point: &SequencePoint) -> Option<(&str, u32)> {
        let document = self.documents.get(point.document as usize)?;
        Some((document, point.lines?.start))
    }
}

/// A portable PDB.
#[derive(Debug)]
pub struct PortablePdb<'b> {
    id: PdbId,
    blobs: &'b [u8],
    has_wide_blobs: bool,
    documents: Table<'b>,
    methods: Table<'b>,
    /// Whether an index of a document has four bytes.
    has_many_documents: bool,
}

#[derive(Clone, Copy, Debug)]
struct Table<'b> {
    rows: u32,
    width: usize,
    bytes: &'b [u8],
}

impl<'b> Table<'b> {
    /// Returns a row by its number from 1.
    fn row(&self, number: u32) -> Option<Reader<'b>> {
        let index = number.checked_sub(1).filter(|_| number <= self.rows)?;
        Some(Reader::at(self.bytes, (index as usize).checked_mul(self.width)?))
    }
}

impl<'b> PortablePdb<'b> {
    /// Reads the head of a PDB.
    ///
    /// # Errors
    /// When the bytes are no portable PDB.
    pub fn parse(bytes: &'b [u8]) -> Result<PortablePdb<'b>, FormatError> {
        let streams = metadata::streams(bytes)?;
        let pdb = streams.pdb.ok_or(FormatError::NotA("a portable PDB"))?;
        if pdb.len() < PDB_HEADER {
            return Err(FormatError::Short);
        }
        let mut head = Reader::at(pdb, 0);
        let id = PdbId { guid: head.array()?, stamp: head.u32()? };
        let mut tables = Reader::at(streams.tables.ok_or(FormatError::Wrong("table stream"))?, 0);
        tables.take(6)?;
        let heaps = tables.u8()?;
        let (has_wide_guids, has_wide_blobs) = (heaps & 2 != 0, heaps & 4 != 0);
        tables.u8()?;
        let present = u64::from(tables.u32()?) | u64::from(tables.u32()?) << 32;
        tables.take(8)?;
        if present & ((1 << DOCUMENT) - 1) != 0 {
            return Err(FormatError::Wrong("list of tables"));
        }
        let (mut documents, mut methods) = (0, 0);
        for table in (0..64).filter(|table| present >> table & 1 != 0) {
            let rows = tables.u32()?;
            match table {
                DOCUMENT => documents = rows,
                METHOD_DEBUG_INFORMATION => methods = rows,
                _ => {}
            }
        }
        let has_many_documents = documents > 0xffff;
        let width = |is_wide: bool| if is_wide { 4 } else { 2 };
        let mut table = |rows: u32, width: usize| {
            let size = (rows as usize).checked_mul(width).ok_or(FormatError::Short)?;
            Ok(Table { rows, width, bytes: tables.take(size)? })
        };
        Ok(PortablePdb {
            id,
            blobs: streams.blobs,
            has_wide_blobs,
            documents: table(documents, 2 * width(has_wide_blobs) + 2 * width(has_wide_guids))?,
            methods: table(methods, width(has_many_documents) + width(has_wide_blobs))?,
            has_many_documents,
        })
    }

    /// Returns the id, which its module's debug directory has, too.
    pub fn id(&self) -> PdbId {
        self.id
    }

    /// Returns the source of the method with this row number in the module (the lower three bytes of its token). None if it
    /// has no lines, as methods without body and generated ones.
    ///
    /// # Errors
    /// When the method's part of the PDB is damaged.
    pub fn method(&self, row: u32) -> Result<Option<MethodSource>, FormatError> {
        let Some(mut columns) = self.methods.row(row) else { return Ok(None) };
        let document = columns.index(self.has_many_documents)?;
        let blob = columns.index(self.has_wide_blobs)?;
        if blob == 0 {
            return Ok(None);
        }
        self.sequence_points(self.blob(blob)?, document).map(Some)
    }

    fn blob(&self, offset: u32) -> Result<&'b [u8], FormatError> {
        let mut reader = Reader::at(self.blobs, offset as usize);
        let length = reader.compressed()?;
        reader.take(length as usize)
    }

    fn sequence_points(&self, blob: &[u8], document: u32) -> Result<MethodSource, FormatError> {
        let mut reader = Reader::at(blob, 0);
        // The signature of local variables.
        reader.compressed()?;
        let mut numbers = vec![if document == 0 { reader.compressed()? } else { document }];
        let mut source = MethodSource { documents: vec![self.document(numbers[0])?], points: Vec::new() };
        let (mut at, mut offset, mut last) = (0_u32, None::<u32>, None::<(u32, u32)>);
        while !reader.is_at_end() {
            if source.points.len() == MAX_POINTS {
                return Err(FormatError::Wrong("number of sequence points"));
            }
            let delta = reader.compressed()?;
            if delta == 0 && offset.is_some() {
                let number = reader.compressed()?;
                at = match numbers.iter().position(|one| *one == number) {
                    Some(known) => known as u32,
                    None => {
                        numbers.push(number);
                        source.documents.push(self.document(number)?);
                        (numbers.len() - 1) as u32
                    }
                };
                continue;
            }
            let wrong = FormatError::Wrong("line number");
            let il_offset = offset.unwrap_or(0).checked_add(delta).ok_or(FormatError::Wrong("IL offset"))?;
            offset = Some(il_offset);
            let lines = reader.compressed()?;
            let columns = match lines {
                0 => i64::from(reader.compressed()?),
                _ => i64::from(reader.compressed_signed()?),
            };
            if lines == 0 && columns == 0 {
                source.points.push(SequencePoint { il_offset, document: at, lines: None });
                continue;
            }
            let (start, start_column) = match last {
                None => (reader.compressed()?, reader.compressed()?),
                Some((line, column)) => {
                    let (line_delta, column_delta) =
                        (reader.compressed_signed()?, reader.compressed_signed()?);
                    (
                        line.checked_add_signed(line_delta).ok_or(wrong)?,
                        column.checked_add_signed(column_delta).ok_or(wrong)?,
                    )
                }
            };
            last = Some((start, start_column));
            let end = start.checked_add(lines).ok_or(wrong)?;
            let end_column = u32::try_from(i64::from(start_column) + columns).map_err(|_| wrong)?;
            let lines = Some(Lines { start, start_column, end, end_column });
            source.points.push(SequencePoint { il_offset, document: at, lines });
        }
        Ok(source)
    }

    /// Returns the path of a document: parts with a separator between them.
    fn document(&self, number: u32) -> Result<String, FormatError> {
        let wrong = FormatError::Wrong("document");
        let mut columns = self.documents.row(number).ok_or(wrong)?;
        let mut reader = Reader::at(self.blob(columns.index(self.has_wide_blobs)?)?, 0);
        let separator = reader.u8()?;
        let mut path = Vec::new();
        let mut is_first = true;
        while !reader.is_at_end() {
            if !std::mem::take(&mut is_first) && separator != 0 {
                path.push(separator);
            }
            let part = reader.compressed()?;
            if part != 0 {
                path.extend_from_slice(self.blob(part)?);
            }
            if path.len() > MAX_PATH {
                return Err(wrong);
            }
        }
        Ok(String::from_utf8_lossy(&path).into_owned())
    }
}
