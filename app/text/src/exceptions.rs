//! Wording of thrown exceptions.

use crate::traced_calls::{UNKNOWN_TYPE, inner_exceptions, with_message};
use crate::words;
use redial_protocol::exceptions::{ThrownException, ThrownRow};

/// Stands for a method that the runtime does not name.
const UNKNOWN_METHOD: &str = "an unknown method";

/// Formats an exception: `Shop!Shop.Cart.Add threw Shop.OutOfStock: no item ---> Cause: …`.
pub fn exception(row: &ThrownRow, exception: &ThrownException) -> String {
    let verb = if exception.rethrown { "rethrew" } else { "threw" };
    let name = row.type_name.as_deref().unwrap_or(UNKNOWN_TYPE);
    let thrown = with_message(name, Some(&exception.message));
    format!("{} {verb} {thrown}{}", method(row), inner_exceptions(&exception.inner))
}

/// Formats the type of a row.
pub fn type_name(row: &ThrownRow) -> String {
    row.type_name.clone().unwrap_or_else(|| "(unloaded type)".to_owned())
}

/// Formats the throwing method of a row: `Shop!Shop.Cart.Add`.
pub fn method(row: &ThrownRow) -> String {
    match &row.method {
        Some(method) => format!("{}!{}", method.module, method.method),
        None => UNKNOWN_METHOD.to_owned(),
    }
}

/// Explains exceptions that were counted but not printed; `None` if there are none.
pub fn unprinted(number: u64) -> Option<String> {
    let exceptions = words::count(number, "exception was", "exceptions were");
    (number > 0).then(|| {
        format!("{exceptions} counted but not printed, because they came faster than --rate allows or the output takes")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::exceptions::ThrowingMethod;
    use redial_protocol::trace::{InnerException, Value};

    fn text(text: &str) -> Value {
        let units: Vec<u16> = text.encode_utf16().collect();
        Value::String { length: units.len() as u32, units }
    }

    #[test]
    fn formats_exceptions_with_their_method() {
        let method = ThrowingMethod {
            module: "Shop".into(),
            method: "Shop.Cart.Add".into(),
            signature: "(int)".into(),
        };
        let row = ThrownRow { row: 0, type_name: Some("Shop.Full".into()), method: Some(method) };
        let inner = InnerException { type_name: Some("Shop.Cause".into()), message: Some(text("why")) };
        let thrown = ThrownException {
            row: 0,
            unix_ns: 1,
            thread: 1,
            rethrown: false,
            message: text("no\nroom"),
            inner: vec![inner],
        };
        assert_eq!(exception(&row, &thrown), r"Shop!Shop.Cart.Add threw Shop.Full: no\nroom ---> Cause: why");
        let again = ThrownException { rethrown: true, message: Value::Null, inner: vec![], ..thrown };
        let unknown = ThrownRow { row: 1, type_name: None, method: None };
        assert_eq!(exception(&unknown, &again), "an unknown method rethrew an exception of unknown type");
        assert_eq!(type_name(&unknown), "(unloaded type)");
        assert_eq!(unprinted(0), None);
        assert!(unprinted(1_200).is_some_and(|text| text.starts_with("1,200 exceptions were counted")));
    }
}
