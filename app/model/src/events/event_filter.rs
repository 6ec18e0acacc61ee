//! The text that filters calls: words, or a condition.

use super::TracedEvent;
use super::call_values::CallValues;
use super::condition_scope::condition_scope;
use memchr::memmem::Finder;
use redial_protocol::condition::{CheckedCondition, Condition, ConditionError};
use redial_protocol::trace::TracedMethod;
use std::cell::RefCell;
use std::sync::Arc;

/// Texts that occur in conditions and hardly anywhere else.
const SIGNS: [&str; 10] = ["==", "!=", "<=", ">=", "&&", "||", " < ", " > ", "has(", "duration("];

/// Which calls the filter's text shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventFilter {
    /// Those with all these words in name, arguments or outcome; lower case.
    Words(Vec<String>),
    /// Those for which this is true.
    Condition(Arc<Condition>),
}

impl Default for EventFilter {
    fn default() -> EventFilter {
        EventFilter::Words(Vec::new())
    }
}

impl EventFilter {
    /// Parses a text. A condition with a mistake is only taken for one if it has operators that no other text has.
    ///
    /// # Errors
    /// The mistake.
    pub fn parse(text: &str) -> Result<EventFilter, ConditionError> {
        match Condition::parse(text) {
            Ok(condition) if condition.is_test() => Ok(EventFilter::Condition(Arc::new(condition))),
            Err(error) if SIGNS.iter().any(|sign| text.contains(sign)) => Err(error),
            _ => Ok(EventFilter::Words(text.split_whitespace().map(str::to_lowercase).collect())),
        }
    }

    /// Returns whether it may hide calls.
    pub fn hides_calls(&self) -> bool {
        *self != EventFilter::default()
    }

    /// Returns why it fits none of these methods, if it fits none.
    pub fn misfit<'m>(&self, methods: impl Iterator<Item = &'m Arc<TracedMethod>>) -> Option<ConditionError> {
        let EventFilter::Condition(condition) = self else { return None };
        let mut first = None;
        for method in methods {
            match condition.check(&condition_scope(method)) {
                Ok(_) => return None,
                Err(problem) => {
                    first.get_or_insert(ConditionError { text: condition.text().to_owned(), problem });
                }
            }
        }
        first
    }
}

/// A filter prepared for many calls.
pub enum EventMatcher<'f> {
    /// Finds words.
    Words(Vec<Finder<'f>>),
    /// Decides a condition, with the methods that it was checked against; None for those that it does not fit.
    Condition(&'f Condition, RefCell<Vec<(Arc<TracedMethod>, Option<CheckedCondition>)>>),
}

impl<'f> EventMatcher<'f> {
    /// Prepares a filter.
    pub fn of(filter: &'f EventFilter) -> EventMatcher<'f> {
        match filter {
            EventFilter::Words(words) => EventMatcher::Words(words.iter().map(Finder::new).collect()),
            EventFilter::Condition(condition) => EventMatcher::Condition(condition, RefCell::default()),
        }
    }

    /// Returns whether a call is shown. One for which the condition is undecided is not.
    pub fn shows(&self, event: &TracedEvent) -> bool {
        match self {
            EventMatcher::Words(words) => {
                let text = event.search_text().as_bytes();
                words.iter().all(|word| word.find(text).is_some())
            }
            EventMatcher::Condition(condition, checked) => {
                let mut checked = checked.borrow_mut();
                let known = checked.iter().position(|(method, _)| Arc::ptr_eq(method, &event.method));
                let at = known.unwrap_or_else(|| {
                    let of_method = condition.check(&condition_scope(&event.method)).ok();
                    checked.push((Arc::clone(&event.method), of_method));
                    checked.len() - 1
                });
                let of_method = checked.get(at).and_then(|(_, of_method)| of_method.as_ref());
                let values = CallValues(&event.call);
                of_method.is_some_and(|of| of.parts.iter().all(|part| part.holds(&values) == Ok(true)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::trace::{Outcome, TracedCall, TracedParameter, Value};
    use redial_text::fixtures::{traced_call, traced_method};

    fn string(text: &str) -> Value {
        let units: Vec<u16> = text.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    }

    fn method() -> TracedMethod {
        let parameter =
            |name: &str, type_name: &str| TracedParameter { name: name.into(), type_name: type_name.into() };
        let parameters = vec![
            parameter("order", "Shop.Order"),
            parameter("name", "string"),
            parameter("day", "System.DayOfWeek"),
            parameter("wait", "System.TimeSpan"),
            parameter("price", "decimal"),
            parameter("hidden", "string"),
        ];
        TracedMethod { parameters, result: Some("double".into()), ..traced_method() }
    }

    fn event() -> TracedEvent {
        let customer =
            Value::Object { type_name: "Customer".into(), fields: vec![("Name".into(), string("Ada"))] };
        let lines = Value::Collection { type_name: "int[]".into(), length: 7, items: vec![Value::Int(1)] };
        let fields =
            vec![("Customer".into(), customer), ("Lines".into(), lines), ("Gift".into(), Value::Null)];
        let text =
            |type_name: &str, text: &str| Value::Text { type_name: type_name.into(), text: text.into() };
        let day = Value::Enum { type_name: "System.DayOfWeek".into(), name: Some("Friday".into()), value: 5 };
        let arguments = vec![
            Value::Object { type_name: "Order".into(), fields },
            string("grüße"),
            day,
            text("TimeSpan", "-1.02:03:04.5000000"),
            text("decimal", "19.99"),
            Value::Omitted(redial_protocol::trace::OmittedReason::RedactedName),
        ];
        let outcome = Outcome::Returned(Some(Value::Double(2.5f64.to_bits())));
        let call = TracedCall { arguments, outcome, duration_ns: Some(12_000_000), ..traced_call() };
        TracedEvent::new(Arc::new(method()), call)
    }

    fn shows(text: &str, event: &TracedEvent) -> bool {
        let filter = EventFilter::parse(text).unwrap_or_else(|error| panic!("{error}"));
        assert!(matches!(filter, EventFilter::Condition(_)), "{text}");
        EventMatcher::of(&filter).shows(event)
    }

    #[test]
    fn conditions_decide_about_captured_values() {
        let event = event();
        for text in [
            "order.Customer.Name == 'Ada' && size(order.Lines) == 7 && order.Gift == null",
            "name.startsWith('gr') && size(name) == 5",
            "day == 'Friday' && day > 4 && day in [5] && int(day) == 5",
            "wait < -duration('1s') && price > 19.5",
            "result == 2.5 && duration > duration(\"10ms\") && exception == null",
        ] {
            assert!(shows(text, &event), "{text}");
        }
        for text in ["name == 'x'", "hidden == 'x'", "hidden != 'x'", "order.Missing == 1", "day == 'Monday'"]
        {
            assert!(!shows(text, &event), "{text}");
        }
        let thrown = Outcome::Thrown {
            type_name: Some("Shop.NoStock".into()),
            message: Some(string("none left")),
            inner: vec![],
        };
        let call = TracedCall { outcome: thrown, ..event.call.clone() };
        let failed = TracedEvent::new(Arc::clone(&event.method), call);
        assert!(shows("exception.type == 'Shop.NoStock' && exception.message.contains('left')", &failed));
        assert!(!shows("exception == null", &failed) && !shows("result > 1.0", &failed));
    }

    #[test]
    fn other_texts_are_words() {
        for text in ["", "order 7", "Shop.Pricing", "List<int>", "a-b", "'quoted'", "7", "no ( end"] {
            assert!(matches!(EventFilter::parse(text), Ok(EventFilter::Words(_))), "{text}");
        }
        assert!(!EventFilter::parse(" ").unwrap().hides_calls());
        for text in ["order ==", "a == 1 &&", "duration > duration("] {
            assert!(EventFilter::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_condition_that_fits_no_method_says_why() {
        let methods = [Arc::new(traced_method()), Arc::new(method())];
        let misfit = |text: &str| EventFilter::parse(text).unwrap().misfit(methods.iter());
        assert_eq!(misfit("day == 'Friday'"), None);
        assert!(misfit("missing > 1").is_some_and(|error| error.to_string().contains("order")));
        assert_eq!(misfit("words only"), None);
        assert_eq!(EventFilter::parse("a == 1").unwrap().misfit(std::iter::empty()), None);
    }
}
