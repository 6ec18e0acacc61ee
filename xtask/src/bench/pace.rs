//! The machine's speed during the measurements. Neighbours of a virtual machine affect it, and no load average shows
//! that, so the same two pieces of work run again and again.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Dependent multiplications.
const CHAIN: u32 = 10_000_000;
/// Bytes of the random walk: more than a core's caches hold.
const FIELD: usize = 64 << 20;
/// Steps of the walk.
const STEPS: usize = 1_000_000;

/// Durations of both pieces of work so far.
pub struct Pace {
    field: Vec<u64>,
    chains: Vec<Duration>,
    walks: Vec<Duration>,
}

impl Pace {
    /// Starts with a first measurement.
    pub fn start() -> Pace {
        // Written once, so that the memory is committed.
        let field = (0..FIELD as u64 / 8).collect();
        let mut pace = Pace { field, chains: Vec::new(), walks: Vec::new() };
        pace.look();
        pace
    }

    /// Does both pieces of work once, and returns their speed as a share of the best so far.
    pub fn look(&mut self) -> (f64, f64) {
        let begun = Instant::now();
        let mut number = black_box(1u64);
        for _ in 0..CHAIN {
            number = number.wrapping_mul(0x5851_F42D_4C95_7F2D) | 1;
        }
        black_box(number);
        self.chains.push(begun.elapsed());
        let begun = Instant::now();
        let mask = self.field.len() as u64 - 1;
        let mut place = 0u64;
        for _ in 0..STEPS {
            // The next index depends on the value read here.
            place = place.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            place ^= self.field.get(((place >> 20) & mask) as usize).copied().unwrap_or_default();
        }
        black_box(place);
        self.walks.push(begun.elapsed());
        (share(&self.chains), share(&self.walks))
    }

    /// Describes how much faster the machine was at its best than at its slowest.
    pub fn sentence(&self) -> String {
        let span = |times: &[Duration]| {
            let millis = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1e3);
            format!("{:.0} to {:.0} ms", millis(times.iter().min()), millis(times.iter().max()))
        };
        format!(
            "the same work, done {} times meanwhile: {CHAIN} multiplications in a row took {}, {STEPS} steps through {} MiB \
             {}; what was measured as the machine was slow is slower by as much",
            self.chains.len(),
            span(&self.chains),
            FIELD >> 20,
            span(&self.walks)
        )
    }
}

/// Returns the best of the times divided by the last.
fn share(times: &[Duration]) -> f64 {
    match (times.iter().min(), times.last()) {
        (Some(best), Some(last)) => best.as_secs_f64() / last.as_secs_f64().max(f64::MIN_POSITIVE),
        _ => 1.0,
    }
}
