//! The histogram of a method with several copies that are shown as one row: that of each copy is requested, then they are
//! added up.

use super::merged::merged;
use crate::ids::MethodIx;
use redial_protocol::histogram::RowHistogram;
use std::time::Duration;

/// Time between two looks at the copies.
const PAUSE: Duration = Duration::from_millis(250);

/// The histogram of the method in view, of all its copies together.
#[derive(Debug, Default)]
pub struct MergedHistogram {
    known: Option<(MethodIx, Box<RowHistogram>)>,
    looked: Option<(MethodIx, Duration)>,
}

impl MergedHistogram {
    /// Returns whether to look at the copies again, and notes that this happens now.
    pub fn is_due(&mut self, method: MethodIx, now: Duration) -> bool {
        let is_due = self.looked.is_none_or(|(of, at)| of != method || now >= at + PAUSE);
        if is_due {
            self.looked = Some((method, now));
        }
        is_due
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
        assert!(kept.is_due(MethodIx(3), second) && !kept.is_due(MethodIx(3), second));
        assert!(kept.is_due(MethodIx(4), second) && kept.is_due(MethodIx(4), second + PAUSE));
        kept.set(MethodIx(4), [&histogram(0, &[(64, 10)])]);
        assert!(kept.of(MethodIx(4)).is_some() && kept.of(MethodIx(3)).is_none());
        kept.clear();
        assert!(kept.of(MethodIx(4)).is_none());
    }
}
