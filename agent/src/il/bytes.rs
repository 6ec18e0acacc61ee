//! A cursor over bytes that may end anywhere.

use super::IlError;

/// Reads little-endian numbers and never passes the end.
pub(super) struct Bytes<'a> {
    all: &'a [u8],
    at: usize,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(all: &'a [u8]) -> Self {
        Bytes { all, at: 0 }
    }

    /// Returns the number of bytes read so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns whether every byte has been read.
    pub(super) fn is_empty(&self) -> bool {
        self.at >= self.all.len()
    }

    /// Returns the number of unread bytes.
    pub(super) fn remaining(&self) -> usize {
        self.all.len().saturating_sub(self.at)
    }

    pub(super) fn take(&mut self, count: usize, part: &'static str) -> Result<&'a [u8], IlError> {
        let end = self.at.checked_add(count).ok_or(IlError::Truncated { part })?;
        let taken = self.all.get(self.at..end).ok_or(IlError::Truncated { part })?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], IlError> {
        self.take(N, part)?.try_into().map_err(|_| IlError::Truncated { part })
    }

    pub(super) fn u8(&mut self, part: &'static str) -> Result<u8, IlError> {
        self.array::<1>(part).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, part: &'static str) -> Result<u16, IlError> {
        self.array(part).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, part: &'static str) -> Result<u32, IlError> {
        self.array(part).map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self, part: &'static str) -> Result<i32, IlError> {
        self.array(part).map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, part: &'static str) -> Result<u64, IlError> {
        self.array(part).map(u64::from_le_bytes)
    }

    /// Skips to the next multiple of four from the first byte, which may be past the end.
    pub(super) fn align4(&mut self) {
        self.at = self.at.saturating_add(3) & !3;
    }
}
