//! The table stream: position and row width of each table (ECMA-335 II.22, II.24.2.6).

use anyhow::{Context, Result, bail};

use super::image::{bytes_at, u32_at};

/// The tables that the reader uses, with the standard's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    TypeRef = 0x01,
    TypeDef = 0x02,
    MethodDef = 0x06,
    MemberRef = 0x0A,
    StandAloneSig = 0x11,
    NestedClass = 0x29,
    MethodSpec = 0x2B,
}

impl Table {
    pub(super) fn of_token(token: u32) -> Option<Table> {
        [
            Table::TypeRef,
            Table::TypeDef,
            Table::MethodDef,
            Table::MemberRef,
            Table::StandAloneSig,
            Table::MethodSpec,
        ]
        .into_iter()
        .find(|table| *table as u32 == token >> 24)
    }
}

#[derive(Clone, Copy)]
enum Column {
    /// Two bytes.
    Word,
    /// Four bytes.
    Double,
    String,
    Guid,
    Blob,
    /// A row of one table.
    Row(u8),
    /// A row in one of several tables, with a tag of the given number of bits.
    Coded(u32, &'static [u8]),
}

use Column::{Blob, Coded, Double, Guid, Row, String, Word};

const TYPE_DEF_OR_REF: Column = Coded(2, &[0x02, 0x01, 0x1B]);
const HAS_CONSTANT: Column = Coded(2, &[0x04, 0x08, 0x17]);
const HAS_CUSTOM_ATTRIBUTE: Column = Coded(
    5,
    &[
        0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0A, 0x00, 0x0E, 0x17, 0x14, 0x11, 0x1A, 0x1B, 0x20, 0x23, 0x26,
        0x27, 0x28, 0x2A, 0x2C, 0x2B,
    ],
);
const HAS_FIELD_MARSHAL: Column = Coded(1, &[0x04, 0x08]);
const HAS_DECL_SECURITY: Column = Coded(2, &[0x02, 0x06, 0x20]);
const MEMBER_REF_PARENT: Column = Coded(3, &[0x02, 0x01, 0x1A, 0x06, 0x1B]);
const HAS_SEMANTICS: Column = Coded(1, &[0x14, 0x17]);
const METHOD_DEF_OR_REF: Column = Coded(1, &[0x06, 0x0A]);
const MEMBER_FORWARDED: Column = Coded(1, &[0x04, 0x06]);
const IMPLEMENTATION: Column = Coded(2, &[0x26, 0x23, 0x27]);
const CUSTOM_ATTRIBUTE_TYPE: Column = Coded(3, &[0x06, 0x0A]);
const RESOLUTION_SCOPE: Column = Coded(2, &[0x00, 0x1A, 0x23, 0x01]);
const TYPE_OR_METHOD_DEF: Column = Coded(1, &[0x02, 0x06]);

/// The columns of each table, by table number.
const SCHEMA: [&[Column]; 0x2D] = [
    &[Word, String, Guid, Guid, Guid],                                // Module
    &[RESOLUTION_SCOPE, String, String],                              // TypeRef
    &[Double, String, String, TYPE_DEF_OR_REF, Row(0x04), Row(0x06)], // TypeDef
    &[Row(0x04)],                                                     // FieldPtr
    &[Word, String, Blob],                                            // Field
    &[Row(0x06)],                                                     // MethodPtr
    &[Double, Word, Word, String, Blob, Row(0x08)],                   // MethodDef
    &[Row(0x08)],                                                     // ParamPtr
    &[Word, Word, String],                                            // Param
    &[Row(0x02), TYPE_DEF_OR_REF],                                    // InterfaceImpl
    &[MEMBER_REF_PARENT, String, Blob],                               // MemberRef
    &[Word, HAS_CONSTANT, Blob],                                      // Constant
    &[HAS_CUSTOM_ATTRIBUTE, CUSTOM_ATTRIBUTE_TYPE, Blob],             // CustomAttribute
    &[HAS_FIELD_MARSHAL, Blob],                                       // FieldMarshal
    &[Word, HAS_DECL_SECURITY, Blob],                                 // DeclSecurity
    &[Word, Double, Row(0x02)],                                       // ClassLayout
    &[Double, Row(0x04)],                                             // FieldLayout
    &[Blob],                                                          // StandAloneSig
    &[Row(0x02), Row(0x14)],                                          // EventMap
    &[Row(0x14)],                                                     // EventPtr
    &[Word, String, TYPE_DEF_OR_REF],                                 // Event
    &[Row(0x02), Row(0x17)],                                          // PropertyMap
    &[Row(0x17)],                                                     // PropertyPtr
    &[Word, String, Blob],                                            // Property
    &[Word, Row(0x06), HAS_SEMANTICS],                                // MethodSemantics
    &[Row(0x02), METHOD_DEF_OR_REF, METHOD_DEF_OR_REF],               // MethodImpl
    &[String],                                                        // ModuleRef
    &[Blob],                                                          // TypeSpec
    &[Word, MEMBER_FORWARDED, String, Row(0x1A)],                     // ImplMap
    &[Double, Row(0x04)],                                             // FieldRVA
    &[Double, Double],                                                // EncLog
    &[Double],                                                        // EncMap
    &[Double, Word, Word, Word, Word, Double, Blob, String, String],  // Assembly
    &[Double],                                                        // AssemblyProcessor
    &[Double, Double, Double],                                        // AssemblyOS
    &[Word, Word, Word, Word, Double, Blob, String, String, Blob],    // AssemblyRef
    &[Double, Row(0x23)],                                             // AssemblyRefProcessor
    &[Double, Double, Double, Row(0x23)],                             // AssemblyRefOS
    &[Double, String, Blob],                                          // File
    &[Double, Double, String, String, IMPLEMENTATION],                // ExportedType
    &[Double, Double, String, IMPLEMENTATION],                        // ManifestResource
    &[Row(0x02), Row(0x02)],                                          // NestedClass
    &[Word, Word, TYPE_OR_METHOD_DEF, String],                        // GenericParam
    &[METHOD_DEF_OR_REF, Blob],                                       // MethodSpec
    &[Row(0x2A), TYPE_DEF_OR_REF],                                    // GenericParamConstraint
];

/// The layout of all tables.
pub(super) struct Tables {
    rows: [u32; 64],
    layout: Vec<Layout>,
}

/// The layout of one table.
struct Layout {
    start: usize,
    row_size: usize,
    /// Offset and width of each column.
    cells: Vec<(usize, usize)>,
}

impl Tables {
    /// Reads the header of the table stream that starts at `at`.
    pub(super) fn read(image: &[u8], at: usize) -> Result<Tables> {
        let [heaps] = bytes_at(image, at + 6)?;
        let valid = u64::from_le_bytes(bytes_at(image, at + 8)?);
        let mut rows = [0; 64];
        let mut next = at + 24;
        for (number, rows) in rows.iter_mut().enumerate() {
            if valid >> number & 1 == 1 {
                *rows = u32_at(image, next)?;
                next += 4;
            }
        }
        // Edit-and-continue images have four more bytes here.
        if heaps & 0x40 != 0 {
            next += 4;
        }
        if valid >> SCHEMA.len() != 0 {
            bail!("there are tables past those of the standard");
        }
        let mut layout = Vec::with_capacity(SCHEMA.len());
        for (columns, rows_here) in SCHEMA.iter().zip(rows) {
            let mut row = 0;
            let cells = columns.iter().map(|column| {
                let width = width(*column, heaps, &rows);
                row += width;
                (row - width, width)
            });
            let cells = cells.collect();
            layout.push(Layout { start: next, row_size: row, cells });
            next += row * rows_here as usize;
        }
        Ok(Tables { rows, layout })
    }

    pub(super) fn rows(&self, table: Table) -> u32 {
        self.rows[table as usize]
    }

    /// Returns a cell by row (from 1) and column (from 0).
    pub(super) fn cell(&self, image: &[u8], table: Table, row: u32, column: usize) -> Result<u32> {
        if row == 0 || row > self.rows(table) {
            bail!("the table {table:?} has no row {row}");
        }
        let Layout { start, row_size, cells } = &self.layout[table as usize];
        let (offset, width) = *cells.get(column).context("no such column")?;
        let at = start + (row as usize - 1) * row_size + offset;
        match width {
            2 => Ok(u32::from(u16::from_le_bytes(bytes_at(image, at)?))),
            _ => u32_at(image, at),
        }
    }
}

fn width(column: Column, heaps: u8, rows: &[u32; 64]) -> usize {
    let wide = match column {
        Word => false,
        Double => true,
        String => heaps & 1 != 0,
        Guid => heaps & 2 != 0,
        Blob => heaps & 4 != 0,
        Row(table) => rows[usize::from(table)] > 0xFFFF,
        Coded(bits, tables) => tables.iter().any(|table| rows[usize::from(*table)] > 0xFFFF >> bits),
    };
    if wide { 4 } else { 2 }
}
