//! The result of a search for hot methods.

use super::ranking::{HotMethod, MethodKey};
use redial_text::words;

/// A method that is called too often to time it within the budget.
#[derive(Clone, Debug, PartialEq)]
pub struct TooCostly {
    /// The method.
    pub method: MethodKey,
    /// Calls per second.
    pub rate: f64,
}

/// The result of a search for hot methods.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HotReport {
    /// Methods that were counted.
    pub counted: u64,
    /// Methods that the agent refused to count.
    pub refused: u64,
    /// Methods that were called meanwhile.
    pub called: u64,
    /// Methods that were timed.
    pub timed: u64,
    /// Methods that were called too often to time them within the budget, most called first.
    pub too_costly: Vec<TooCostly>,
    /// Methods that were dialled before and stay as they were.
    pub left_alone: u64,
    /// How long calls were timed, milliseconds.
    pub measured_ms: u64,
    /// Self time of all timed methods together, nanoseconds.
    pub self_ns: u64,
    /// The methods with the most self time, which stay at level time; most first.
    pub methods: Vec<HotMethod>,
    /// Timed and called methods beyond those.
    pub more: u64,
    /// Copies that are off again.
    pub turned_off: u64,
    /// Copies that could not be turned off.
    pub remaining: u64,
    /// The number of the change that keeps the methods, for undo; 0: there is none.
    pub change: u64,
}

impl HotReport {
    /// Returns a method's percentage of all self time.
    pub fn share(&self, method: &HotMethod) -> f64 {
        match self.self_ns {
            0 => 0.0,
            all => method.numbers.self_ns as f64 / all as f64 * 100.0,
        }
    }

    /// Returns the sentences about what the search did, for the log and below the table.
    pub fn sentences(&self) -> Vec<String> {
        let time = match self.measured_ms {
            0 => String::new(),
            ms => format!(" for {}", words::short_time(ms.saturating_mul(1_000))),
        };
        let mut lines = vec![format!(
            "{} counted, {} called, {} timed{time}",
            words::methods(self.counted),
            words::grouped(self.called),
            words::grouped(self.timed),
        )];
        if let Some(first) = self.too_costly.first() {
            let many = self.too_costly.len() as u64;
            lines.push(format!(
                "{} called too often to time within the budget, {} first ({}/s): {} in the self time of the callers",
                if many == 1 { "1 method is".to_owned() } else { format!("{} are", words::methods(many)) },
                first.method.name(),
                words::rate(first.rate),
                if many == 1 { "its time is" } else { "their time is" },
            ));
        }
        if self.left_alone > 0 {
            let many = self.left_alone;
            let (are, they) =
                if many == 1 { ("was", "it stays as it is") } else { ("were", "they stay as they are") };
            lines.push(format!("{} {are} dialled before; {they}", words::methods(many)));
        }
        if self.remaining > 0 {
            lines.push(format!("{} could not be turned off", words::methods(self.remaining)));
        }
        lines
    }
}
