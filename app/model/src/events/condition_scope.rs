//! The values that conditions on calls of a method may use, as far as its traced calls show them.

use redial_protocol::condition::{Root, Scope, ValueType};
use redial_protocol::trace::TracedMethod;

/// Returns the values of a method. The agent knows more: enums, and values that cannot be used.
pub fn condition_scope(method: &TracedMethod) -> Scope {
    let parameters = method.parameters.iter().zip(0..).map(|(parameter, index)| {
        let name = &parameter.type_name;
        let root = if name.starts_with("out ") { Root::ArgumentAfter(index) } else { Root::Argument(index) };
        (parameter.name.clone(), name.clone(), value_type(name), root)
    });
    let result = method.result.as_ref().map(|name| (name.clone(), value_type(name)));
    Scope { parameters: parameters.collect(), result }
}

fn value_type(name: &str) -> ValueType {
    let name = ["ref ", "out ", "in "].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
    match name {
        "bool" => ValueType::Bool,
        "string" | "char" => ValueType::String,
        "sbyte" | "short" | "int" | "long" | "nint" | "System.IntPtr" => ValueType::Int,
        "byte" | "ushort" | "uint" | "ulong" | "nuint" | "System.UIntPtr" => ValueType::UInt,
        "float" | "double" => ValueType::Double,
        // Its fields are looked up in each object.
        _ => ValueType::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use redial_protocol::condition::Condition;
    use redial_protocol::trace::TracedParameter;
    use redial_text::fixtures::traced_method;

    #[test]
    fn conditions_are_checked_against_names_and_types() {
        let mut method = traced_method();
        let other =
            |name: &str, type_name: &str| TracedParameter { name: name.into(), type_name: type_name.into() };
        method.parameters.extend([other("day", "System.DayOfWeek"), other("count", "out int")]);
        let scope = condition_scope(&method);
        let check = |text: &str| Condition::parse(text).expect("parsed").check(&scope);
        for text in [
            "order > 3 && rate < 0.5",
            "day == \"Friday\"",
            "result != 1.5",
            "count == 1",
            "exception == null",
        ] {
            assert!(check(text).is_ok(), "{text}");
        }
        assert_eq!(check("rate > 0.2 && ordr > 3").expect_err("no such name").at(), 14);
        assert!(check("order == \"x\"").is_err());
        method.result = None;
        assert!(Condition::parse("result == 1").expect("parsed").check(&condition_scope(&method)).is_err());
    }
}
