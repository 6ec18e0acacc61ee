//! A traced call as JSON.

use super::values::ValueJson;
use crate::callers::name;
use crate::traced_calls::result_type;
use redial_protocol::trace::{InnerException, Outcome, TracedCall, TracedMethod};
use serde::Serialize;
use std::time::{Duration, UNIX_EPOCH};

/// A line of `trace` and `events`.
#[derive(Debug, Serialize)]
pub struct TracedCallJson<'a> {
    /// The beginning of the call: RFC 3339 with nanoseconds, UTC.
    start: String,
    /// The name of this machine.
    host: Option<&'a str>,
    pid: u32,
    /// The operating system's thread id; null if unknown.
    thread: Option<u32>,
    /// `Namespace.Type.Method`.
    method: &'a str,
    /// `(PARAMS)`.
    signature: &'a str,
    /// The assembly's simple name.
    module: &'a str,
    /// The AppDomain.
    domain: &'a str,
    /// The number of timed calls around it on its thread.
    depth: u32,
    /// Null while in flight, and for calls that could not be timed.
    duration_ns: Option<u64>,
    /// The time since the beginning of a call in flight; null after its end.
    age_ns: Option<u64>,
    args: Vec<ArgumentJson<'a>>,
    /// Null for a method without result, an exception, and a call in flight.
    result: Option<ResultJson<'a>>,
    thrown: Option<ThrownJson<'a>>,
    /// Its callers, the innermost first; null if they were not captured.
    stack: Option<Vec<String>>,
    /// Null unless it is a call of an async method that was followed to its completion.
    #[serde(rename = "async")]
    course: Option<AsyncJson>,
    /// The number of calls of this method that were not captured.
    dropped: u64,
}

#[derive(Debug, Serialize)]
struct ArgumentJson<'a> {
    /// Null if the metadata has none.
    name: Option<&'a str>,
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    value: ValueJson<'a>,
    /// The value of a by-reference parameter at the end of the call. Others have no such field.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<ValueJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ResultJson<'a> {
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    value: ValueJson<'a>,
}

#[derive(Debug, Serialize)]
struct ThrownJson<'a> {
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    message: Option<ValueJson<'a>>,
    /// Its inner exception, then that one's, and so on.
    inner: Vec<InnerJson<'a>>,
}

/// The course of a call of an async method.
#[derive(Debug, Serialize)]
struct AsyncJson {
    /// False for a call that began before the method was traced: its arguments and duration are unknown.
    began: bool,
    /// The operating system's id of the thread on which it completed; null if it has not or that is unknown.
    completed_on: Option<u32>,
    /// Steps in which it ran.
    steps: u32,
    running_ns: u64,
    /// The rest of its duration; null if that is unknown.
    waiting_ns: Option<u64>,
}

impl AsyncJson {
    fn of(call: &TracedCall) -> Option<AsyncJson> {
        let course = call.course?;
        Some(AsyncJson {
            began: course.began,
            completed_on: Some(course.completed_on).filter(|thread| *thread != 0),
            steps: course.steps,
            running_ns: course.running_ns,
            waiting_ns: call.duration_ns.map(|duration| duration.saturating_sub(course.running_ns)),
        })
    }
}

/// An inner exception.
#[derive(Debug, Serialize)]
pub(super) struct InnerJson<'a> {
    #[serde(rename = "type")]
    type_name: Option<&'a str>,
    message: Option<ValueJson<'a>>,
}

impl<'a> InnerJson<'a> {
    pub(super) fn of(exception: &'a InnerException) -> InnerJson<'a> {
        InnerJson {
            type_name: exception.type_name.as_deref(),
            message: exception.message.as_ref().map(ValueJson),
        }
    }
}

impl<'a> TracedCallJson<'a> {
    /// Makes the line of a call in process `pid`. `age_ns` is the age of a call in flight, `dropped` the number of calls
    /// of its method that were not captured.
    pub fn new(
        (host, pid): (Option<&'a str>, u32),
        method: &'a TracedMethod,
        call: &'a TracedCall,
        age_ns: Option<u64>,
        dropped: u64,
    ) -> TracedCallJson<'a> {
        TracedCallJson {
            start: rfc3339(call.start_unix_ns),
            host,
            pid,
            thread: Some(call.thread).filter(|thread| *thread != 0),
            method: &method.method,
            signature: &method.signature,
            module: &method.module,
            domain: &method.domain,
            depth: call.depth,
            duration_ns: call.duration_ns,
            age_ns,
            args: arguments(method, call),
            result: match &call.outcome {
                Outcome::Returned(Some(value)) => {
                    Some(ResultJson { type_name: result_type(method, call), value: ValueJson(value) })
                }
                _ => None,
            },
            thrown: match &call.outcome {
                Outcome::Thrown { type_name, message, inner } => Some(ThrownJson {
                    type_name: type_name.as_deref(),
                    message: message.as_ref().map(ValueJson),
                    inner: inner.iter().map(InnerJson::of).collect(),
                }),
                _ => None,
            },
            stack: Some(&call.stack)
                .filter(|stack| !stack.is_empty())
                .map(|stack| stack.iter().map(name).collect()),
            course: AsyncJson::of(call),
            dropped,
        }
    }
}

fn arguments<'a>(method: &'a TracedMethod, call: &'a TracedCall) -> Vec<ArgumentJson<'a>> {
    let each = (0_u16..).zip(&call.arguments);
    each.map(|(place, value)| {
        let parameter = method.parameters.get(usize::from(place));
        let after = call.arguments_after.iter().find(|(of, _)| *of == place);
        ArgumentJson {
            name: parameter.map(|one| one.name.as_str()).filter(|name| !name.is_empty()),
            type_name: parameter.map(|one| one.type_name.as_str()),
            value: ValueJson(value),
            after: after.map(|(_, value)| ValueJson(value)),
        }
    })
    .collect()
}

/// Formats a Unix time in nanoseconds: `2026-11-20T05:46:01.123456789Z`.
pub(super) fn rfc3339(unix_ns: u64) -> String {
    // The largest number of nanoseconds is a time in the year 2554.
    humantime::format_rfc3339_nanos(UNIX_EPOCH + Duration::from_nanos(unix_ns)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixtures::{traced_call, traced_method};
    use redial_protocol::trace::{AsyncCall, Value};
    use serde_json::json;

    fn json_of(call: &TracedCall, age_ns: Option<u64>) -> serde_json::Value {
        let method = traced_method();
        serde_json::to_value(TracedCallJson::new((Some("shop-1"), 12), &method, call, age_ns, 3))
            .expect("JSON")
    }

    #[test]
    fn a_call_has_every_field() {
        assert_eq!(
            json_of(&traced_call(), None),
            json!({
                "start": "2026-11-20T05:46:01.123456789Z",
                "host": "shop-1",
                "pid": 12,
                "thread": 4711,
                "method": "Shop.Pricing.Discount",
                "signature": "(int, double)",
                "module": "Shop",
                "domain": "clrhost",
                "depth": 1,
                "duration_ns": 1_200_000,
                "age_ns": null,
                "args": [
                    { "name": "order", "type": "int", "value": 7 },
                    { "name": "rate", "type": "double", "value": 0.5 },
                ],
                "result": { "type": "decimal", "value": { "$type": "decimal", "text": "3.50" } },
                "thrown": null,
                "stack": null,
                "async": null,
                "dropped": 3,
            })
        );
    }

    #[test]
    fn an_async_call_has_its_course_and_result() {
        let course = Some(AsyncCall { began: true, completed_on: 9, steps: 2, running_ns: 200_000 });
        let mut method = traced_method();
        method.result = Some("System.Threading.Tasks.Task<Shop.Box<int>>".into());
        let call = TracedCall { course, ..traced_call() };
        let json = |call: &TracedCall| {
            serde_json::to_value(TracedCallJson::new((None, 12), &method, call, None, 0)).expect("JSON")
        };
        assert_eq!(
            json(&call)["async"],
            json!({"began": true, "completed_on": 9, "steps": 2, "running_ns": 200_000, "waiting_ns": 1_000_000})
        );
        assert_eq!(json(&call)["result"]["type"], "Shop.Box<int>");
        assert_eq!(json(&traced_call())["result"]["type"], "System.Threading.Tasks.Task<Shop.Box<int>>");
        let unseen = AsyncCall { began: false, completed_on: 0, steps: 1, running_ns: 5 };
        let unseen = TracedCall { course: Some(unseen), duration_ns: None, ..traced_call() };
        let course = json(&unseen)["async"].clone();
        assert_eq!((&course["completed_on"], &course["waiting_ns"]), (&json!(null), &json!(null)));
    }

    #[test]
    fn every_end_has_its_form() {
        let ended = |outcome| json_of(&TracedCall { outcome, ..traced_call() }, None);
        let returned = ended(Outcome::Returned(None));
        assert!(returned["result"].is_null() && returned["thrown"].is_null());
        assert_eq!(
            ended(Outcome::Returned(Some(Value::Null)))["result"],
            json!({"type": "decimal", "value": null})
        );
        let message = Some(Value::String { units: vec![0x6e, 0x6f], length: 9 });
        let inner = vec![InnerException { type_name: Some("F".into()), message: Some(Value::Null) }];
        let thrown = ended(Outcome::Thrown { type_name: Some("E".into()), message, inner });
        assert_eq!(
            thrown["thrown"],
            json!({
                "type": "E",
                "message": {"$string": "no", "$length": 9},
                "inner": [{"type": "F", "message": null}],
            })
        );
        let unknown = ended(Outcome::Thrown { type_name: None, message: None, inner: vec![] });
        assert_eq!(unknown["thrown"], json!({"type": null, "message": null, "inner": []}));
    }

    #[test]
    fn a_call_in_flight_has_an_age_and_no_end() {
        let call = TracedCall { duration_ns: None, thread: 0, outcome: Outcome::InFlight, ..traced_call() };
        let json = json_of(&call, Some(5));
        assert_eq!(
            (&json["age_ns"], &json["duration_ns"], &json["thread"]),
            (&json!(5), &json!(null), &json!(null))
        );
        assert!(json["result"].is_null() && json["thrown"].is_null());
    }

    #[test]
    fn values_after_the_call_have_a_field_of_their_own() {
        let call = TracedCall {
            arguments: vec![Value::Int(1), Value::Int(2), Value::Int(3)],
            arguments_after: vec![(1, Value::Null), (9, Value::Int(4))],
            ..traced_call()
        };
        assert_eq!(
            json_of(&call, None)["args"],
            json!([
                { "name": "order", "type": "int", "value": 1 },
                { "name": "rate", "type": "double", "value": 2, "after": null },
                { "name": null, "type": null, "value": 3 },
            ])
        );
    }
}
