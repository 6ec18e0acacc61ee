//! Samples of traced calls, with every kind of value.

use redial_protocol::callers::CallOrigin;
use redial_protocol::exceptions::{ThrowingMethod, ThrownCount, ThrownException, ThrownRow, ThrownTotals};
use redial_protocol::ids::RowId;
use redial_protocol::message::Event;
use redial_protocol::trace::{
    AsyncCall, DroppedCalls, InnerException, OmittedReason, Outcome, TracedCall, TracedMethod,
    TracedParameter, Value,
};

variants!(OUTCOMES, outcome_name, Outcome { InFlight, Returned, Thrown });
variants!(
    VALUES,
    value_name,
    Value {
        Null,
        Bool,
        Char,
        Int,
        UInt,
        Float,
        Double,
        Pointer,
        String,
        Enum,
        Text,
        Object,
        Collection,
        Dictionary,
        Omitted,
    }
);

pub fn traced_method() -> TracedMethod {
    let parameter =
        |name: &str, type_name: &str| TracedParameter { name: name.into(), type_name: type_name.into() };
    TracedMethod {
        plan: 0x0102,
        row: RowId(7),
        method: "Shop.Pricing.Discount".into(),
        signature: "(Order, ref decimal)".into(),
        module: "Shop".into(),
        domain: "clrhost".into(),
        parameters: vec![parameter("order", "Shop.Order"), parameter("rate", "ref decimal")],
        result: Some("decimal".into()),
    }
}

/// Every kind of value.
pub fn values() -> Vec<Value> {
    let order = Value::Object {
        type_name: "Shop.Order".into(),
        fields: vec![
            ("Id".into(), Value::Int(-7)),
            ("Größe".into(), Value::Null),
            (String::new(), Value::Omitted(OmittedReason::Fields)),
        ],
    };
    let mut values = vec![
        Value::Null,
        Value::Bool(true),
        Value::Char(0xd83d),
        Value::Int(i64::MIN),
        Value::UInt(u64::MAX),
        Value::Float(0.5f32.to_bits()),
        Value::Double(f64::NAN.to_bits()),
        Value::Pointer(0x7f31_c0a8_4000),
        Value::String { units: vec![0x41, 0xd800, 0x1b, 0x202e], length: 300 },
        Value::Enum { type_name: "System.DayOfWeek".into(), name: Some("Friday".into()), value: 5 },
        Value::Enum { type_name: "Shop.Flags".into(), name: None, value: -1 },
        Value::Text { type_name: "decimal".into(), text: "12.50".into() },
        order.clone(),
        Value::Collection {
            type_name: "System.Collections.Generic.List<Shop.Order>".into(),
            length: 1 << 33,
            items: vec![order, Value::Omitted(OmittedReason::Items)],
        },
        Value::Dictionary {
            type_name: "System.Collections.Generic.Dictionary<string,int>".into(),
            length: 2,
            entries: vec![(Value::String { units: vec![0x61], length: 1 }, Value::Int(1))],
        },
    ];
    values.extend(OmittedReason::ALL.map(Value::Omitted));
    values
}

pub fn traced_calls() -> Vec<TracedCall> {
    let returned = TracedCall {
        plan: 0x0102,
        number: 1 << 40,
        start_unix_ns: 1_763_600_000_123_456_789,
        duration_ns: Some(1_234_567),
        thread: 4321,
        depth: 2,
        arguments: values(),
        arguments_after: vec![(1, Value::Text { type_name: "decimal".into(), text: "0.25".into() })],
        outcome: Outcome::Returned(Some(Value::Int(3))),
        stack: vec![CallOrigin::Dynamic { name: "Made".into() }, CallOrigin::Native],
        course: Some(AsyncCall { began: true, completed_on: 78, steps: 3, running_ns: 1_500 }),
    };
    let thrown = Outcome::Thrown {
        type_name: Some("System.TimeoutException".into()),
        message: Some(Value::String { units: vec![0x6e, 0x6f], length: 2 }),
        inner: vec![
            InnerException { type_name: Some("A.B".into()), message: Some(Value::Null) },
            InnerException { type_name: None, message: None },
        ],
    };
    let other = |outcome| TracedCall {
        number: 0,
        duration_ns: None,
        arguments: vec![Value::Int(1), Value::Omitted(OmittedReason::Pending)],
        arguments_after: vec![],
        outcome,
        ..returned.clone()
    };
    vec![
        other(thrown),
        other(Outcome::Thrown { type_name: None, message: None, inner: vec![] }),
        other(Outcome::Returned(None)),
        other(Outcome::InFlight),
        returned.clone(),
    ]
}

pub fn dropped_calls() -> DroppedCalls {
    DroppedCalls { row: RowId(7), over_rate: 1_000_000, no_room: 3, undecided: 2 }
}

/// A page of traced calls.
pub fn calls() -> Event {
    Event::Calls {
        id: Some(16),
        methods: vec![traced_method()],
        calls: traced_calls(),
        dropped: vec![dropped_calls()],
        unread: 17,
    }
}

/// A page of thrown exceptions.
pub fn exceptions() -> Event {
    let method = ThrowingMethod {
        module: "Shop".into(),
        method: "Shop.Cart.Add".into(),
        signature: "(Shop.Item)".into(),
    };
    let row = ThrownRow { row: 0x0102, type_name: Some("Shop.Full".into()), method: Some(method) };
    let message = |text: &str| {
        let units: Vec<u16> = text.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    };
    let inner =
        InnerException { type_name: Some("System.TimeoutException".into()), message: Some(message("why")) };
    Event::Exceptions {
        rows: vec![row, ThrownRow { row: 0x0103, type_name: None, method: None }],
        counts: vec![ThrownCount { row: 0x0102, thrown: 0x0405, rethrown: 0x0607 }],
        exceptions: vec![ThrownException {
            row: 0x0102,
            unix_ns: 1_763_600_000_000_000_001,
            thread: 4711,
            rethrown: true,
            message: message("full"),
            inner: vec![inner],
        }],
        totals: ThrownTotals { thrown: 0x0809, rethrown: 0x0a0b, others: 0x0c0d, unsent: 0x0e0f },
    }
}
