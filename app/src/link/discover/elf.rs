//! Recognizes single-file .NET programs by their exported symbols: `DotNetRuntimeInfo` (CoreCLR linked in) or
//! `DotNetRuntimeDebugHeader` (compiled ahead of time). Reads only the dynamic string table of 64-bit
//! little-endian ELF files.
#![forbid(unsafe_code)]

use super::runtime::RuntimeKind;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Real programs have far smaller string tables; larger ones are not read.
const MAX_STRINGS: u64 = 8 << 20;
const SHT_DYNSYM: u32 = 11;

/// Returns the runtime linked into a program file, if any.
pub fn linked_runtime(path: &Path) -> Option<RuntimeKind> {
    let file = File::open(path).ok()?;
    let strings = dynamic_strings(|offset, buffer| file.read_exact_at(buffer, offset).ok())?;
    let has = |name: &[u8]| strings.split(|byte| *byte == 0).any(|string| string == name);
    if has(b"DotNetRuntimeInfo") {
        Some(RuntimeKind::CoreClr)
    } else if has(b"DotNetRuntimeDebugHeader") {
        Some(RuntimeKind::NativeAot)
    } else {
        None
    }
}

/// Returns the processor that a program file or library is built for, if it differs from ours.
pub fn foreign_processor(path: &Path) -> Option<String> {
    let mut head = [0u8; 20];
    File::open(path).ok()?.read_exact_at(&mut head, 0).ok()?;
    processor(&head).filter(|name| name != std::env::consts::ARCH)
}

/// Returns the processor named in an ELF header (e_ident, e_machine at 0x12; numbers of the System V ABI's
/// registry).
fn processor(head: &[u8]) -> Option<String> {
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    let name = match u16_at(head, 0x12)? {
        3 => "x86",
        40 => "arm",
        62 => "x86_64",
        183 => "aarch64",
        243 => "riscv64",
        258 => "loongarch64",
        other => return Some(format!("processor {other}")),
    };
    Some(name.to_owned())
}

/// Returns the string table of `.dynsym` (System V ABI, "Section Header": e_shoff at 0x28, e_shentsize at
/// 0x3a, e_shnum at 0x3c; in a section header sh_type at 4, sh_offset at 0x18, sh_size at 0x20, sh_link at
/// 0x28).
fn dynamic_strings(read: impl Fn(u64, &mut [u8]) -> Option<()>) -> Option<Vec<u8>> {
    let mut header = [0u8; 64];
    read(0, &mut header)?;
    if !header.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    let table = u64_at(&header, 0x28)?;
    let (size, count) = (u64::from(u16_at(&header, 0x3a)?), u64::from(u16_at(&header, 0x3c)?));
    if size < 64 {
        return None;
    }
    let section = |index: u64| -> Option<[u8; 64]> {
        let mut section = [0u8; 64];
        read(table.checked_add(size.checked_mul(index)?)?, &mut section)?;
        Some(section)
    };
    let symbols = (0..count).filter_map(section).find(|section| u32_at(section, 4) == Some(SHT_DYNSYM))?;
    let names = section(u64::from(u32_at(&symbols, 0x28)?))?;
    let (offset, length) = (u64_at(&names, 0x18)?, u64_at(&names, 0x20)?);
    if length > MAX_STRINGS {
        return None;
    }
    let mut strings = vec![0u8; usize::try_from(length).ok()?];
    read(offset, &mut strings)?;
    Some(strings)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings_of(bytes: &[u8]) -> Option<Vec<u8>> {
        dynamic_strings(|offset, buffer| {
            let start = usize::try_from(offset).ok()?;
            buffer.copy_from_slice(bytes.get(start..start.checked_add(buffer.len())?)?);
            Some(())
        })
    }

    #[test]
    fn finds_imports_in_a_real_program() {
        let program =
            std::fs::read(std::env::current_exe().expect("this program has a path")).expect("readable");
        let strings = strings_of(&program).expect("this test program is a dynamic ELF");
        assert!(strings.split(|byte| *byte == 0).any(|name| name == b"malloc"));
        assert_eq!(linked_runtime(&std::env::current_exe().expect("path")), None, "this is not a .NET program");
    }

    #[test]
    fn reads_the_processor_from_the_header() {
        assert_eq!(foreign_processor(&std::env::current_exe().expect("path")), None);
        let head = |machine: u8| [&b"\x7fELF\x01\x01"[..], &[0; 12], &[machine, 0]].concat();
        assert_eq!(processor(&head(3)).as_deref(), Some("x86"));
        assert_eq!(processor(&head(21)).as_deref(), Some("processor 21"));
        assert_eq!((processor(b"#!/bin/sh"), processor(&head(3)[..19])), (None, None));
    }

    #[test]
    fn rejects_broken_files() {
        let program = std::fs::read(std::env::current_exe().expect("path")).expect("readable");
        assert_eq!(strings_of(b"#!/bin/sh\n"), None);
        for length in [0, 5, 63, 64, 200] {
            assert_eq!(strings_of(&program[..length]), None, "{length} bytes");
        }
        let mut wild = program[..4096].to_vec();
        wild[0x28..0x30].copy_from_slice(&u64::MAX.to_le_bytes());
        assert_eq!(strings_of(&wild), None);
    }
}
