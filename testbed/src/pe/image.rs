//! Bounds-checked reads of numbers and strings from an image.

use anyhow::{Context, Result};

/// Returns `N` bytes at an offset of the file.
pub fn bytes_at<const N: usize>(image: &[u8], at: usize) -> Result<[u8; N]> {
    let bytes = image.get(at..at + N).context("the file ends early")?;
    Ok(bytes.try_into()?)
}

/// Returns a little-endian number at an offset.
pub fn u16_at(image: &[u8], at: usize) -> Result<u16> {
    bytes_at(image, at).map(u16::from_le_bytes)
}

/// Returns a little-endian number at an offset.
pub fn u32_at(image: &[u8], at: usize) -> Result<u32> {
    bytes_at(image, at).map(u32::from_le_bytes)
}

/// Returns the zero-terminated string at an offset.
pub fn zero_ended(image: &[u8], at: usize) -> Result<&str> {
    let rest = image.get(at..).context("a string lies outside the file")?;
    let length = rest.iter().position(|byte| *byte == 0).context("a string has no end")?;
    Ok(std::str::from_utf8(&rest[..length])?)
}
