//! A cursor over bytes that may end anywhere.

use redial_protocol::diagnostics::{BodyPart, IlViolation};

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

    pub(super) fn take(&mut self, count: usize, part: BodyPart) -> Result<&'a [u8], IlViolation> {
        let end = self.at.checked_add(count).ok_or(IlViolation::Truncated { part })?;
        let taken = self.all.get(self.at..end).ok_or(IlViolation::Truncated { part })?;
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, part: BodyPart) -> Result<[u8; N], IlViolation> {
        self.take(N, part)?.try_into().map_err(|_| IlViolation::Truncated { part })
    }

    pub(super) fn u8(&mut self, part: BodyPart) -> Result<u8, IlViolation> {
        self.array::<1>(part).map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self, part: BodyPart) -> Result<u16, IlViolation> {
        self.array(part).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self, part: BodyPart) -> Result<u32, IlViolation> {
        self.array(part).map(u32::from_le_bytes)
    }

    pub(super) fn i32(&mut self, part: BodyPart) -> Result<i32, IlViolation> {
        self.array(part).map(i32::from_le_bytes)
    }

    pub(super) fn u64(&mut self, part: BodyPart) -> Result<u64, IlViolation> {
        self.array(part).map(u64::from_le_bytes)
    }

    /// Skips to the next multiple of four from the first byte, which may be past the end.
    pub(super) fn align4(&mut self) {
        self.at = self.at.saturating_add(3) & !3;
    }
}
