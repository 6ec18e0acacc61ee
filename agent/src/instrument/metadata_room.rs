//! Limits for additions to a module's metadata while others read it.
//!
//! The CLR begins with tables of two-byte columns where that suffices, and widens all of them at once when an
//! addition exceeds a limit. Readers that it does not lock out then read freed memory (dotnet/runtime 127957):
//! one in a hundred first dials under reflection ended the process. So a module at or near a limit is widened
//! while it loads, before anybody reads it. For every other module, no addition exceeds a limit.
#![forbid(unsafe_code)]

use crate::clr::metadata::Sizes;

/// Offsets and row numbers beyond which the CLR widens (`CMiniMdRW::ComputeGrowLimits`).
const LIMIT_OFFSET: u32 = 0x7FFF;
const LIMIT_ROW: u32 = 0x7FF;
/// Reserve for the call sites and the names they need.
const SLACK_BYTES: u32 = 512;
const SLACK_ROWS: u32 = 16;
/// Room that a module must have free, or it is widened: enough for the variables of all its methods, and more
/// (`testbed/tests/signature_room.rs` examines real modules).
const LEAST_BYTES: u32 = 2 << 10;
const BYTES_A_METHOD: u32 = 12;
const LEAST_ROWS: u32 = 256;
const ROWS_A_METHOD: u32 = 1;

/// Room for additions to a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeapRoom {
    /// Unlimited: its tables are wide.
    Wide,
    /// Room left in the blob heap and for signatures.
    Left {
        /// Free bytes.
        bytes: u32,
        /// Free rows.
        rows: u32,
    },
}

impl Default for HeapRoom {
    /// Returns no room, until it is known.
    fn default() -> HeapRoom {
        HeapRoom::Left { bytes: 0, rows: 0 }
    }
}

impl HeapRoom {
    /// Returns the room of a module without additions; None if it must be widened first.
    pub fn of(sizes: &Sizes) -> Option<HeapRoom> {
        // Only the names for the call sites are added to these two.
        let names = sizes.strings < LIMIT_OFFSET - SLACK_BYTES && sizes.type_refs < LIMIT_ROW - SLACK_ROWS;
        let bytes = LIMIT_OFFSET.saturating_sub(sizes.blobs).checked_sub(SLACK_BYTES)?;
        let rows = LIMIT_ROW.saturating_sub(sizes.stand_alone_sigs).checked_sub(SLACK_ROWS)?;
        let enough = bytes >= LEAST_BYTES.max(sizes.methods.saturating_mul(BYTES_A_METHOD))
            && rows >= LEAST_ROWS.max(sizes.methods.saturating_mul(ROWS_A_METHOD));
        (names && enough).then_some(HeapRoom::Left { bytes, rows })
    }

    /// Takes the room of a signature; returns whether there was enough.
    pub fn take(&mut self, blob: &[u8]) -> bool {
        let HeapRoom::Left { bytes, rows } = self else { return true };
        let length = u32::try_from(blob.len()).unwrap_or(u32::MAX);
        // Its length precedes it (ECMA-335 II.24.2.4).
        let needed = length.saturating_add(if length < 0x80 { 1 } else { 4 });
        if needed > *bytes || *rows == 0 {
            return false;
        }
        *bytes -= needed;
        *rows -= 1;
        true
    }
}

/// Returns the length of a blob that brings a heap of this size past the limit; 0 if it already is.
pub fn missing(blobs: u32) -> usize {
    (LIMIT_OFFSET + 1).saturating_sub(blobs) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: Sizes =
        Sizes { blobs: 9000, strings: 9000, stand_alone_sigs: 90, type_refs: 20, methods: 400 };

    #[test]
    fn modules_have_room_for_all_methods_or_are_widened() {
        assert!(HeapRoom::of(&SMALL).is_some());
        let most = (LIMIT_OFFSET - SLACK_BYTES - SMALL.blobs) / BYTES_A_METHOD;
        assert!(most < LIMIT_ROW - SLACK_ROWS - SMALL.stand_alone_sigs);
        assert!(HeapRoom::of(&Sizes { methods: most, ..SMALL }).is_some());
        for crowded in [
            Sizes { methods: most + 1, ..SMALL },
            Sizes { methods: u32::MAX, ..SMALL },
            Sizes { blobs: LIMIT_OFFSET, ..SMALL },
            Sizes { blobs: 1 << 20, methods: 0, ..SMALL },
            Sizes { stand_alone_sigs: LIMIT_ROW - SLACK_ROWS - SMALL.methods + 1, ..SMALL },
            Sizes { stand_alone_sigs: LIMIT_ROW, methods: 0, ..SMALL },
            Sizes { strings: LIMIT_OFFSET - SLACK_BYTES, ..SMALL },
            Sizes { type_refs: LIMIT_ROW - SLACK_ROWS, ..SMALL },
        ] {
            assert_eq!(HeapRoom::of(&crowded), None, "{crowded:?}");
        }
        let named = Sizes { strings: LIMIT_OFFSET - SLACK_BYTES - 1, ..SMALL };
        assert_eq!(HeapRoom::of(&named), HeapRoom::of(&SMALL), "names take no room of signatures");
    }

    #[test]
    fn room_ends_before_the_limit() {
        for length in [30, 200] {
            let before = Sizes { blobs: 26_000, ..SMALL };
            let mut room = HeapRoom::of(&before).expect("there is room");
            let blob = vec![7; length];
            let added = std::iter::repeat_with(|| room.take(&blob)).take_while(|taken| *taken).count() as u32;
            let most = (LIMIT_OFFSET - before.blobs) / length as u32;
            assert!(added > most * 4 / 5, "{added} of {most}");
            // Lengths below 128 take one byte, others two.
            let each = length as u32 + if length < 0x80 { 1 } else { 2 };
            assert!(before.blobs + added * each < LIMIT_OFFSET - SLACK_BYTES / 2);
            assert!(before.stand_alone_sigs + added < LIMIT_ROW);
            assert!(!room.take(&[0; 200]));
        }
        let mut rows = HeapRoom::Left { bytes: 1000, rows: 2 };
        assert_eq!([(); 3].map(|()| rows.take(&[1])), [true, true, false]);
        assert!(HeapRoom::Wide.take(&[0; 1 << 16]));
        assert!(!HeapRoom::default().take(&[]));
    }

    #[test]
    fn a_filler_reaches_the_limit() {
        assert_eq!((missing(LIMIT_OFFSET), missing(LIMIT_OFFSET + 1), missing(u32::MAX)), (1, 0, 0));
    }
}
