//! How fast the machine is while the rows are measured: of a virtual machine the neighbours decide that too, and no
//! load average tells. The same two pieces of work, again and again.

use std::hint::black_box;
use std::time::{Duration, Instant};

/// Multiplications, each of the result of the one before.
const CHAIN: u32 = 10_000_000;
/// Bytes walked through in no order: more than caches of a core hold.
const FIELD: usize = 64 << 20;
/// Steps of the walk.
const STEPS: usize = 1_000_000;

/// What the pieces of work took so far.
pub struct Pace {
    field: Vec<u64>,
    chains: Vec<Duration>,
    walks: Vec<Duration>,
}

impl Pace {
    /// Begins with a first look.
    pub fn start() -> Pace {
        // Written once, so that the system has given the memory.
        let field = (0..FIELD as u64 / 8).collect();
        let mut pace = Pace { field, chains: Vec::new(), walks: Vec::new() };
        pace.look();
        pace
    }

    /// Does both pieces of work once; answers which share of the best so far they ran at.
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
            // The next place depends on what stands here.
            place = place.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
            place ^= self.field.get(((place >> 20) & mask) as usize).copied().unwrap_or_default();
        }
        black_box(place);
        self.walks.push(begun.elapsed());
        (share(&self.chains), share(&self.walks))
    }

    /// A sentence: how much faster the machine was at its best than at its slowest.
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

/// The best of the times over the last.
fn share(times: &[Duration]) -> f64 {
    match (times.iter().min(), times.last()) {
        (Some(best), Some(last)) => best.as_secs_f64() / last.as_secs_f64().max(f64::MIN_POSITIVE),
        _ => 1.0,
    }
}
