//! Reads little-endian numbers and compressed integers.

use thiserror::Error;

/// Why bytes cannot be read.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FormatError {
    /// The file ends within something.
    #[error("it ends too early")]
    Short,
    /// The file is of another kind.
    #[error("it is not {0}")]
    NotA(&'static str),
    /// A number in it cannot be right.
    #[error("its {0} is wrong")]
    Wrong(&'static str),
}

/// A position in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Reader<'b> {
    /// Begins at an offset.
    pub fn at(bytes: &'b [u8], at: usize) -> Reader<'b> {
        Reader { bytes, at }
    }

    /// Returns the next bytes.
    pub fn take(&mut self, count: usize) -> Result<&'b [u8], FormatError> {
        let end = self.at.checked_add(count).ok_or(FormatError::Short)?;
        let taken = self.bytes.get(self.at..end).ok_or(FormatError::Short)?;
        self.at = end;
        Ok(taken)
    }

    /// Returns a byte.
    pub fn u8(&mut self) -> Result<u8, FormatError> {
        self.take(1)?.first().copied().ok_or(FormatError::Short)
    }

    /// Returns a number of two bytes.
    pub fn u16(&mut self) -> Result<u16, FormatError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Returns a number of four bytes.
    pub fn u32(&mut self) -> Result<u32, FormatError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Returns a number of four bytes as an offset.
    pub fn offset(&mut self) -> Result<usize, FormatError> {
        usize::try_from(self.u32()?).map_err(|_| FormatError::Short)
    }

    /// Returns an array of bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        self.take(N)?.try_into().map_err(|_| FormatError::Short)
    }

    /// Returns an index of two or four bytes.
    pub fn index(&mut self, is_wide: bool) -> Result<u32, FormatError> {
        if is_wide { self.u32() } else { self.u16().map(u32::from) }
    }

    /// Returns a compressed unsigned number (ECMA-335 II.23.2).
    pub fn compressed(&mut self) -> Result<u32, FormatError> {
        Ok(self.compressed_with_bits()?.0)
    }

    fn compressed_with_bits(&mut self) -> Result<(u32, u32), FormatError> {
        let first = u32::from(self.u8()?);
        let mut next = || self.u8().map(u32::from);
        match first {
            0..0x80 => Ok((first, 7)),
            0x80..0xc0 => Ok(((first & 0x3f) << 8 | next()?, 14)),
            0xc0..0xe0 => Ok(((first & 0x1f) << 24 | next()? << 16 | next()? << 8 | next()?, 29)),
            _ => Err(FormatError::Wrong("compressed number")),
        }
    }

    /// Returns a compressed signed number: its sign is the lowest bit, which was rotated there.
    pub fn compressed_signed(&mut self) -> Result<i32, FormatError> {
        let (number, bits) = self.compressed_with_bits()?;
        let value = (number >> 1) as i32;
        Ok(if number & 1 == 0 { value } else { value - (1 << (bits - 1)) })
    }

    /// Returns whether everything was read.
    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_numbers_are_as_in_the_standard() {
        let unsigned = |bytes: &[u8]| Reader::at(bytes, 0).compressed();
        assert_eq!(unsigned(&[0x03]), Ok(3));
        assert_eq!(unsigned(&[0x80, 0x80]), Ok(0x80));
        assert_eq!(unsigned(&[0xbf, 0xff]), Ok(0x3fff));
        assert_eq!(unsigned(&[0xc0, 0x00, 0x40, 0x00]), Ok(0x4000));
        assert_eq!(unsigned(&[0xff]), Err(FormatError::Wrong("compressed number")));
        assert_eq!(unsigned(&[0xc0, 0x00]), Err(FormatError::Short));
        let signed = |bytes: &[u8]| Reader::at(bytes, 0).compressed_signed();
        for (bytes, value) in [
            (&[0x06][..], 3),
            (&[0x7b], -3),
            (&[0x80, 0x80], 64),
            (&[0x01], -64),
            (&[0xc0, 0x00, 0x40, 0x00], 8192),
            (&[0x80, 0x01], -8192),
            (&[0xdf, 0xff, 0xff, 0xfe], 268_435_455),
            (&[0xc0, 0x00, 0x00, 0x01], -268_435_456),
        ] {
            assert_eq!(signed(bytes), Ok(value), "{bytes:x?}");
        }
    }
}
