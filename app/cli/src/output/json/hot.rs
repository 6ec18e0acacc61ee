//! The JSON of `hot`.

use super::fields::{lossy_float, token};
use redial_model::hot::{HotMethod, HotReport, MethodKey};
use serde::Serialize;

/// The result of `hot`.
#[derive(Debug, Serialize)]
pub struct HotJson<'a> {
    /// Process id.
    pub pid: u32,
    /// The number of methods that were counted.
    pub counted: u64,
    /// The number of those that were called.
    pub called: u64,
    /// The number of those that were timed.
    pub timed: u64,
    /// Methods that were called too often to time them within the budget, most called first.
    pub too_costly: Vec<TooCostlyJson<'a>>,
    /// The number of methods that were dialled before and stay as they were.
    pub left_alone: u64,
    /// How long calls were timed, milliseconds.
    pub measured_ms: u64,
    /// Self time of all timed methods, nanoseconds.
    pub self_ns: u64,
    /// The number of methods that stay at level time.
    pub kept: u64,
    /// The number of copies that are off again.
    pub turned_off: u64,
    /// The number of copies that could not be turned off.
    pub remaining: u64,
    /// The methods that stay at level time, by descending self time.
    pub methods: Vec<HotMethodJson<'a>>,
}

/// A method that is called too often to time it.
#[derive(Debug, Serialize)]
pub struct TooCostlyJson<'a> {
    method: &'a str,
    signature: &'a str,
    module: &'a str,
    token: String,
    #[serde(serialize_with = "lossy_float")]
    rate: Option<f64>,
}

/// A hot method. Its numbers cover the time in which calls were timed.
#[derive(Debug, Serialize)]
pub struct HotMethodJson<'a> {
    method: &'a str,
    signature: &'a str,
    module: &'a str,
    token: String,
    calls: u64,
    exceptions: u64,
    #[serde(serialize_with = "lossy_float")]
    rate: Option<f64>,
    total_ns: u64,
    self_ns: u64,
    #[serde(serialize_with = "lossy_float")]
    self_percent: Option<f64>,
}

impl<'a> HotJson<'a> {
    /// Makes the result for process `pid`.
    pub fn new(pid: u32, report: &'a HotReport) -> Self {
        let costly = |method: &'a MethodKey, rate: f64| TooCostlyJson {
            method: &method.method,
            signature: &method.signature,
            module: &method.module,
            token: token(method.token.0),
            rate: Some(rate),
        };
        HotJson {
            pid,
            counted: report.counted,
            called: report.called,
            timed: report.timed,
            too_costly: report.too_costly.iter().map(|one| costly(&one.method, one.rate)).collect(),
            left_alone: report.left_alone,
            measured_ms: report.measured_ms,
            self_ns: report.self_ns,
            kept: report.methods.len() as u64,
            turned_off: report.turned_off,
            remaining: report.remaining,
            methods: report.methods.iter().map(|one| hot(report, one)).collect(),
        }
    }
}

fn hot<'a>(report: &HotReport, one: &'a HotMethod) -> HotMethodJson<'a> {
    let (method, numbers) = (&one.method, one.numbers);
    HotMethodJson {
        method: &method.method,
        signature: &method.signature,
        module: &method.module,
        token: token(method.token.0),
        calls: numbers.calls,
        exceptions: numbers.exceptions,
        rate: Some(numbers.calls as f64 * 1000.0 / report.measured_ms.max(1) as f64),
        total_ns: numbers.total_ns,
        self_ns: numbers.self_ns,
        self_percent: Some(report.share(one)),
    }
}
