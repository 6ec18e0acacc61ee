//! How much may be added to a module's metadata while others read it.
//!
//! The CLR begins with tables whose columns have two bytes where that is enough, and widens all of them at once when
//! something added passes a limit. Readers that it does not lock out then read from freed memory (dotnet/runtime
//! 127957): one in a hundred first dials under reflection ended the process. So a module that is at a limit, or near,
//! is widened as it loads, before anybody reads it; of any other no addition passes a limit.
#![forbid(unsafe_code)]

use crate::clr::metadata::Sizes;

/// Offsets and row numbers past which the CLR widens (`CMiniMdRW::ComputeGrowLimits`).
const LIMIT_OFFSET: u32 = 0x7FFF;
const LIMIT_ROW: u32 = 0x7FF;
/// Left free for the call sites and the names they need.
const SLACK_BYTES: u32 = 512;
const SLACK_ROWS: u32 = 16;
/// What a module must have free, or it is widened.
const LEAST_BYTES: u32 = 4 << 10;
const LEAST_ROWS: u32 = 256;
/// What an addition costs beside its blob: its length, in at most four bytes.
const LENGTH_BYTES: u32 = 4;

/// What may still be added to a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    /// Anything: its tables are wide.
    Wide,
    /// So much of the blob heap, and so many signatures.
    Left {
        /// Bytes.
        bytes: u32,
        /// Rows.
        rows: u32,
    },
}

impl Default for Room {
    /// Nothing, until it is known.
    fn default() -> Room {
        Room::Left { bytes: 0, rows: 0 }
    }
}

impl Room {
    /// The room of a module nothing was added to; None when it must be widened first.
    pub fn of(sizes: &Sizes) -> Option<Room> {
        let bytes = LIMIT_OFFSET.saturating_sub(sizes.blobs.max(sizes.strings));
        let rows = LIMIT_ROW.saturating_sub(sizes.stand_alone_sigs.max(sizes.type_refs));
        let enough = bytes >= LEAST_BYTES && rows >= LEAST_ROWS;
        enough.then(|| Room::Left { bytes: bytes - SLACK_BYTES, rows: rows - SLACK_ROWS })
    }

    /// Takes the room of a signature; whether there was enough.
    pub fn take(&mut self, blob: &[u8]) -> bool {
        let Room::Left { bytes, rows } = self else { return true };
        let needed = u32::try_from(blob.len()).map_or(u32::MAX, |length| length.saturating_add(LENGTH_BYTES));
        if needed > *bytes || *rows == 0 {
            return false;
        }
        *bytes -= needed;
        *rows -= 1;
        true
    }
}

/// The length in bytes of a blob that brings a heap of this size past the limit; 0 when it is.
pub fn missing(blobs: u32) -> usize {
    (LIMIT_OFFSET + 1).saturating_sub(blobs) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(blobs: u32, rows: u32) -> Sizes {
        Sizes { blobs, strings: 1000, stand_alone_sigs: rows, type_refs: 20 }
    }

    #[test]
    fn what_is_near_a_limit_has_no_room() {
        assert!(Room::of(&sizes(LIMIT_OFFSET - LEAST_BYTES, 0)).is_some());
        for crowded in [sizes(LIMIT_OFFSET - LEAST_BYTES + 1, 0), sizes(1 << 20, 0), sizes(0, LIMIT_ROW)] {
            assert_eq!(Room::of(&crowded), None, "{crowded:?}");
        }
        assert_eq!(Room::of(&Sizes { strings: LIMIT_OFFSET, ..sizes(0, 0) }), None);
        assert_eq!(Room::of(&Sizes { type_refs: LIMIT_ROW - 1, ..sizes(0, 0) }), None);
    }

    #[test]
    fn room_ends_before_the_limit() {
        let before = sizes(20_000, 1_700);
        let mut room = Room::of(&before).expect("there is room");
        let blob = [7; 30];
        let added = std::iter::repeat_with(|| room.take(&blob)).take_while(|taken| *taken).count() as u32;
        assert!(added > 200, "{added}");
        assert!(
            before.blobs + added * (30 + 4) < LIMIT_OFFSET && before.stand_alone_sigs + added < LIMIT_ROW
        );
        assert!(!room.take(&[0; 8]));
        assert!(Room::Wide.take(&[0; 1 << 16]));
        assert!(!Room::default().take(&[]));
    }

    #[test]
    fn a_filler_reaches_the_limit() {
        assert_eq!((missing(LIMIT_OFFSET), missing(LIMIT_OFFSET + 1), missing(u32::MAX)), (1, 0, 0));
    }
}
