//! The share of a frame for messages. Sorting and drawing come first, estimated from the last frames.

use std::time::Duration;

/// Time of the drawing thread that a frame may take, somewhat less than the 8 ms it has.
const FRAME: Duration = Duration::from_millis(7);
/// Share of it for messages and for sorting in their contents.
const BUDGET: Duration = Duration::from_millis(3);
/// The same while several processes are merged, because their updates are also merged.
const MERGING: Duration = Duration::from_millis(2);
/// Time left for messages in any case.
const LEAST: Duration = Duration::from_millis(1);

/// Known work of a frame besides messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum OtherWork {
    /// Nothing unusual.
    Nothing,
    /// Earlier updates of several processes are merged into one list.
    Merging,
    /// The user typed or clicked, and must see the effect at once.
    Input,
    /// New rows need a layout of their names: take one message, and the rest in the next frame.
    NewRows,
}

/// Time spent in this frame and in the last two. (With several processes, frames alternate between merging
/// and sorting.)
#[derive(Debug, Default)]
pub(super) struct FrameBudget {
    now: FrameTime,
    last: FrameTime,
    before: FrameTime,
}

#[derive(Clone, Copy, Debug, Default)]
struct FrameTime {
    settling: Duration,
    drawing: Duration,
    /// No message was taken.
    took_none: bool,
}

impl FrameBudget {
    /// Begins a frame.
    pub fn begin(&mut self) {
        (self.before, self.last) = (self.last, std::mem::take(&mut self.now));
    }

    /// Returns how long a frame may take messages; `None` if merging has used up the time for both. The next
    /// frame then takes some.
    pub fn budget(&mut self, besides: OtherWork) -> Option<Duration> {
        let FrameBudget { now, last, before } = self;
        now.took_none = matches!(besides, OtherWork::Merging) && now.settling >= MERGING && !last.took_none;
        if now.took_none {
            return None;
        }
        let drawing = last.drawing.max(before.drawing);
        let left = |most: Duration, settling: Duration| {
            most.min(FRAME.saturating_sub(drawing)).saturating_sub(settling).max(LEAST)
        };
        Some(match besides {
            OtherWork::Nothing => left(BUDGET, last.settling.max(before.settling)),
            // Earlier updates are sorted in already.
            OtherWork::Merging => left(MERGING, now.settling),
            OtherWork::Input => LEAST,
            OtherWork::NewRows => Duration::ZERO,
        })
    }

    /// Records time spent sorting.
    pub fn settled(&mut self, took: Duration) {
        self.now.settling += took;
    }

    /// Records time spent drawing.
    pub fn drawn(&mut self, took: Duration) {
        self.now.drawing += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn messages_get_the_rest_of_a_frame() {
        let mut pace = FrameBudget::default();
        let mut after = |settling, drawing| {
            pace.settled(ms(settling));
            pace.drawn(ms(drawing));
            pace.begin();
            [OtherWork::Nothing, OtherWork::Input].map(|besides| pace.budget(besides).expect("some"))
        };
        assert_eq!(after(0, 0), [ms(3), ms(1)]);
        assert_eq!(after(1, 2), [ms(2), ms(1)], "drawing keeps its time");
        assert_eq!(after(0, 5), [ms(1), ms(1)], "the frame before the last may repeat");
        assert_eq!(after(0, 0), [ms(2), ms(1)]);
        assert_eq!(after(0, 0), [ms(3), ms(1)]);
        assert_eq!(after(9, 9), [ms(1), ms(1)]);
        assert_eq!(pace.budget(OtherWork::NewRows), Some(Duration::ZERO));
        pace.begin();
        pace.begin();
        assert_eq!(pace.budget(OtherWork::Merging), Some(ms(2)));
        pace.settled(Duration::from_micros(500));
        assert_eq!(pace.budget(OtherWork::Merging), Some(Duration::from_micros(1_500)));
        pace.drawn(ms(6));
        pace.begin();
        assert_eq!(pace.budget(OtherWork::Merging), Some(ms(1)), "drawing keeps its time");
    }

    #[test]
    fn long_merges_take_messages_every_other_frame() {
        let mut pace = FrameBudget::default();
        let mut after = |settling, besides| {
            pace.begin();
            pace.settled(ms(settling));
            pace.budget(besides)
        };
        assert_eq!(after(1, OtherWork::Merging), Some(ms(1)));
        assert_eq!(after(2, OtherWork::Merging), None);
        assert_eq!(after(9, OtherWork::Merging), Some(ms(1)), "however long it takes");
        assert_eq!(after(9, OtherWork::Merging), None);
        assert_eq!(after(9, OtherWork::Input), Some(ms(1)));
        assert_eq!(after(9, OtherWork::NewRows), Some(Duration::ZERO));
    }
}
