//! Conditions on captured bytes: any bytes are read within their bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use redial_agent::capture::shape::{ClassForm, ClassShape, FieldShape, Shape, StructShape};
use redial_agent::capture::{
    CallCondition, CallOutcome, Capture, CapturePlan, PlannedValue, Primitive, TextForm, scope,
};
use redial_agent::signature::Type;
use redial_protocol::condition::Condition;
use std::sync::{Arc, LazyLock};

const CONDITIONS: [&str; 7] = [
    "object.Next.Name == 'x' || object.Count > 1 && object.Price > 2.0",
    "size(object) > 3 || object.Inner.Took > duration('1s')",
    "text.contains('x') && letter == 'y'",
    "number + 1 > 2 && result.Last == 3",
    "exception.message.startsWith('x') || changed == 3",
    "duration > duration('1ms') && has(object.Next)",
    "exception.type == 'System.Exception' && exception.message.contains('x')",
];

static CLASSES: LazyLock<Vec<ClassShape>> = LazyLock::new(|| {
    let field = |name: &str, shape| FieldShape { name: name.into(), offset: 0, shape };
    let int = || Shape::Primitive(Primitive::I4);
    let inner = StructShape {
        type_name: "Inner".into(),
        fields: vec![
            field("Took", Shape::Text(TextForm::TimeSpan, "TimeSpan".into())),
            field("Letter", Shape::Primitive(Primitive::Char)),
        ],
        missing: None,
    };
    let order = StructShape {
        type_name: "Order".into(),
        fields: vec![
            field("Next", Shape::Reference),
            field("Name", Shape::String),
            field("Inner", Shape::Struct(inner)),
            field("Count", Shape::Nullable(0, 4, Box::new(int()))),
            field("Price", Shape::Text(TextForm::Decimal, "decimal".into())),
            field("State", Shape::TaskState),
            field("Last", int()),
        ],
        missing: None,
    };
    let forms = [
        ClassForm::Object(order.clone()),
        ClassForm::Value { shape: Shape::Struct(order), size: 64 },
        ClassForm::Array { item: Shape::Reference, stride: 8, rank: 1 },
        ClassForm::Span { item: Shape::Primitive(Primitive::Char), stride: 2, address: 0, length: 8 },
        ClassForm::List { items: 8, size: 16 },
    ];
    forms.map(|form| ClassShape { type_name: "class".into(), form }).into()
});

static TESTED: LazyLock<Vec<CallCondition>> = LazyLock::new(|| {
    let planned = |name: &str, capture| {
        Arc::new(PlannedValue { name: name.into(), type_name: "type".into(), argument: 0, capture })
    };
    let plan = CapturePlan {
        parameters: vec![
            planned("object", Capture::Object),
            planned("text", Capture::String),
            planned("letter", Capture::Primitive(Primitive::Char)),
            planned("number", Capture::Primitive(Primitive::I4)),
            planned("changed", Capture::Out(Type::I4)),
        ],
        has_this: false,
        result: Some(planned("", Capture::Object)),
    };
    let make = |text: &str| {
        let written = Arc::new(Condition::parse(text).expect("it is valid"));
        let checked = written.check(&scope(&plan)).expect("it fits");
        CallCondition::new(written, checked, plan.clone(), |_| false)
    };
    CONDITIONS.map(make).into()
});

fuzz_target!(|data: &[u8]| {
    let classes = |number: u32| CLASSES.get(number as usize % 8);
    let thrown = data.first().filter(|byte| *byte % 2 == 0).map(|byte| usize::from(*byte));
    for condition in TESTED.iter() {
        let _ = condition.holds_at_entry(data, 8, &classes);
        let exception_type = thrown.filter(|at| at % 4 == 0).map(|_| "System.Exception");
        let end = CallOutcome { duration_ns: Some(5), thrown, exception_type };
        let _ = condition.holds_at_exit(data, 8, end, &classes);
    }
});
