//! Images without their precompiled code, which only one system can run. Metadata and IL stay.

use anyhow::{Context, Result, ensure};

use super::image::{u16_at, u32_at};
use super::{locate, read_sections};

const AMD64: u16 = 0x8664;
const PE32_PLUS: u16 = 0x20B;
/// Flags of the CLI header (ECMA-335 II.25.3.3.1; the second one is CoreCLR's).
const IL_ONLY: u32 = 0x1;
const IL_LIBRARY: u32 = 0x4;
/// Directories that stay: resources and the CLI header.
const KEPT_DIRECTORIES: [usize; 2] = [2, 14];
/// Offset of the precompiled code's header in the CLI header.
const NATIVE_HEADER: usize = 64;
/// Alignment of sections in memory, and of their bytes in the file.
const PAGE: u32 = 0x1000;
const UNIT: u32 = 0x200;
/// Characteristics of the only section: code, to be read and executed. The CLR accepts no IL in a section to be written.
const CODE: u32 = 0x6000_0020;

/// Returns a managed image as a compiler for 64-bit Windows writes it: IL only, and one section at the addresses of all of its
/// own. (Those of Linux images lie where Windows accepts none.) An image without precompiled code, or that is not managed,
/// stays as it is.
///
/// # Errors
/// When the image is damaged.
pub fn without_precompiled_code(image: Vec<u8>) -> Result<Vec<u8>> {
    let (sections, Some(cli_rva)) = read_sections(&image)? else { return Ok(image) };
    let cli = locate(&sections, cli_rva).context("the CLI header lies outside the file")?.start;
    if u32_at(&image, cli + NATIVE_HEADER)? == 0 {
        return Ok(image);
    }
    let coff = u32_at(&image, 0x3C)? as usize + 4;
    let optional = coff + 20;
    ensure!(u16_at(&image, optional)? == PE32_PLUS, "precompiled for 32 bits");
    let first_section = optional + usize::from(u16_at(&image, coff + 16)?);
    let headers = (first_section as u32 + 40).next_multiple_of(UNIT);
    let end = sections.iter().map(|section| section.address + section.size).max().context("no section")?;

    // All sections as they lie in memory after the first page.
    let mut memory = vec![0; (end - PAGE).next_multiple_of(UNIT) as usize];
    for section in &sections {
        let bytes = image.get(section.raw.start..section.raw.end).context("the file ends early")?;
        let bytes = &bytes[..bytes.len().min(section.size as usize)];
        put(&mut memory, (section.address - PAGE) as usize, bytes)?;
    }
    let cli = (cli_rva - PAGE) as usize;
    let flags = u32_at(&memory, cli + 16)? & !IL_LIBRARY | IL_ONLY;
    put(&mut memory, cli + 16, &flags.to_le_bytes())?;
    put(&mut memory, cli + NATIVE_HEADER, &[0; 8])?;

    let mut head = image;
    head.resize(headers as usize, 0);
    head[first_section..].fill(0);
    let mut set = |at: usize, number: u32| put(&mut head, at, &number.to_le_bytes());
    set(optional + 16, 0)?; // AddressOfEntryPoint
    set(optional + 32, PAGE)?; // SectionAlignment
    set(optional + 36, UNIT)?; // FileAlignment
    set(optional + 56, end.next_multiple_of(PAGE))?; // SizeOfImage
    set(optional + 60, headers)?; // SizeOfHeaders
    set(first_section + 8, end - PAGE)?; // VirtualSize
    set(first_section + 12, PAGE)?; // VirtualAddress
    set(first_section + 16, memory.len() as u32)?; // SizeOfRawData
    set(first_section + 20, headers)?; // PointerToRawData
    set(first_section + 36, CODE)?;
    put(&mut head, first_section, b".text\0\0\0")?;
    put(&mut head, coff, &AMD64.to_le_bytes())?;
    put(&mut head, coff + 2, &1_u16.to_le_bytes())?; // NumberOfSections
    let directories = optional + 112;
    let count = u32_at(&head, directories - 4)? as usize;
    for directory in (0..count).filter(|directory| !KEPT_DIRECTORIES.contains(directory)) {
        put(&mut head, directories + directory * 8, &[0; 8])?;
    }
    head.extend(memory);
    Ok(head)
}

fn put(image: &mut [u8], at: usize, bytes: &[u8]) -> Result<()> {
    image.get_mut(at..at + bytes.len()).context("the file ends early")?.copy_from_slice(bytes);
    Ok(())
}
