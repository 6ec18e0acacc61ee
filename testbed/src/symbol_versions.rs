//! The versions of glibc's symbols that a program or library needs.

use std::path::Path;

use anyhow::{Context, Result};
use object::LittleEndian;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, Sym};

/// A symbol that the dynamic linker looks up in glibc.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NeededSymbol {
    /// The version of glibc that it is bound to.
    pub version: (u32, u32),
    /// Its name.
    pub name: String,
    /// Whether the file also loads where it is missing.
    pub weak: bool,
}

/// Returns the symbols that a 64-bit ELF file takes from glibc.
///
/// # Errors
/// When the file cannot be read or is no such file.
pub fn needed(path: &Path) -> Result<Vec<NeededSymbol>> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    symbols(&bytes).with_context(|| format!("{} is no 64-bit ELF file", path.display()))
}

/// Returns the needed symbols, as `NAME@VERSION`, that a glibc of version `oldest` does not have.
///
/// # Errors
/// Fails like [`needed`].
pub fn newer_than(path: &Path, oldest: (u32, u32)) -> Result<Vec<String>> {
    let newer = needed(path)?.into_iter().filter(|symbol| symbol.version > oldest);
    Ok(newer.map(|symbol| format!("{}@{}.{}", symbol.name, symbol.version.0, symbol.version.1)).collect())
}

fn symbols(bytes: &[u8]) -> Result<Vec<NeededSymbol>> {
    let header = FileHeader64::<LittleEndian>::parse(bytes)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, bytes)?;
    let dynamic = sections.symbols(endian, bytes, object::elf::SHT_DYNSYM)?;
    let Some(versions) = sections.versions(endian, bytes)? else { return Ok(Vec::new()) };
    let mut needed = Vec::new();
    for (index, symbol) in dynamic.enumerate() {
        if symbol.st_shndx(endian) != object::elf::SHN_UNDEF {
            continue;
        }
        let version = versions.version(versions.version_index(endian, index).index())?;
        let word = version.map(|version| String::from_utf8_lossy(version.name()).into_owned());
        if let Some(version) = word.as_deref().and_then(glibc) {
            let name = String::from_utf8_lossy(symbol.name(endian, dynamic.strings())?).into_owned();
            needed.push(NeededSymbol { version, name, weak: symbol.st_bind() == object::elf::STB_WEAK });
        }
    }
    needed.sort();
    Ok(needed)
}

/// Parses `GLIBC_2.28`, and `GLIBC_2.2.5` as 2.2.
fn glibc(word: &str) -> Option<(u32, u32)> {
    let mut numbers = word.strip_prefix("GLIBC_")?.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_versions_of_this_program() {
        let own = std::env::current_exe().expect("a path");
        let needed = needed(&own).expect("an ELF file");
        assert!(needed.iter().any(|symbol| symbol.name == "malloc"), "{needed:?}");
        assert_eq!(newer_than(&own, (99, 0)).expect("an ELF file"), Vec::<String>::new());
        assert_eq!(newer_than(&own, (0, 0)).expect("an ELF file").len(), needed.len());
    }

    #[test]
    fn parses_versions() {
        assert_eq!(glibc("GLIBC_2.2.5"), Some((2, 2)));
        assert_eq!(glibc("GLIBC_2.28"), Some((2, 28)));
        assert_eq!((glibc("GLIBC_PRIVATE"), glibc("GCC_3.0"), glibc("")), (None, None, None));
    }
}
