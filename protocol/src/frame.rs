//! Frames: a little-endian `u32` length, then that many bytes of body (1 to [`MAX_FRAME`]).
//!
//! This module cuts a byte stream into bodies, however the bytes arrive. It must not know what a body means. It
//! holds only memory for bytes that have arrived, never for a claimed length.

use crate::limits::MAX_FRAME;

/// Bytes of the length prefix.
const PREFIX: usize = 4;

/// Consumed bytes at the front of the buffer before the rest is moved down.
const COMPACT_AT: usize = 64 << 10;

/// Reason why a frame cannot be read or written. After a bad length the stream has no next frame: close the
/// session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length of zero.
    #[error("a frame of length 0 was announced; a frame holds at least 1 byte")]
    Empty,
    /// A length over the limit.
    #[error("a frame of {length} bytes was announced; the limit is {MAX_FRAME} bytes")]
    TooLong {
        /// Announced bytes, or bytes in the body to be framed.
        length: u64,
    },
}

/// Cuts a byte stream into frame bodies.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    consumed: usize,
    broken: Option<FrameError>,
}

impl FrameReader {
    /// Returns a reader that has seen no bytes.
    pub fn new() -> FrameReader {
        FrameReader::default()
    }

    /// Adds bytes that arrived. Discards them after a bad length.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.broken.is_some() {
            return;
        }
        if self.consumed == self.buffer.len() {
            self.buffer.clear();
            self.consumed = 0;
        } else if self.consumed >= COMPACT_AT {
            self.buffer.drain(..self.consumed);
            self.consumed = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next whole body, or None if it needs more bytes. After every `push`, take bodies until None,
    /// so that the reader holds at most one unfinished frame.
    ///
    /// # Errors
    /// A length of 0 or over [`MAX_FRAME`], as soon as its four bytes have arrived. All later calls return the
    /// same error, because the start of the next frame is unknown.
    #[allow(clippy::should_implement_trait)] // an iterator that returns Some after None would surprise
    pub fn next(&mut self) -> Result<Option<Vec<u8>>, FrameError> {
        if let Some(error) = &self.broken {
            return Err(error.clone());
        }
        let waiting = self.buffer.get(self.consumed..).unwrap_or_default();
        let Some((prefix, rest)) = waiting.split_first_chunk::<PREFIX>() else { return Ok(None) };
        let length = u32::from_le_bytes(*prefix) as usize;
        if let Err(error) = check_length(length) {
            self.broken = Some(error.clone());
            self.buffer = Vec::new();
            self.consumed = 0;
            return Err(error);
        }
        let Some(body) = rest.get(..length) else { return Ok(None) };
        if length < COMPACT_AT {
            let body = body.to_vec();
            self.consumed += PREFIX + length;
            return Ok(Some(body));
        }
        // A large body takes the buffer along, instead of a second one.
        let next = self.buffer.split_off(self.consumed + PREFIX + length);
        let mut body = std::mem::replace(&mut self.buffer, next);
        body.drain(..self.consumed + PREFIX);
        self.consumed = 0;
        Ok(Some(body))
    }

    /// Returns the length of the unfinished frame, once its four bytes have arrived.
    pub fn announced(&self) -> Option<usize> {
        let prefix = self.buffer.get(self.consumed..)?.first_chunk::<PREFIX>()?;
        Some(u32::from_le_bytes(*prefix) as usize)
    }

    /// Returns whether a frame has begun and not ended. The stream must not end here, and a deadline applies
    /// ([`crate::limits::FRAME_DEADLINE_MS`]).
    pub fn mid_frame(&self) -> bool {
        self.consumed < self.buffer.len()
    }
}

/// Returns the frame for a body.
///
/// # Errors
/// If the body is empty or longer than [`MAX_FRAME`].
pub fn frame(body: &[u8]) -> Result<Vec<u8>, FrameError> {
    check_length(body.len())?;
    let mut framed = Vec::with_capacity(PREFIX + body.len());
    // The check keeps the length far below u32::MAX.
    framed.extend_from_slice(&(body.len() as u32).to_le_bytes());
    framed.extend_from_slice(body);
    Ok(framed)
}

/// Returns a buffer with room for the length, to which a body is appended; see [`finish`].
pub(crate) fn begin() -> Vec<u8> {
    vec![0; PREFIX]
}

/// Fills in the length of a frame started with [`begin`]. Avoids the copy that [`frame`] makes.
pub(crate) fn finish(mut framed: Vec<u8>) -> Result<Vec<u8>, FrameError> {
    let length = framed.len().saturating_sub(PREFIX);
    check_length(length)?;
    if let Some(prefix) = framed.first_chunk_mut::<PREFIX>() {
        *prefix = (length as u32).to_le_bytes();
    }
    Ok(framed)
}

fn check_length(length: usize) -> Result<(), FrameError> {
    match length {
        0 => Err(FrameError::Empty),
        1..=MAX_FRAME => Ok(()),
        _ => Err(FrameError::TooLong { length: length as u64 }),
    }
}
