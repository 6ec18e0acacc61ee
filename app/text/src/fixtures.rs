//! Reports and times for tests.

use redial_protocol::diagnostics::ChangeWarning;
use redial_protocol::ids::RowId;
use redial_protocol::reason::Reason;
use redial_protocol::report::{DialReport, PlanReport, RefusedMethod, SharedModule};
use redial_protocol::times::{Percentiles, Times};
use redial_protocol::trace::{Outcome, TracedCall, TracedMethod, TracedParameter, Value};

/// Returns a report with these refusals.
pub fn report(matched: u64, accepted: u64, refused: &[(Reason, u64)]) -> DialReport {
    let method = |(reason, index): (Reason, u64)| RefusedMethod {
        method: format!("Shop!Shop.Cart.M{index}()"),
        reason,
        hresult: if reason == Reason::Hresult { 0x8013_1371 } else { 0 },
        condition: None,
    };
    DialReport {
        matched,
        accepted,
        refused_by_reason: refused.to_vec(),
        refused: refused.iter().flat_map(|(reason, n)| (0..*n).map(|i| (*reason, i))).map(method).collect(),
        ..DialReport::default()
    }
}

/// Returns a module that four AppDomains share.
pub fn shared(accepted: bool) -> SharedModule {
    SharedModule {
        module: "Shop.Common".into(),
        methods: 2,
        domains: vec!["A".into(), "B\u{1b}".into()],
        more_domains: 2,
        accepted,
    }
}

/// Returns a plan with values in every field.
pub fn plan() -> PlanReport {
    let from = report(9, 0, &[(Reason::Shared, 1)]);
    PlanReport {
        per_order: vec![9, 0],
        matched: 9,
        to_request: 4,
        to_revert: 1,
        to_adjust: 1,
        unchanged: 1,
        bodyless: 1,
        refused_by_reason: from.refused_by_reason,
        refused: from.refused,
        shared: vec![shared(false)],
        generic: 2,
        expected_us: 1_250,
        expected_clr_bytes: 6_000,
        expected_agent_bytes: 512,
        warnings: vec![ChangeWarning::PausesProgram],
        unmatched: vec![1],
    }
}

/// Times of a row.
pub fn times(index: u32) -> Times {
    Times {
        row: RowId(index),
        in_flight: 3,
        exits: 1_000,
        exceptions: 20,
        total_ns: 1_100_000_000_000,
        self_ns: 550_000_000_000,
        max_ns: 17_180_000_000,
        percentiles: Some(Percentiles { p50_ns: 1_200, p90_ns: 250_000, p99_ns: 8_590_000_000 }),
        completions: None,
        move_next: None,
    }
}

/// Returns a traced method with two parameters and a result.
pub fn traced_method() -> TracedMethod {
    let parameter =
        |name: &str, type_name: &str| TracedParameter { name: name.into(), type_name: type_name.into() };
    TracedMethod {
        plan: 1,
        row: RowId(7),
        method: "Shop.Pricing.Discount".into(),
        signature: "(int, double)".into(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        parameters: vec![parameter("order", "int"), parameter("rate", "double")],
        result: Some("decimal".into()),
    }
}

/// Returns a call of that method that returned after 1.2 ms.
pub fn traced_call() -> TracedCall {
    TracedCall {
        plan: 1,
        number: 9,
        start_unix_ns: 1_795_153_561_123_456_789,
        duration_ns: Some(1_200_000),
        thread: 4711,
        depth: 1,
        arguments: vec![Value::Int(7), Value::Double(0.5f64.to_bits())],
        arguments_after: vec![],
        outcome: Outcome::Returned(Some(Value::Text { type_name: "decimal".into(), text: "3.50".into() })),
        stack: vec![],
        course: None,
    }
}
