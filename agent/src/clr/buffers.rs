//! Converts the CLR's buffers and blobs (an address and a length) to owned values.

/// Decodes a UTF-16 string written by the CLR, up to the first NUL within the length it reported.
pub(super) fn text(buffer: &[u16], written: u32) -> String {
    let written = (written as usize).min(buffer.len());
    let slice = buffer.get(..written).unwrap_or(buffer);
    let end = slice.iter().position(|&unit| unit == 0).unwrap_or(slice.len());
    let slice = slice.get(..end).unwrap_or(slice);
    if slice.iter().any(|&unit| unit >= 0x80) {
        return String::from_utf16_lossy(slice);
    }
    // Nearly every name is ASCII, which needs no decoding.
    let ascii = slice.iter().map(|&unit| unit as u8).collect();
    String::from_utf8(ascii).unwrap_or_default()
}

/// Returns a NUL-terminated UTF-16 copy, for names passed to the CLR.
pub(super) fn wide(name: &str) -> Vec<u16> {
    name.encode_utf16().chain(std::iter::once(0)).collect()
}

/// Copies a blob of a module's metadata; empty if there is none.
///
/// # Safety
/// The CLR returned the address and the size, and the module cannot unload now.
pub(super) unsafe fn blob(start: *const u8, size: u32) -> Vec<u8> {
    if start.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller guarantees it.
    unsafe { std::slice::from_raw_parts(start, size as usize) }.to_vec()
}
