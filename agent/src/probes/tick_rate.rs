//! Nanoseconds per tick of the counter, from windows between two readings of both clocks. A window does not
//! count if the machine slept, the counter went back, or a reading was interrupted. A window that contradicts
//! the known rate is ignored, unless the next ones agree with it: then the counter has changed its speed (a
//! virtual machine that moved). Pure.
#![forbid(unsafe_code)]

/// Shortest window, nanoseconds.
const LEAST_NS: u64 = 2_000_000;
/// Deviation from which a window contradicts the known rate.
const WILD: f64 = 0.01;
/// Number of consecutive, consistent windows that replace a known rate they contradict.
const INSISTING: u32 = 3;
/// A pair of readings is torn if they are further apart than this fraction of a window.
const TORN: u64 = 500;
/// Minimum sleep within a window that counts as sleep, nanoseconds.
const SLEPT_NS: u64 = 1_000_000;
/// Windows are summed up to this many nanoseconds; after that, older ones lose weight.
const REMEMBERED_NS: u64 = 600_000_000_000;

/// Nanoseconds per tick of the fastest plausible counter, and of the slowest.
pub const FASTEST: f64 = 0.05;
const SLOWEST: f64 = 100.0;

/// Readings of both clocks at the same time.
#[derive(Clone, Copy, Debug)]
pub struct ClockPair {
    /// Reading of the counter.
    pub ticks: u64,
    /// Reading of the monotonic clock, nanoseconds.
    pub ns: u64,
    /// Nanoseconds that the machine had slept by then.
    pub slept_ns: u64,
    /// Ticks between the readings of the counter before and after that of the other clock.
    pub gap: u64,
}

/// Ticks and nanoseconds of the same period.
#[derive(Clone, Copy, Debug)]
struct Window {
    ticks: u64,
    ns: u64,
}

impl Window {
    const NOTHING: Window = Window { ticks: 0, ns: 0 };

    fn rate(self) -> Option<f64> {
        let rate = self.ns as f64 / self.ticks as f64;
        (self.ticks > 0 && (FASTEST..=SLOWEST).contains(&rate)).then_some(rate)
    }

    fn add(&mut self, other: Window) {
        if self.ns > REMEMBERED_NS {
            *self = Window { ticks: self.ticks / 2, ns: self.ns / 2 };
        }
        *self =
            Window { ticks: self.ticks.saturating_add(other.ticks), ns: self.ns.saturating_add(other.ns) };
    }

    fn agrees(self, other: Window) -> bool {
        let is_close = |one: f64, other: f64| (one - other).abs() <= WILD * other;
        self.rate().zip(other.rate()).is_some_and(|(one, other)| is_close(one, other))
    }
}

/// Knowledge of the counter's speed.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    last: Option<ClockPair>,
    known: Window,
    /// The contradicting windows, and their number in a row.
    doubt: Window,
    doubts: u32,
}

impl Rate {
    /// Before any reading.
    pub const UNKNOWN: Rate = Rate { last: None, known: Window::NOTHING, doubt: Window::NOTHING, doubts: 0 };

    /// Adds a reading.
    pub fn take(&mut self, now: ClockPair) {
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        let ticks = now.ticks.checked_sub(last.ticks).filter(|ticks| *ticks > 0);
        let ns = now.ns.saturating_sub(last.ns);
        let slept = now.slept_ns.abs_diff(last.slept_ns) > SLEPT_NS;
        if ticks.is_some() && !slept && ns < LEAST_NS {
            return;
        }
        let torn = |ticks: u64| now.gap.max(last.gap) > ticks / TORN;
        self.last = Some(now);
        if let Some(ticks) = ticks.filter(|ticks| !slept && !torn(*ticks)) {
            self.judge(Window { ticks, ns });
        }
    }

    fn judge(&mut self, window: Window) {
        if window.rate().is_none() {
            return;
        }
        if self.known.rate().is_none() {
            self.known = window;
            return;
        }
        if window.agrees(self.known) {
            self.known.add(window);
            self.doubts = 0;
            return;
        }
        if self.doubts > 0 && window.agrees(self.doubt) {
            self.doubt.add(window);
            self.doubts += 1;
        } else {
            (self.doubt, self.doubts) = (window, 1);
        }
        if self.doubts >= INSISTING {
            (self.known, self.doubts) = (self.doubt, 0);
        }
    }

    /// Returns nanoseconds per tick; None before the first valid window.
    pub fn ns_per_tick(&self) -> Option<f64> {
        self.known.rate()
    }

    /// Returns nanoseconds per tick, or a guess.
    pub fn likely(&self) -> f64 {
        self.ns_per_tick().or_else(|| self.doubt.rate()).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A machine with a counter of this many ticks per nanosecond.
    struct Machine {
        now: ClockPair,
        speed: f64,
        rate: Rate,
    }

    impl Machine {
        fn new(speed: f64) -> Machine {
            let now = ClockPair { ticks: 1 << 40, ns: 5, slept_ns: 77, gap: 60 };
            let mut rate = Rate::UNKNOWN;
            rate.take(now);
            Machine { now, speed, rate }
        }

        fn passes(&mut self, ms: u64) {
            self.now.ns += ms * 1_000_000;
            self.now.ticks += (ms as f64 * 1e6 * self.speed) as u64;
        }

        fn read(&mut self) -> Option<f64> {
            self.rate.take(self.now);
            self.rate.ns_per_tick()
        }

        #[track_caller]
        fn expect_speed(&mut self, speed: f64) {
            let rate_now = self.read().expect("it is known");
            assert!((rate_now * speed - 1.0).abs() < 1e-5, "{rate_now} with {speed} ticks a nanosecond");
        }
    }

    #[test]
    fn short_windows_are_extended() {
        let mut machine = Machine::new(3.0);
        machine.passes(1);
        assert_eq!(machine.read(), None);
        machine.passes(1);
        machine.expect_speed(3.0);
    }

    #[test]
    fn sleep_does_not_change_the_rate() {
        for counter in [0_u64, 30_000_000_000_000] {
            for known in [false, true] {
                let mut machine = Machine::new(2.5);
                machine.passes(100);
                if known {
                    machine.expect_speed(2.5);
                }
                machine.now.slept_ns += 10_000_000_000_000;
                machine.now.ticks += counter;
                assert_eq!(machine.read().is_some(), known);
                machine.passes(50);
                machine.expect_speed(2.5);
            }
        }
    }

    #[test]
    fn counter_resets_do_not_change_the_rate() {
        let mut machine = Machine::new(4.0);
        machine.passes(100);
        machine.expect_speed(4.0);
        machine.now.ticks = 12;
        machine.expect_speed(4.0);
        machine.passes(100);
        machine.expect_speed(4.0);
        // Forward by an absurd amount.
        machine.now.ticks += 1 << 55;
        machine.passes(10);
        machine.expect_speed(4.0);
        machine.passes(10);
        machine.expect_speed(4.0);
    }

    #[test]
    fn accepts_a_new_speed_after_consistent_windows() {
        let mut machine = Machine::new(3.0);
        machine.passes(500);
        machine.expect_speed(3.0);
        machine.speed = 2.0;
        for _ in 1..INSISTING {
            machine.passes(100);
            machine.expect_speed(3.0);
        }
        machine.passes(100);
        machine.expect_speed(2.0);
    }

    #[test]
    fn ignores_torn_readings() {
        let mut machine = Machine::new(3.0);
        machine.passes(10);
        machine.now.gap = 300_000;
        assert_eq!(machine.read(), None);
        machine.now.gap = 60;
        machine.passes(10);
        assert_eq!(machine.read(), None, "the window begins with the torn one");
        machine.passes(10);
        machine.expect_speed(3.0);
    }

    proptest! {
        #[test]
        fn rate_stays_plausible(readings in proptest::collection::vec(any::<(u64, u64, u64, u64)>(), 0..60)) {
            let mut rate = Rate::UNKNOWN;
            for (ticks, ns, slept_ns, gap) in readings {
                rate.take(ClockPair { ticks, ns, slept_ns: slept_ns % 3, gap: gap % 1000 });
                let rate_now = rate.ns_per_tick();
                prop_assert!(rate_now.is_none_or(|rate_now| (FASTEST..=SLOWEST).contains(&rate_now)), "{rate_now:?}");
                prop_assert!((FASTEST..=SLOWEST).contains(&rate.likely()));
            }
        }
    }
}
