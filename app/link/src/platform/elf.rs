//! Reads processor and C library from ELF files: header, interpreter and needed libraries.
#![forbid(unsafe_code)]

use super::system_library::SystemLibrary;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{LittleEndian, ReadCache, ReadRef, elf};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// What a file says.
#[derive(Debug, PartialEq, Eq)]
pub struct ElfFacts {
    /// The processor, as .NET names it.
    pub processor: String,
    /// The C library; `None` for a static program, a library without one, and a damaged file.
    pub system: Option<SystemLibrary>,
}

/// Reads a file; `None` if it is no ELF file.
pub fn facts(path: &Path) -> Option<ElfFacts> {
    let file = File::open(path).ok()?;
    let mut head = [0u8; 20];
    file.read_exact_at(&mut head, 0).ok()?;
    let processor = processor(&head)?;
    Some(ElfFacts { processor, system: linked(&ReadCache::new(file)) })
}

/// Returns the processor named in an ELF header (e_ident, e_machine at 0x12; numbers of the System V ABI's
/// registry).
fn processor(head: &[u8]) -> Option<String> {
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let machine = u16::from_le_bytes(head.get(0x12..0x14)?.try_into().ok()?);
    let name = match elf::Machine(machine) {
        elf::EM_386 => "x86",
        elf::EM_ARM => "arm",
        elf::EM_X86_64 => "x64",
        elf::EM_AARCH64 => "arm64",
        elf::EM_RISCV => "riscv64",
        elf::EM_LOONGARCH => "loongarch64",
        _ => return Some(format!("processor{machine}")),
    };
    Some(name.to_owned())
}

/// Returns the C library of a 64-bit file, by its interpreter and its needed libraries.
fn linked<'d, R: ReadRef<'d>>(file: R) -> Option<SystemLibrary> {
    let header = elf::FileHeader64::<LittleEndian>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let interpreter = header
        .program_headers(endian, file)
        .ok()?
        .iter()
        .find_map(|segment| segment.interpreter(endian, file).ok()?);
    let named = interpreter.and_then(|path| path.rsplit(|byte| *byte == b'/').next());
    if let Some(found) = named.and_then(|name| SystemLibrary::of_file_name(&String::from_utf8_lossy(name))) {
        return Some(found);
    }
    let sections = header.sections(endian, file).ok()?;
    let table = sections.dynamic_table(endian, file).ok()?;
    let mut needed = table.iter().filter(|entry| entry.tag == elf::DT_NEEDED);
    needed.find_map(|entry| SystemLibrary::of_file_name(&String::from_utf8_lossy(table.string(entry).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_processor_from_the_header() {
        let head = |machine: u8| [&b"\x7fELF\x01\x01"[..], &[0; 12], &[machine, 0]].concat();
        assert_eq!(processor(&head(3)).as_deref(), Some("x86"));
        assert_eq!(processor(&head(183)).as_deref(), Some("arm64"));
        assert_eq!(processor(&head(21)).as_deref(), Some("processor21"));
        assert_eq!((processor(b"#!/bin/sh"), processor(&head(3)[..19])), (None, None));
    }

    #[test]
    fn damaged_files_name_no_library() {
        let program = std::fs::read(std::env::current_exe().expect("path")).expect("readable");
        assert_eq!(linked(&b"#!/bin/sh\n"[..]), None);
        for length in [0, 5, 63, 64, 200] {
            assert_eq!(linked(&program[..length]), None, "{length} bytes");
        }
    }
}
