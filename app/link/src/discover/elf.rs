//! Recognizes single-file .NET programs by their exported symbols: `DotNetRuntimeInfo` (CoreCLR linked in) or
//! `DotNetRuntimeDebugHeader` (compiled ahead of time). Reads only the dynamic string table of 64-bit
//! little-endian ELF files.
#![forbid(unsafe_code)]

use super::runtime::RuntimeKind;
use object::elf;
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, ReadCache, ReadRef};
use std::fs::File;
use std::path::Path;

/// Real programs have far smaller string tables; larger ones are not read.
const MAX_STRINGS: u64 = 8 << 20;

/// Returns the runtime linked into a program file, if any.
pub fn linked_runtime(path: &Path) -> Option<RuntimeKind> {
    let file = ReadCache::new(File::open(path).ok()?);
    let strings = dynamic_strings(&file)?;
    let has = |name: &[u8]| strings.split(|byte| *byte == 0).any(|string| string == name);
    if has(b"DotNetRuntimeInfo") {
        Some(RuntimeKind::CoreClr)
    } else if has(b"DotNetRuntimeDebugHeader") {
        Some(RuntimeKind::NativeAot)
    } else {
        None
    }
}

/// Returns the string table of the dynamic symbols.
fn dynamic_strings<'d, R: ReadRef<'d>>(file: R) -> Option<&'d [u8]> {
    let header = elf::FileHeader64::<LittleEndian>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, file).ok()?;
    let symbols = sections.iter().find(|section| section.sh_type(endian) == elf::SHT_DYNSYM)?;
    let strings = sections.section(symbols.link(endian)).ok()?;
    if strings.sh_size(endian) > MAX_STRINGS {
        return None;
    }
    strings.data(endian, file).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_imports_in_a_real_program() {
        let program =
            std::fs::read(std::env::current_exe().expect("this program has a path")).expect("readable");
        let strings = dynamic_strings(program.as_slice()).expect("this test program is a dynamic ELF");
        assert!(strings.split(|byte| *byte == 0).any(|name| name == b"malloc"));
        assert_eq!(
            linked_runtime(&std::env::current_exe().expect("path")),
            None,
            "this is not a .NET program"
        );
    }

    #[test]
    fn rejects_broken_files() {
        let program = std::fs::read(std::env::current_exe().expect("path")).expect("readable");
        assert_eq!(dynamic_strings(&b"#!/bin/sh\n"[..]), None);
        for length in [0, 5, 63, 64, 200] {
            assert_eq!(dynamic_strings(&program[..length]), None, "{length} bytes");
        }
        let mut wild = program[..4096].to_vec();
        wild[0x28..0x30].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(dynamic_strings(wild.as_slice()), None);
    }
}
