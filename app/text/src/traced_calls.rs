//! Wording of traced calls.

use crate::names;
use crate::values;
use crate::width::{cut_end, width};
use crate::words;
use redial_protocol::peer_text::clean;
use redial_protocol::trace::{
    DroppedCalls, InnerException, OmittedReason, Outcome, TracedCall, TracedMethod, Value,
};

/// Name of the first parameter if it is the object that the method was called on.
const THIS: &str = "this";
/// Stands for the name of an exception's type that is not known.
pub const UNKNOWN_TYPE: &str = "an exception of unknown type";

/// Formats a call as `Type.Method(name: value, …)`. A by-reference parameter that changed shows both values. The object
/// that the method was called on is not part of it: see [`target`].
pub fn call(method: &TracedMethod, call: &TracedCall) -> String {
    format!("{}({})", name(method), arguments(method, call))
}

/// Returns `Type.Method`.
pub fn name(method: &TracedMethod) -> &str {
    names::shorter(&method.method).last().unwrap_or(&method.method)
}

/// Formats the arguments of a call as they stand between its parentheses.
pub fn arguments(method: &TracedMethod, call: &TracedCall) -> String {
    let arguments: Vec<String> = (0_u16..)
        .zip(&call.arguments)
        .skip(usize::from(has_target(method)))
        .map(|(place, value)| {
            let name = method.parameters.get(usize::from(place)).map_or("", |one| one.name.as_str());
            let after = call.arguments_after.iter().find(|(of, _)| *of == place).map(|(_, value)| value);
            let text = argument(value, after);
            if name.is_empty() { text } else { format!("{name}: {text}") }
        })
        .collect();
    arguments.join(", ")
}

/// Returns the arguments without the object that the method was called on.
pub fn own_arguments<'a>(method: &TracedMethod, call: &'a TracedCall) -> &'a [Value] {
    call.arguments.get(usize::from(has_target(method))..).unwrap_or_default()
}

fn has_target(method: &TracedMethod) -> bool {
    method.parameters.first().is_some_and(|first| first.name == THIS)
}

/// Formats the object that a method was called on, to follow the call: ` on Cart { Id: 7 }`; nothing for a static
/// method.
pub fn target(method: &TracedMethod, call: &TracedCall) -> String {
    let target = call.arguments.first().filter(|_| has_target(method));
    target.map_or(String::new(), |target| format!(" on {}", values::text(target)))
}

fn argument(value: &Value, after: Option<&Value>) -> String {
    match after.filter(|after| *after != value) {
        // An `out` parameter had no value before.
        Some(after) if *value == Value::Omitted(OmittedReason::Pending) => values::text(after),
        Some(after) => format!("{} → {}", values::text(value), values::text(after)),
        None => values::text(value),
    }
}

/// Returns the type of a call's result: for a call of an async method that was followed, the type that its task promises.
pub fn result_type<'a>(method: &'a TracedMethod, call: &TracedCall) -> Option<&'a str> {
    let written = method.result.as_deref()?;
    let promised = || Some(written.strip_suffix('>')?.split_once('<')?.1);
    Some(call.course.and_then(|_| promised()).unwrap_or(written))
}

/// Formats the end of a call, to follow it: ` = result`, ` threw Type: message ---> InnerType: message`, or nothing.
pub fn outcome(call: &TracedCall) -> String {
    match &call.outcome {
        Outcome::InFlight | Outcome::Returned(None) => String::new(),
        Outcome::Returned(Some(value)) => format!(" = {}", values::text(value)),
        Outcome::Thrown { type_name, message, inner } => {
            format!(" threw {}{}", exception(type_name.as_deref(), message.as_ref()), inner_exceptions(inner))
        }
    }
}

/// Formats the course of a call of an async method, to follow its end: ` (ran 12.0 µs in 3 steps)`; nothing if it never had to
/// wait.
pub fn course(call: &TracedCall) -> String {
    let Some(course) = &call.course else { return String::new() };
    if !course.began {
        return " (began before it was traced)".to_owned();
    }
    let waits = call.outcome == Outcome::InFlight;
    if course.steps <= 1 && !waits {
        return String::new();
    }
    let steps = words::count(course.steps.into(), "step", "steps");
    let ran = format!("ran {} in {steps}", words::duration(course.running_ns));
    match (waits, course.completed_on) {
        (true, _) => format!(" (waits; {ran})"),
        (false, on) if on == 0 || on == call.thread => format!(" ({ran})"),
        (false, on) => format!(" ({ran}, completed on thread {on})"),
    }
}

/// Formats inner exceptions, to follow an exception: ` ---> InnerType: message`.
pub(crate) fn inner_exceptions(inner: &[InnerException]) -> String {
    let each = inner.iter().map(|one| exception(one.type_name.as_deref(), one.message.as_ref()));
    each.map(|text| format!(" ---> {text}")).collect()
}

fn exception(type_name: Option<&str>, message: Option<&Value>) -> String {
    with_message(type_name.map_or(UNKNOWN_TYPE, values::short_type), message)
}

/// Formats an exception with its message, if it has one.
pub(crate) fn with_message(name: &str, message: Option<&Value>) -> String {
    match message {
        None | Some(Value::Null) => name.to_owned(),
        Some(message) => format!("{name}: {}", values::unquoted(message)),
    }
}

/// Formats a call on a line: beginning, thread, duration, and the call with its end. `now_unix_ns` is the time, for calls
/// in flight.
pub fn line(method: &TracedMethod, traced: &TracedCall, now_unix_ns: u64) -> String {
    let thread = match traced.thread {
        0 => "unknown thread".to_owned(),
        thread => format!("thread {thread}"),
    };
    let duration = duration(traced, now_unix_ns);
    let duration =
        if traced.outcome == Outcome::InFlight { format!("in flight for {duration}") } else { duration };
    let (call, target, end) = (call(method, traced), target(method, traced), outcome(traced));
    let time = time_of_day(traced.start_unix_ns);
    clean(&format!("{time}  {thread}  {duration}  {call}{target}{end}")).into_owned()
}

/// Formats the duration of a call, or its age while it is in flight.
pub fn duration(call: &TracedCall, now_unix_ns: u64) -> String {
    let age = now_unix_ns.saturating_sub(call.start_unix_ns);
    let ns = if call.outcome == Outcome::InFlight { Some(age) } else { call.duration_ns };
    ns.map_or("–".to_owned(), words::duration)
}

/// Fits a call and its end to `columns`. The end keeps at least a third of them.
pub fn fitted(call: &str, outcome: &str, columns: usize) -> String {
    let (call_width, outcome_width) = (width(call), width(outcome));
    if call_width + outcome_width <= columns {
        return format!("{call}{outcome}");
    }
    let for_outcome = outcome_width.min((columns / 3).max(columns.saturating_sub(call_width)));
    let call = cut_end(call, columns - for_outcome);
    match columns.saturating_sub(width(&call)) {
        0 => call,
        left => format!("{call}{}", cut_end(outcome, left)),
    }
}

/// Formats the time of day of a Unix time in nanoseconds: `05:46:01.123Z`.
pub fn time_of_day(unix_ns: u64) -> String {
    let ms = unix_ns / 1_000_000;
    let second = ms / 1_000 % 86_400;
    format!("{:02}:{:02}:{:02}.{:03}Z", second / 3_600, second / 60 % 60, second % 60, ms % 1_000)
}

/// Explains calls of a method that are missing; `None` if there are none.
pub fn dropped(method: &str, dropped: &DroppedCalls) -> Option<String> {
    let calls = |number: u64| words::count(number, "call", "calls");
    let reasons = [
        (dropped.over_rate, "over the allowed rate"),
        (dropped.no_room, "without memory for them"),
        (dropped.undecided, "whose condition could not be decided"),
    ];
    let reasons = reasons.into_iter().filter(|(number, _)| *number > 0);
    let reasons: Vec<String> = reasons.map(|(number, why)| format!("{} {why}", calls(number))).collect();
    if reasons.is_empty() {
        return None;
    }
    let reasons = words::all(&reasons);
    Some(format!("{method}: {reasons} not captured; counts and times include them"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{traced_call, traced_method};
    use redial_protocol::ids::RowId;
    use redial_protocol::trace::AsyncCall;

    fn message(text: &str) -> Option<Value> {
        let units: Vec<u16> = text.encode_utf16().collect();
        Some(Value::String { length: units.len() as u32, units })
    }

    #[test]
    fn formats_calls_with_names_and_values() {
        let (method, traced) = (traced_method(), traced_call());
        assert_eq!(call(&method, &traced), "Pricing.Discount(order: 7, rate: 0.5)");
        let changed = TracedCall { arguments_after: vec![(1, Value::Null)], ..traced.clone() };
        assert_eq!(call(&method, &changed), "Pricing.Discount(order: 7, rate: 0.5 → null)");
        let same =
            TracedCall { arguments_after: vec![(0, Value::Int(7)), (9, Value::Null)], ..traced.clone() };
        assert_eq!(call(&method, &same), "Pricing.Discount(order: 7, rate: 0.5)");
        let more = TracedCall { arguments: vec![Value::Int(1); 3], ..traced.clone() };
        assert_eq!(call(&method, &more), "Pricing.Discount(order: 1, rate: 1, 1)", "lies show, too");
        let out = TracedCall {
            arguments: vec![Value::Int(7), Value::Omitted(OmittedReason::Pending)],
            arguments_after: vec![(1, Value::Int(5))],
            ..traced.clone()
        };
        assert_eq!(call(&method, &out), "Pricing.Discount(order: 7, rate: 5)");
        assert_eq!(target(&method, &traced), "");
        let mut of_object = method.clone();
        of_object.parameters[0].name = "this".into();
        assert_eq!(call(&of_object, &traced), "Pricing.Discount(rate: 0.5)");
        assert_eq!(target(&of_object, &traced), " on 7");
        let constructor = TracedMethod { method: "Shop.Cart..ctor".into(), parameters: vec![], ..method };
        assert_eq!(call(&constructor, &TracedCall { arguments: vec![], ..traced }), "Cart..ctor()");
    }

    #[test]
    fn formats_courses_of_async_calls() {
        let of = |course, outcome| super::course(&TracedCall { course, outcome, ..traced_call() });
        let returned = || Outcome::Returned(None);
        let course = AsyncCall { began: true, completed_on: 4711, steps: 3, running_ns: 12_000 };
        assert_eq!(of(None, returned()), "");
        assert_eq!(of(Some(course), returned()), " (ran 12.0 µs in 3 steps)");
        let elsewhere = AsyncCall { completed_on: 9, ..course };
        assert_eq!(of(Some(elsewhere), returned()), " (ran 12.0 µs in 3 steps, completed on thread 9)");
        assert_eq!(of(Some(AsyncCall { steps: 1, ..course }), returned()), "");
        let waits = AsyncCall { steps: 1, completed_on: 0, ..course };
        assert_eq!(of(Some(waits), Outcome::InFlight), " (waits; ran 12.0 µs in 1 step)");
        let unseen = AsyncCall { began: false, ..course };
        assert_eq!(of(Some(unseen), returned()), " (began before it was traced)");
    }

    #[test]
    fn formats_every_end() {
        let end = |outcome| super::outcome(&TracedCall { outcome, ..traced_call() });
        assert_eq!(end(Outcome::InFlight), "");
        assert_eq!(end(Outcome::Returned(None)), "");
        assert_eq!(end(Outcome::Returned(Some(Value::Null))), " = null");
        let thrown = |name: Option<&str>, message| Outcome::Thrown {
            type_name: name.map(str::to_owned),
            message,
            inner: vec![],
        };
        let timeout = Some("System.TimeoutException");
        assert_eq!(end(thrown(timeout, message("too\nslow"))), " threw TimeoutException: too\\nslow");
        assert_eq!(end(thrown(timeout, Some(Value::Null))), " threw TimeoutException");
        assert_eq!(end(thrown(None, None)), " threw an exception of unknown type");
        let inner = |name: &str, message| InnerException { type_name: Some(name.to_owned()), message };
        let chain = Outcome::Thrown {
            type_name: Some("Shop.Failed".into()),
            message: message("no"),
            inner: vec![inner("System.TimeoutException", message("slow")), inner("Shop.Cause", None)],
        };
        assert_eq!(end(chain), " threw Failed: no ---> TimeoutException: slow ---> Cause");
    }

    #[test]
    fn lines_have_all_columns() {
        let (method, traced) = (traced_method(), traced_call());
        let of = |traced: &TracedCall| line(&method, traced, traced.start_unix_ns + 90_000_000_000);
        assert_eq!(
            of(&traced),
            "05:46:01.123Z  thread 4711  1.20 ms  Pricing.Discount(order: 7, rate: 0.5) = 3.50"
        );
        let in_flight = TracedCall { outcome: Outcome::InFlight, duration_ns: None, thread: 0, ..traced };
        assert!(of(&in_flight).starts_with("05:46:01.123Z  unknown thread  in flight for 90.0 s  Pricing."));
    }

    #[test]
    fn fits_calls_and_keeps_their_end() {
        let (call, end) = ("Type.Method(first: 1, second: 2)", " = 12345");
        assert_eq!(fitted(call, end, 40), format!("{call}{end}"));
        assert_eq!(fitted(call, end, 24), "Type.Method(fir… = 12345");
        assert_eq!(fitted("T.M()", &format!(" = {}", "x".repeat(40)), 20), "T.M() = xxxxxxxxxxx…");
        let (long, longer) = ("注文".repeat(30), format!(" = {}", "注文".repeat(30)));
        for columns in 1..60 {
            assert!(width(&fitted(&long, &longer, columns)) <= columns, "{columns}");
            assert!(width(&fitted(call, end, columns)) <= columns, "{columns}");
        }
    }

    #[test]
    fn formats_the_time_of_day() {
        assert_eq!(time_of_day(0), "00:00:00.000Z");
        assert_eq!(time_of_day(1_795_153_561_123_456_789), "05:46:01.123Z");
        assert!(time_of_day(u64::MAX).ends_with('Z'));
    }

    #[test]
    fn explains_dropped_calls() {
        let explained = |over_rate, no_room| {
            dropped("A.B", &DroppedCalls { row: RowId(1), over_rate, no_room, undecided: 0 })
                .unwrap_or_default()
        };
        assert_eq!(explained(0, 0), "");
        assert!(explained(1_200, 0).starts_with("A.B: 1,200 calls over the allowed rate not captured;"));
        assert!(explained(0, 1).starts_with("A.B: 1 call without memory for them not captured"));
        assert!(
            explained(2, 3).contains("2 calls over the allowed rate and 3 calls without memory for them")
        );
        let undecided = DroppedCalls { row: RowId(1), over_rate: 0, no_room: 0, undecided: 2 };
        let sentence = dropped("A.B", &undecided).unwrap_or_default();
        assert!(sentence.starts_with("A.B: 2 calls whose condition could not be decided not captured;"));
    }
}
