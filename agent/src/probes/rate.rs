//! What a tick of the counter is in nanoseconds, by windows between two readings of both clocks. A window in which the
//! machine slept, the counter went back or a reading was torn apart says nothing; one that contradicts what is known is
//! left out, unless the next ones agree with it: then the counter runs at another speed (a virtual machine that moved).
//! Pure.
#![forbid(unsafe_code)]

/// Shortest window, nanoseconds.
const LEAST_NS: u64 = 2_000_000;
/// A window this far from what is known contradicts it.
const WILD: f64 = 0.01;
/// Windows in a row that contradict what is known, and not one another, are believed instead.
const INSISTING: u32 = 3;
/// Readings of a clock further apart than this part of a window are no reading at one time.
const TORN: u64 = 500;
/// A machine that slept longer than this within a window did sleep.
const SLEPT_NS: u64 = 1_000_000;
/// Windows are added up to so many nanoseconds; from then on older ones count less and less.
const REMEMBERED_NS: u64 = 600_000_000_000;

/// Nanoseconds of a tick of the fastest counter that is thought possible, and of the slowest.
pub const FASTEST: f64 = 0.05;
const SLOWEST: f64 = 100.0;

/// Readings of both clocks at one time.
#[derive(Clone, Copy, Debug)]
pub struct Both {
    /// The counter.
    pub ticks: u64,
    /// Nanoseconds of the monotonic clock.
    pub ns: u64,
    /// Nanoseconds that the machine had slept by then.
    pub slept_ns: u64,
    /// Ticks between the readings of the counter before and after that of the other clock.
    pub apart: u64,
}

/// Ticks and nanoseconds that passed together.
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
        let near = |one: f64, other: f64| (one - other).abs() <= WILD * other;
        self.rate().zip(other.rate()).is_some_and(|(one, other)| near(one, other))
    }
}

/// What is known of the counter's speed.
#[derive(Clone, Copy, Debug)]
pub struct Rate {
    last: Option<Both>,
    known: Window,
    /// What contradicts it, and how often in a row.
    doubt: Window,
    doubts: u32,
}

impl Rate {
    /// Before anything was read.
    pub const UNKNOWN: Rate = Rate { last: None, known: Window::NOTHING, doubt: Window::NOTHING, doubts: 0 };

    /// Takes one more reading in.
    pub fn take(&mut self, now: Both) {
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
        let torn = |ticks: u64| now.apart.max(last.apart) > ticks / TORN;
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

    /// Nanoseconds a tick is; None while no window told.
    pub fn ns_per_tick(&self) -> Option<f64> {
        self.known.rate()
    }

    /// The same, or a guess.
    pub fn likely(&self) -> f64 {
        self.ns_per_tick().or_else(|| self.doubt.rate()).unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A machine with a counter of so many ticks a nanosecond.
    struct Machine {
        now: Both,
        speed: f64,
        rate: Rate,
    }

    impl Machine {
        fn new(speed: f64) -> Machine {
            let now = Both { ticks: 1 << 40, ns: 5, slept_ns: 77, apart: 60 };
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
        fn tells(&mut self, speed: f64) {
            let told = self.read().expect("it is known");
            assert!((told * speed - 1.0).abs() < 1e-5, "{told} with {speed} ticks a nanosecond");
        }
    }

    #[test]
    fn a_window_that_is_too_short_waits_for_more() {
        let mut machine = Machine::new(3.0);
        machine.passes(1);
        assert_eq!(machine.read(), None);
        machine.passes(1);
        machine.tells(3.0);
    }

    #[test]
    fn sleep_changes_nothing_whatever_the_counter_did_meanwhile() {
        for counter in [0_u64, 30_000_000_000_000] {
            for known in [false, true] {
                let mut machine = Machine::new(2.5);
                machine.passes(100);
                if known {
                    machine.tells(2.5);
                }
                machine.now.slept_ns += 10_000_000_000_000;
                machine.now.ticks += counter;
                assert_eq!(machine.read().is_some(), known);
                machine.passes(50);
                machine.tells(2.5);
            }
        }
    }

    #[test]
    fn a_counter_that_begins_anew_changes_nothing() {
        let mut machine = Machine::new(4.0);
        machine.passes(100);
        machine.tells(4.0);
        machine.now.ticks = 12;
        machine.tells(4.0);
        machine.passes(100);
        machine.tells(4.0);
        // Forward, beyond reason.
        machine.now.ticks += 1 << 55;
        machine.passes(10);
        machine.tells(4.0);
        machine.passes(10);
        machine.tells(4.0);
    }

    #[test]
    fn another_speed_is_believed_once_it_insists() {
        let mut machine = Machine::new(3.0);
        machine.passes(500);
        machine.tells(3.0);
        machine.speed = 2.0;
        for _ in 1..INSISTING {
            machine.passes(100);
            machine.tells(3.0);
        }
        machine.passes(100);
        machine.tells(2.0);
    }

    #[test]
    fn readings_that_were_torn_apart_are_none() {
        let mut machine = Machine::new(3.0);
        machine.passes(10);
        machine.now.apart = 300_000;
        assert_eq!(machine.read(), None);
        machine.now.apart = 60;
        machine.passes(10);
        assert_eq!(machine.read(), None, "the window begins with the torn one");
        machine.passes(10);
        machine.tells(3.0);
    }

    proptest! {
        #[test]
        fn no_readings_make_it_absurd(readings in proptest::collection::vec(any::<(u64, u64, u64, u64)>(), 0..60)) {
            let mut rate = Rate::UNKNOWN;
            for (ticks, ns, slept_ns, apart) in readings {
                rate.take(Both { ticks, ns, slept_ns: slept_ns % 3, apart: apart % 1000 });
                let told = rate.ns_per_tick();
                prop_assert!(told.is_none_or(|told| (FASTEST..=SLOWEST).contains(&told)), "{told:?}");
                prop_assert!((FASTEST..=SLOWEST).contains(&rate.likely()));
            }
        }
    }
}
