//! Detects precompiled code (ReadyToRun) in a module's file: the managed native header of its CLI header (ECMA-335
//! II.25.3.3) is not empty then.
#![forbid(unsafe_code)]

use object::LittleEndian as LE;
use object::pe::{IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR, ImageCor20Header};
use object::pod::from_bytes;
use object::read::ReadCache;
use object::read::pe::{ImageNtHeaders, PeFile};
use std::fs::File;
use std::path::Path;

/// Whether the file is an assembly with precompiled code; None if it cannot be read as one.
pub fn is_precompiled(path: &Path) -> Option<bool> {
    // Reads only the parts that are used.
    let file = ReadCache::new(File::open(path).ok()?);
    native_header_size::<object::pe::ImageNtHeaders64>(&file)
        .or_else(|| native_header_size::<object::pe::ImageNtHeaders32>(&file))
        .map(|size| size > 0)
}

fn native_header_size<Pe: ImageNtHeaders>(file: &ReadCache<File>) -> Option<u32> {
    let image = PeFile::<Pe, _>::parse(file).ok()?;
    let directory = image.data_directory(IMAGE_DIRECTORY_ENTRY_COM_DESCRIPTOR)?;
    let header = directory.data(file, &image.section_table()).ok()?;
    let (header, _) = from_bytes::<ImageCor20Header>(header).ok()?;
    Some(header.managed_native_header.size.get(LE))
}
