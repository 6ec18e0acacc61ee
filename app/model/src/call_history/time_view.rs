//! The part of time that a timeline shows. Times are integers relative to its beginning, so a nanosecond stays a nanosecond.

/// The shortest view, nanoseconds.
const SHORTEST: f64 = 10.0;
/// The longest view, nanoseconds: a year.
const LONGEST: f64 = 366.0 * 86_400.0 * 1e9;

/// A range of time on a screen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeView {
    /// Its beginning, Unix time in nanoseconds.
    start: i64,
    /// A part of a nanosecond after `start`, at least 0 and below 1.
    fraction: f64,
    /// Its length in nanoseconds.
    length: f64,
}

impl TimeView {
    /// Returns a view of a range, within the shortest and longest one possible.
    pub fn new(start: i64, end: i64) -> TimeView {
        let length = end.saturating_sub(start) as f64;
        TimeView { start, fraction: 0.0, length: length.clamp(SHORTEST, LONGEST) }
    }

    /// Returns a view of a range with some space around it.
    pub fn around(start: i64, end: i64) -> TimeView {
        let margin = (end.saturating_sub(start) / 20).max(5);
        TimeView::new(start.saturating_sub(margin), end.saturating_add(margin))
    }

    /// Returns its first nanosecond, Unix time.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// Returns its end, rounded up.
    pub fn end(&self) -> i64 {
        self.start.saturating_add((self.fraction + self.length).ceil() as i64)
    }

    /// Returns its length in nanoseconds.
    pub fn length(&self) -> f64 {
        self.length
    }

    /// Returns the share of the view before a time: 0 at its beginning, 1 at its end.
    pub fn share(&self, time: i64) -> f64 {
        (time.saturating_sub(self.start) as f64 - self.fraction) / self.length
    }

    /// Returns the time at a share of the view.
    pub fn time(&self, share: f64) -> i64 {
        self.start.saturating_add((self.fraction + share * self.length).floor() as i64)
    }

    /// Makes the view `factor` times as long; the time at `share` stays where it is.
    pub fn zoom(&mut self, factor: f64, share: f64) {
        if !factor.is_finite() || factor <= 0.0 {
            return;
        }
        let length = (self.length * factor).clamp(SHORTEST, LONGEST);
        let shift = share * (self.length - length);
        self.length = length;
        self.shift(shift);
    }

    /// Moves the view by a share of its length.
    pub fn pan(&mut self, share: f64) {
        self.shift(share * self.length);
    }

    /// Moves the view so that it ends at a time.
    pub fn end_at(&mut self, end: i64) {
        (self.start, self.fraction) = (end, 0.0);
        self.shift(-self.length);
    }

    fn shift(&mut self, ns: f64) {
        if !ns.is_finite() {
            return;
        }
        let exact = self.fraction + ns;
        let whole = exact.floor();
        self.start = self.start.saturating_add(whole as i64);
        self.fraction = exact - whole;
    }
}

/// Returns the distance of ruler marks in nanoseconds, so that about `marks` fit into a view: 1, 2 or 5 times a power of
/// ten; minutes and hours beyond.
pub fn ruler_step(length: f64, marks: f64) -> i64 {
    let least = length / marks.max(1.0);
    let minutes =
        [60.0, 120.0, 300.0, 600.0, 1_200.0, 1_800.0, 3_600.0, 7_200.0, 21_600.0, 43_200.0, 86_400.0];
    let decades = (0..11).flat_map(|power| [1.0, 2.0, 5.0].map(|digit: f64| digit * 10_f64.powi(power)));
    let steps = decades.filter(|step| *step <= 30e9).chain(minutes.map(|seconds| seconds * 1e9));
    let days = (1..=200).map(|days| f64::from(days) * 86_400e9);
    steps.chain(days).find(|step| *step >= least).unwrap_or(200.0 * 86_400e9) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000_000_000;
    const NOW: i64 = 1_795_153_561_123_456_789;

    #[test]
    fn zooming_keeps_the_time_under_the_pointer() {
        let mut view = TimeView::new(NOW, NOW + 10 * HOUR);
        let share = 0.618_033_988;
        let under = view.time(share);
        let mut steps = 0;
        while view.length() > SHORTEST {
            view.zoom(0.8, share);
            steps += 1;
        }
        assert!((view.time(share) - under).abs() <= 1, "{} after {steps} steps", view.time(share) - under);
        assert_eq!(view.share(under + 5) - view.share(under), 0.5, "five of ten nanoseconds");
        while view.length() < 10.0 * HOUR as f64 {
            view.zoom(1.25, share);
        }
        assert!((view.time(share) - under).abs() <= 1_000, "{}", view.time(share) - under);
    }

    #[test]
    fn panning_by_parts_of_a_nanosecond_adds_up() {
        let mut view = TimeView::new(NOW, NOW + 10);
        (0..1_000).for_each(|_| view.pan(0.001));
        assert_eq!((view.share(NOW + 10) * 1e6).round(), 0.0);
        (0..1_000).for_each(|_| view.pan(-0.001));
        assert!((view.share(NOW)).abs() < 1e-9);
    }

    #[test]
    fn extremes_stay_finite() {
        for (start, end) in [(0, i64::MAX), (i64::MIN, i64::MAX), (5, 5), (i64::MAX, i64::MAX), (7, -7)] {
            let mut view = TimeView::new(start, end);
            for factor in [0.0, f64::NAN, 1e300, 1e-300, 0.5] {
                view.zoom(factor, 0.5);
                view.pan(1.0);
                assert!((SHORTEST..=LONGEST).contains(&view.length()), "{view:?}");
                assert!(view.share(NOW).is_finite());
            }
        }
    }

    #[test]
    fn a_followed_view_ends_now() {
        let mut view = TimeView::new(NOW, NOW + HOUR);
        view.end_at(NOW + 3 * HOUR);
        assert_eq!((view.start(), view.end()), (NOW + 2 * HOUR, NOW + 3 * HOUR));
    }

    #[test]
    fn ruler_marks_are_round() {
        assert_eq!(ruler_step(10.0, 10.0), 1);
        assert_eq!(ruler_step(1_234_567.0, 10.0), 200_000);
        assert_eq!(ruler_step(10.0 * HOUR as f64, 10.0), HOUR);
        assert!(ruler_step(LONGEST, 5.0) >= 73 * 24 * HOUR);
    }
}
