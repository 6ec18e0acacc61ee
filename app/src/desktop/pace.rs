//! How much of a frame is for messages: what putting in order and drawing take comes first, by what they took just before.

use std::time::Duration;

/// What a frame may take of the thread that draws, about: somewhat less than the 8 ms it is given.
const FRAME: Duration = Duration::from_millis(7);
/// What messages, and putting in order what they brought, may take of it together.
const BUDGET: Duration = Duration::from_millis(3);
/// The same where several processes are merged: what they told is taken over besides.
const MERGING: Duration = Duration::from_millis(2);
/// What is left for messages whatever else there is to do.
const LEAST: Duration = Duration::from_millis(1);

/// What a frame is known to have to do besides messages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Besides {
    /// Nothing out of the ordinary.
    Nothing,
    /// What several processes told before is taken over into one list.
    Merging,
    /// Something was typed or clicked, which is to be seen at once.
    Input,
    /// Rows are shown that were not, whose names are to be laid out: one message, and the next frame takes in the others.
    NewRows,
}

/// What this frame took so far, and the last two. (Of several processes every other frame takes over, and the one between puts
/// in order.)
#[derive(Debug, Default)]
pub(super) struct Pace {
    now: Spent,
    last: Spent,
    before: Spent,
}

#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    settling: Duration,
    drawing: Duration,
}

impl Pace {
    /// A frame begins.
    pub fn begin(&mut self) {
        (self.before, self.last) = (self.last, std::mem::take(&mut self.now));
    }

    /// How long a frame may take messages in.
    pub fn budget(&self, besides: Besides) -> Duration {
        let Pace { now, last, before } = self;
        let drawing = last.drawing.max(before.drawing);
        let left = |most: Duration, settling: Duration| {
            most.min(FRAME.saturating_sub(drawing)).saturating_sub(settling).max(LEAST)
        };
        match besides {
            Besides::Nothing => left(BUDGET, last.settling.max(before.settling)),
            // What was taken in before is put in order already.
            Besides::Merging => left(MERGING, now.settling),
            Besides::Input => LEAST,
            Besides::NewRows => Duration::ZERO,
        }
    }

    /// Putting in order took so long.
    pub fn settled(&mut self, took: Duration) {
        self.now.settling += took;
    }

    /// Drawing took so long.
    pub fn drawn(&mut self, took: Duration) {
        self.now.drawing += took;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_get_what_is_left_of_a_frame() {
        let ms = Duration::from_millis;
        let mut pace = Pace::default();
        let mut after = |settling, drawing| {
            pace.settled(ms(settling));
            pace.drawn(ms(drawing));
            pace.begin();
            (pace.budget(Besides::Nothing), pace.budget(Besides::Input))
        };
        assert_eq!(after(0, 0), (ms(3), ms(1)));
        assert_eq!(after(1, 2), (ms(2), ms(1)), "there is time to draw");
        assert_eq!(after(0, 5), (ms(1), ms(1)), "the frame before may be what comes next");
        assert_eq!(after(0, 0), (ms(2), ms(1)));
        assert_eq!(after(0, 0), (ms(3), ms(1)));
        assert_eq!(after(9, 9), (ms(1), ms(1)));
        assert_eq!(pace.budget(Besides::NewRows), Duration::ZERO);
        pace.begin();
        pace.begin();
        assert_eq!(pace.budget(Besides::Merging), ms(2));
        pace.settled(Duration::from_micros(500));
        assert_eq!(pace.budget(Besides::Merging), Duration::from_micros(1_500));
        pace.drawn(ms(6));
        pace.begin();
        assert_eq!(pace.budget(Besides::Merging), ms(1), "there is time to draw");
    }
}
