//! The histogram of a method shown as one row for several copies: the sum of the copies' histograms.

use super::merged::merged;
use crate::ids::MethodIx;
use redial_protocol::histogram::RowHistogram;
use std::time::Duration;

/// Shortest time between two updates.
const PAUSE: Duration = Duration::from_millis(250);

/// The summed histogram of the selected method's copies.
#[derive(Debug, Default)]
pub struct MergedHistogram {
    known: Option<(MethodIx, Box<RowHistogram>)>,
    looked: Option<(MethodIx, Duration)>,
    /// Whether copies have been asked and not all have answered.
    awaited: bool,
}

impl MergedHistogram {
    /// Returns zero if an update is due, which then counts as done, or the time until one is.
    pub fn due_in(&mut self, method: MethodIx, now: Duration) -> Duration {
        let next = self.looked.filter(|(of, _)| *of == method).map_or(now, |(_, at)| at + PAUSE);
        if next <= now {
            self.looked = Some((method, now));
        }
        next.saturating_sub(now)
    }

    /// Notes whether answers of copies are pending.
    pub fn set_awaited(&mut self, awaited: bool) {
        self.awaited = awaited;
    }

    /// Returns whether answers of copies are pending.
    pub fn is_awaited(&self) -> bool {
        self.awaited
    }

    /// Adds up the histograms of all copies that were timed.
    pub fn set<'a>(&mut self, method: MethodIx, all: impl IntoIterator<Item = &'a RowHistogram>) {
        self.known = merged(all).map(|sum| (method, Box::new(sum)));
    }

    /// Forgets it, because one of them is not known yet.
    pub fn clear(&mut self) {
        self.known = None;
    }

    /// Returns the histogram of a method.
    pub fn of(&self, method: MethodIx) -> Option<&RowHistogram> {
        self.known.as_ref().filter(|(of, _)| *of == method).map(|(_, histogram)| &**histogram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::histogram;

    #[test]
    fn histogram_is_of_one_method_and_not_looked_for_in_every_frame() {
        let (mut kept, second) = (MergedHistogram::default(), Duration::from_secs(1));
        assert_eq!(kept.due_in(MethodIx(3), second), Duration::ZERO);
        assert_eq!(kept.due_in(MethodIx(3), second), PAUSE);
        assert_eq!(kept.due_in(MethodIx(4), second), Duration::ZERO);
        assert_eq!(kept.due_in(MethodIx(4), second + PAUSE), Duration::ZERO);
        kept.set(MethodIx(4), [&histogram(0, &[(64, 10)])]);
        assert!(kept.of(MethodIx(4)).is_some() && kept.of(MethodIx(3)).is_none());
        kept.clear();
        assert!(kept.of(MethodIx(4)).is_none());
    }
}
