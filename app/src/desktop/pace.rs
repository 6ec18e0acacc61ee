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
    /// No message was taken in.
    took_none: bool,
}

impl Pace {
    /// A frame begins.
    pub fn begin(&mut self) {
        (self.before, self.last) = (self.last, std::mem::take(&mut self.now));
    }

    /// How long a frame may take messages in; None: it takes none, for what it took over has taken what there was for both. The
    /// next one does.
    pub fn budget(&mut self, besides: Besides) -> Option<Duration> {
        let Pace { now, last, before } = self;
        now.took_none = matches!(besides, Besides::Merging) && now.settling >= MERGING && !last.took_none;
        if now.took_none {
            return None;
        }
        let drawing = last.drawing.max(before.drawing);
        let left = |most: Duration, settling: Duration| {
            most.min(FRAME.saturating_sub(drawing)).saturating_sub(settling).max(LEAST)
        };
        Some(match besides {
            Besides::Nothing => left(BUDGET, last.settling.max(before.settling)),
            // What was taken in before is put in order already.
            Besides::Merging => left(MERGING, now.settling),
            Besides::Input => LEAST,
            Besides::NewRows => Duration::ZERO,
        })
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

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn messages_get_what_is_left_of_a_frame() {
        let mut pace = Pace::default();
        let mut after = |settling, drawing| {
            pace.settled(ms(settling));
            pace.drawn(ms(drawing));
            pace.begin();
            [Besides::Nothing, Besides::Input].map(|besides| pace.budget(besides).expect("some"))
        };
        assert_eq!(after(0, 0), [ms(3), ms(1)]);
        assert_eq!(after(1, 2), [ms(2), ms(1)], "there is time to draw");
        assert_eq!(after(0, 5), [ms(1), ms(1)], "the frame before may be what comes next");
        assert_eq!(after(0, 0), [ms(2), ms(1)]);
        assert_eq!(after(0, 0), [ms(3), ms(1)]);
        assert_eq!(after(9, 9), [ms(1), ms(1)]);
        assert_eq!(pace.budget(Besides::NewRows), Some(Duration::ZERO));
        pace.begin();
        pace.begin();
        assert_eq!(pace.budget(Besides::Merging), Some(ms(2)));
        pace.settled(Duration::from_micros(500));
        assert_eq!(pace.budget(Besides::Merging), Some(Duration::from_micros(1_500)));
        pace.drawn(ms(6));
        pace.begin();
        assert_eq!(pace.budget(Besides::Merging), Some(ms(1)), "there is time to draw");
    }

    #[test]
    fn no_message_comes_where_taking_over_took_long_but_every_other_frame() {
        let mut pace = Pace::default();
        let mut after = |settling, besides| {
            pace.begin();
            pace.settled(ms(settling));
            pace.budget(besides)
        };
        assert_eq!(after(1, Besides::Merging), Some(ms(1)));
        assert_eq!(after(2, Besides::Merging), None);
        assert_eq!(after(9, Besides::Merging), Some(ms(1)), "however long it always takes");
        assert_eq!(after(9, Besides::Merging), None);
        assert_eq!(after(9, Besides::Input), Some(ms(1)));
        assert_eq!(after(9, Besides::NewRows), Some(Duration::ZERO));
    }
}
