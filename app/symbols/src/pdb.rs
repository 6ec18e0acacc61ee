//! Documents and sequence points of a portable PDB.

use super::metadata;
use super::pe::PdbId;
use super::reader::{FormatError, Reader};

/// Index of the table of documents; those before it describe types and have no place in a PDB.
const DOCUMENT: u32 = 0x30;
/// Index of the table with a row for each method.
const METHOD_DEBUG_INFORMATION: u32 = 0x31;
/// Index of the table of local scopes, which has to be skipped, as the next three.
const LOCAL_SCOPE: u32 = 0x32;
/// Index of the table of local variables.
const LOCAL_VARIABLE: u32 = 0x33;
/// Index of the table of local constants.
const LOCAL_CONSTANT: u32 = 0x34;
/// Index of the table of imports.
const IMPORT_SCOPE: u32 = 0x35;
/// Index of the table that maps `MoveNext` to its async or iterator method.
const STATE_MACHINE_METHOD: u32 = 0x36;
/// Index of the module's table of methods.
const METHOD_DEF: u32 = 0x06;
/// Most documents of a method.
const MAX_DOCUMENTS: usize = 256;
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
    /// Whether the method is async or an iterator. Its code is in `MoveNext` of its state machine, and the offsets are
    /// those of `MoveNext`.
    pub is_state_machine: bool,
}

impl MethodSource {
    /// Returns the document and line in which the method begins.
    pub fn start(&self) -> Option<(&str, u32)> {
        self.points.iter().find_map(|point| self.line(point))
    }

    /// Returns the document and line of the instruction at an offset of the original IL; none if the code is in `MoveNext`.
    pub fn at(&self, il_offset: u32) -> Option<(&str, u32)> {
        if self.is_state_machine {
            return None;
        }
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
    /// `MoveNext` and async or iterator method, by their rows in the module.
    state_machines: Table<'b>,
    /// Whether an index of a document has four bytes.
    has_many_documents: bool,
    /// Whether an index of a method has four bytes.
    has_many_methods: bool,
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

/// Reads the numbers of rows of those tables that have a bit; others have none.
fn row_counts(reader: &mut Reader<'_>, present: u64) -> Result<[u32; 64], FormatError> {
    let mut counts = [0; 64];
    for (table, count) in counts.iter_mut().enumerate() {
        if present >> table & 1 != 0 {
            *count = reader.u32()?;
        }
    }
    Ok(counts)
}

impl<'b> PortablePdb<'b> {
    /// Reads the head of a PDB.
    ///
    /// # Errors
    /// When the bytes are no portable PDB.
    pub fn parse(bytes: &'b [u8]) -> Result<PortablePdb<'b>, FormatError> {
        let streams = metadata::streams(bytes)?;
        let pdb = streams.pdb.ok_or(FormatError::NotA("a portable PDB"))?;
        let mut head = Reader::at(pdb, 0);
        let id = PdbId { guid: head.array()?, stamp: head.u32()? };
        // The entry point.
        head.take(4)?;
        let module_tables = u64::from_le_bytes(head.array()?);
        let has_many_methods = row_counts(&mut head, module_tables)?[METHOD_DEF as usize] > 0xffff;
        let mut tables = Reader::at(streams.tables.ok_or(FormatError::Wrong("table stream"))?, 0);
        tables.take(6)?;
        let heaps = tables.u8()?;
        let (has_wide_strings, has_wide_guids, has_wide_blobs) =
            (heaps & 1 != 0, heaps & 2 != 0, heaps & 4 != 0);
        tables.u8()?;
        let present = u64::from_le_bytes(tables.array()?);
        // Which of them are sorted.
        tables.take(8)?;
        if present & ((1 << DOCUMENT) - 1) != 0 {
            return Err(FormatError::Wrong("list of tables"));
        }
        let counts = row_counts(&mut tables, present)?;
        let rows = |table: u32| counts[table as usize];
        let is_long = |table: u32| rows(table) > 0xffff;
        let width = |is_wide: bool| if is_wide { 4 } else { 2 };
        let (string, guid, blob) = (width(has_wide_strings), width(has_wide_guids), width(has_wide_blobs));
        let (method, import) = (width(has_many_methods), width(is_long(IMPORT_SCOPE)));
        let scope = method + import + width(is_long(LOCAL_VARIABLE)) + width(is_long(LOCAL_CONSTANT)) + 8;
        let has_many_documents = is_long(DOCUMENT);
        let mut table = |table: u32, width: usize| {
            let rows = rows(table);
            let size = (rows as usize).checked_mul(width).ok_or(FormatError::Short)?;
            Ok::<_, FormatError>(Table { rows, width, bytes: tables.take(size)? })
        };
        // In the order of the file.
        let documents = table(DOCUMENT, 2 * blob + 2 * guid)?;
        let methods = table(METHOD_DEBUG_INFORMATION, width(has_many_documents) + blob)?;
        table(LOCAL_SCOPE, scope)?;
        table(LOCAL_VARIABLE, 4 + string)?;
        table(LOCAL_CONSTANT, string + blob)?;
        table(IMPORT_SCOPE, import + blob)?;
        let state_machines = table(STATE_MACHINE_METHOD, 2 * method)?;
        Ok(PortablePdb {
            id,
            blobs: streams.blobs,
            has_wide_blobs,
            documents,
            methods,
            state_machines,
            has_many_documents,
            has_many_methods,
        })
    }

    /// Returns the id, which its module's debug directory has, too.
    pub fn id(&self) -> PdbId {
        self.id
    }

    /// Returns the source of the method with this row number in the module (the lower three bytes of its token). An async or
    /// iterator method has the lines of its `MoveNext`. None if it has no lines, as methods without body and generated ones.
    ///
    /// # Errors
    /// When the method's part of the PDB is damaged.
    pub fn method(&self, row: u32) -> Result<Option<MethodSource>, FormatError> {
        if let Some(source) = self.own_lines(row)? {
            return Ok(Some(source));
        }
        let Some(body) = self.move_next(row)? else { return Ok(None) };
        Ok(self.own_lines(body)?.map(|source| MethodSource { is_state_machine: true, ..source }))
    }

    /// Returns the row of the `MoveNext` of an async or iterator method. The table is sorted by `MoveNext`, so every row has
    /// to be looked at.
    fn move_next(&self, kickoff: u32) -> Result<Option<u32>, FormatError> {
        let mut rows = Reader::at(self.state_machines.bytes, 0);
        while !rows.is_at_end() {
            let body = rows.index(self.has_many_methods)?;
            if rows.index(self.has_many_methods)? == kickoff {
                return Ok(Some(body));
            }
        }
        Ok(None)
    }

    fn own_lines(&self, row: u32) -> Result<Option<MethodSource>, FormatError> {
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
        let documents = vec![self.document(numbers[0])?];
        let mut source = MethodSource { documents, ..MethodSource::default() };
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
                        if numbers.len() == MAX_DOCUMENTS {
                            return Err(FormatError::Wrong("number of documents"));
                        }
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
            let part: &[u8] = match reader.compressed()? {
                0 => &[],
                part => self.blob(part)?,
            };
            if path.len() + part.len() > MAX_PATH {
                return Err(wrong);
            }
            path.extend_from_slice(part);
        }
        Ok(String::from_utf8_lossy(&path).into_owned())
    }
}

#[cfg(test)]
#[path = "pdb_tests.rs"]
mod tests;
