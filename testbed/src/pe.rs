//! Reads managed PE files: enough of the metadata (ECMA-335 II.22, II.24, II.25) to name every method, find its
//! body, and see the signature behind a token.
//!
//! It is a second reader beside the runtime's own, for tests. It owns file formats and must not know how the
//! agent reads signatures or bodies.

mod il_only;
mod image;
mod tables;

use std::path::Path;

use anyhow::{Context, Result, bail};

pub use il_only::without_precompiled_code;
use image::{u16_at, u32_at, zero_ended};
use tables::{Table, Tables};

/// The file of a managed assembly.
pub struct Assembly {
    image: Vec<u8>,
    sections: Vec<Section>,
    tables: Tables,
    strings: Span,
    blobs: Span,
    /// For each MethodDef (by row - 1), the row of its TypeDef.
    method_owner: Vec<u32>,
    /// For each TypeDef (by row - 1), the row of its enclosing TypeDef, or 0.
    encloser: Vec<u32>,
}

struct Section {
    address: u32,
    size: u32,
    raw: Span,
}

#[derive(Clone, Copy, Default)]
struct Span {
    start: usize,
    end: usize,
}

/// A row of the MethodDef table.
#[derive(Clone, Copy, Debug)]
pub struct MethodDef<'a> {
    /// `0x06......`.
    pub token: u32,
    /// Address of the body; 0 for methods without one.
    pub rva: u32,
    /// `MethodImplAttributes`; see [`MethodDef::is_il`].
    pub impl_flags: u16,
    /// Metadata name.
    pub name: &'a str,
    /// Signature blob.
    pub signature: &'a [u8],
}

impl MethodDef<'_> {
    /// Returns whether the body is managed IL: code type IL (0 in the lower two bits) and not unmanaged (4).
    pub fn is_il(&self) -> bool {
        self.rva != 0 && self.impl_flags & 0x7 == 0
    }
}

impl Assembly {
    /// Reads a file. Returns `None` for a PE file without a CLI header.
    ///
    /// # Errors
    /// When the file cannot be read or is damaged.
    pub fn read(path: &Path) -> Result<Option<Assembly>> {
        let image = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Assembly::parse(image).with_context(|| format!("{} is damaged", path.display()))
    }

    /// Reads an image in memory. Returns `None` for a PE file without a CLI header.
    ///
    /// # Errors
    /// When the image is damaged.
    pub fn parse(image: Vec<u8>) -> Result<Option<Assembly>> {
        let (sections, cli_rva) = read_sections(&image)?;
        let Some(cli_rva) = cli_rva else { return Ok(None) };
        let cli = locate(&sections, cli_rva).context("the CLI header is in no section")?.start;
        let root_rva = u32_at(&image, cli + 8)?;
        let root = locate(&sections, root_rva).context("the metadata is in no section")?.start;
        if u32_at(&image, root)? != 0x424A_5342 {
            bail!("the metadata has no signature");
        }
        let mut streams = root + 16 + u32_at(&image, root + 12)? as usize;
        let count = u16_at(&image, streams + 2)?;
        streams += 4;
        let (mut tables, mut strings, mut blobs) = (None, Span::default(), Span::default());
        for _ in 0..count {
            let start = root + u32_at(&image, streams)? as usize;
            let span = Span { start, end: start + u32_at(&image, streams + 4)? as usize };
            let name = zero_ended(&image, streams + 8)?;
            match name {
                "#~" | "#-" => tables = Some(span),
                "#Strings" => strings = span,
                "#Blob" => blobs = span,
                _ => {}
            }
            streams += 8 + (name.len() + 4) / 4 * 4;
        }
        let tables = Tables::read(&image, tables.context("there is no table stream")?.start)?;
        let mut assembly = Assembly {
            image,
            sections,
            tables,
            strings,
            blobs,
            method_owner: Vec::new(),
            encloser: Vec::new(),
        };
        assembly.index()?;
        Ok(Some(assembly))
    }

    fn index(&mut self) -> Result<()> {
        let methods = self.tables.rows(Table::MethodDef);
        let types = self.tables.rows(Table::TypeDef);
        self.method_owner = vec![0; methods as usize];
        for row in 1..=types {
            let first = self.cell(Table::TypeDef, row, 5)?;
            let next = if row < types { self.cell(Table::TypeDef, row + 1, 5)? } else { methods + 1 };
            for method in first..next.min(methods + 1) {
                self.method_owner[method as usize - 1] = row;
            }
        }
        self.encloser = vec![0; types as usize];
        for row in 1..=self.tables.rows(Table::NestedClass) {
            let nested = self.cell(Table::NestedClass, row, 0)?;
            let outer = self.cell(Table::NestedClass, row, 1)?;
            *self.encloser.get_mut((nested as usize).wrapping_sub(1)).context("a bad NestedClass row")? =
                outer;
        }
        Ok(())
    }

    /// Returns every method of the assembly in table order.
    pub fn methods(&self) -> impl Iterator<Item = Result<MethodDef<'_>>> {
        (1..=self.tables.rows(Table::MethodDef)).map(|row| self.method(row))
    }

    fn method(&self, row: u32) -> Result<MethodDef<'_>> {
        Ok(MethodDef {
            token: 0x0600_0000 | row,
            rva: self.cell(Table::MethodDef, row, 0)?,
            impl_flags: self.cell(Table::MethodDef, row, 1)? as u16,
            name: self.string(self.cell(Table::MethodDef, row, 3)?)?,
            signature: self.blob(self.cell(Table::MethodDef, row, 4)?)?,
        })
    }

    /// Returns the bytes from the start of a method's body to the end of its section, usually more than the
    /// body.
    ///
    /// # Errors
    /// When no section contains the address.
    pub fn body(&self, rva: u32) -> Result<&[u8]> {
        let span = locate(&self.sections, rva).context("a method's body is in no section")?;
        Ok(&self.image[span.start..span.end])
    }

    /// Returns the signature behind a MethodDef, MemberRef, MethodSpec or StandAloneSig token.
    ///
    /// # Errors
    /// When the token belongs to another table, or lies past its end.
    pub fn signature(&self, token: u32) -> Result<&[u8]> {
        let row = token & 0x00FF_FFFF;
        match Table::of_token(token) {
            Some(Table::MethodDef) => self.blob(self.cell(Table::MethodDef, row, 4)?),
            Some(Table::MemberRef) => self.blob(self.cell(Table::MemberRef, row, 2)?),
            Some(Table::StandAloneSig) => self.blob(self.cell(Table::StandAloneSig, row, 0)?),
            Some(Table::MethodSpec) => {
                let coded = self.cell(Table::MethodSpec, row, 0)?;
                let table = if coded & 1 == 0 { 0x0600_0000 } else { 0x0A00_0000 };
                self.signature(table | coded >> 1)
            }
            _ => bail!("0x{token:08x} has no signature"),
        }
    }

    /// Returns the TypeDef token of a method's type.
    ///
    /// # Errors
    /// When the token does not belong to a MethodDef.
    pub fn owner(&self, method: u32) -> Result<u32> {
        let row = (method & 0x00FF_FFFF) as usize;
        let owner = self.method_owner.get(row.wrapping_sub(1)).context("no such method")?;
        Ok(0x0200_0000 | owner)
    }

    /// Returns the full name of a TypeDef or TypeRef in metadata form, ``Ns.Outer`1+Inner``.
    ///
    /// # Errors
    /// When the token belongs to another table, or lies past its end.
    pub fn type_name(&self, token: u32) -> Result<String> {
        let row = token & 0x00FF_FFFF;
        let (table, name, namespace) = match Table::of_token(token) {
            Some(table @ Table::TypeDef) => (table, 1, 2),
            Some(table @ Table::TypeRef) => (table, 1, 2),
            _ => bail!("0x{token:08x} is no TypeDef or TypeRef"),
        };
        let name = self.string(self.cell(table, row, name)?)?;
        let namespace = self.string(self.cell(table, row, namespace)?)?;
        let outer = match table {
            Table::TypeDef => match self.encloser.get(row as usize - 1) {
                Some(0) | None => None,
                Some(outer) => Some(0x0200_0000 | outer),
            },
            // ResolutionScope has the tag 3 for a TypeRef.
            _ => Some(self.cell(table, row, 0)?)
                .filter(|scope| scope & 3 == 3)
                .map(|scope| 0x0100_0000 | scope >> 2),
        };
        Ok(match outer {
            Some(outer) => format!("{}+{name}", self.type_name(outer)?),
            None if namespace.is_empty() => name.to_owned(),
            None => format!("{namespace}.{name}"),
        })
    }

    fn cell(&self, table: Table, row: u32, column: usize) -> Result<u32> {
        self.tables.cell(&self.image, table, row, column)
    }

    fn string(&self, offset: u32) -> Result<&str> {
        zero_ended(&self.image, self.strings.start + offset as usize)
    }

    fn blob(&self, offset: u32) -> Result<&[u8]> {
        let heap = self.image.get(self.blobs.start..self.blobs.end).context("there is no blob heap")?;
        let blob = heap.get(offset as usize..).context("a blob lies outside its heap")?;
        let (length, header) = match *blob {
            [a, ..] if a < 0x80 => (usize::from(a), 1),
            [a, b, ..] if a < 0xC0 => (usize::from(a & 0x3F) << 8 | usize::from(b), 2),
            [a, b, c, d, ..] => (u32::from_be_bytes([a & 0x1F, b, c, d]) as usize, 4),
            _ => bail!("a blob has no length"),
        };
        blob.get(header..header + length).context("a blob is longer than its heap")
    }
}

fn read_sections(image: &[u8]) -> Result<(Vec<Section>, Option<u32>)> {
    let pe = u32_at(image, 0x3C)? as usize;
    if u32_at(image, pe)? != u32::from_le_bytes(*b"PE\0\0") {
        bail!("this is no PE file");
    }
    let count = u16_at(image, pe + 6)?;
    let optional = pe + 24;
    let directories = match u16_at(image, optional)? {
        0x10B => optional + 96,
        0x20B => optional + 112,
        magic => bail!("the optional header has the unknown magic 0x{magic:x}"),
    };
    // Directory 14 is the CLI header. The number of directories precedes the first one.
    let cli = match u32_at(image, directories - 4)? > 14 {
        true => Some(u32_at(image, directories + 14 * 8)?).filter(|rva| *rva != 0),
        false => None,
    };
    let mut header = optional + usize::from(u16_at(image, pe + 20)?);
    let mut sections = Vec::new();
    for _ in 0..count {
        let start = u32_at(image, header + 20)? as usize;
        let end = (start + u32_at(image, header + 16)? as usize).min(image.len());
        sections.push(Section {
            address: u32_at(image, header + 12)?,
            size: u32_at(image, header + 8)?,
            raw: Span { start, end },
        });
        header += 40;
    }
    Ok((sections, cli))
}

/// Returns the span of the file from an address to the end of its section.
fn locate(sections: &[Section], rva: u32) -> Option<Span> {
    let section =
        sections.iter().find(|section| (section.address..section.address + section.size).contains(&rva))?;
    let start = section.raw.start + (rva - section.address) as usize;
    (start < section.raw.end).then_some(Span { start, end: section.raw.end })
}
