//! `redial dial … time --completions`: adds orders for the state machines of async methods.

use redial_protocol::level::Level;
use redial_protocol::order::Order;
use redial_protocol::pattern::Pattern;

/// Returns the order for the state machines of the async methods that an order matches. The C# compiler moves the body
/// of `Shop.Cart.AddAsync` to `Shop.Cart+<AddAsync>d__3.MoveNext`.
///
/// # Errors
/// A sentence, if the pattern does not name a type and a method, or the level does not time.
pub fn with_async_bodies(order: &Order) -> Result<Order, String> {
    if order.level < Level::Time {
        let level = order.level;
        return Err(format!("--completions needs level time; it has no effect with {level}"));
    }
    let pattern = machines(&order.pattern).ok_or_else(|| {
        format!(
            "--completions needs a pattern that names only a type and a method; '{}' does not",
            order.pattern
        )
    })?;
    Ok(Order { pattern, ..order.clone() })
}

/// Returns the pattern of the state machines. Their names do not include parameters.
fn machines(pattern: &str) -> Option<String> {
    // Attributes and interfaces are those of the method, not of its state machine.
    if Pattern::parse(pattern).is_ok_and(|pattern| pattern.needs_metadata()) {
        return None;
    }
    let (assembly, names) = match pattern.split_once('!') {
        Some((assembly, names)) => (Some(assembly.trim()), names.trim()),
        None => (None, pattern.trim()),
    };
    if names.starts_with("0x") || names.starts_with("0X") {
        return None;
    }
    let names = names.split_once('(').map_or(names, |(names, _)| names).trim();
    let (owner, method) = if names == "*" { ("*", "*") } else { names.rsplit_once('.')? };
    // They do not include the method's type parameters either; a leading `<` belongs to the name.
    let method = match method.get(1..).and_then(|rest| rest.find('<')) {
        Some(place) => method.get(..place + 1)?,
        None => method,
    };
    if owner.is_empty() || method.is_empty() {
        return None;
    }
    let assembly = assembly.map(|assembly| format!("{assembly}!")).unwrap_or_default();
    Some(format!("{assembly}{owner}+<{method}>d__*.MoveNext"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns whether the state machine pattern matches the `MoveNext` of a type.
    fn means(pattern: &str, machine: &str) -> bool {
        let pattern = Pattern::parse(&machines(pattern).expect("a pattern")).expect("a good one");
        pattern.for_type(machine).is_some_and(|of| of.matches("MoveNext", 0, || "()".to_owned()))
    }

    #[test]
    fn matches_state_machines_by_compiler_names() {
        for pattern in [
            "Shop.Cart.AddAsync",
            "Shop!Shop.Cart.AddAsync(int, string)",
            "Shop.Cart.*",
            "Shop.*.*",
            "Shop.Cart.*Async",
            "*.AddAsync",
            "*",
            "Shop!*",
            " Shop.Cart.AddAsync<T> ",
        ] {
            assert!(means(pattern, "Shop.Cart+<AddAsync>d__3"), "{pattern}");
            assert!(!means(pattern, "Shop.Cart+Line"), "{pattern}");
        }
        assert!(means("Shop.Box<T>.Put<U>(T)", "Shop.Box`1+<Put>d__12`1"));
        assert!(!means("Shop.Cart.Add", "Shop.Cart+<AddAsync>d__3"));
        assert!(!means("Shop.Cart.*", "Shop.Data+<AddAsync>d__3"));
    }

    #[test]
    fn refuses_patterns_without_names_and_lower_levels() {
        for pattern in [
            "Shop!0x06000012",
            "AddAsync",
            ".AddAsync",
            "Shop.",
            "[HttpGet]A.B",
            "implements:Shop.IHandler.B",
        ] {
            let why = with_async_bodies(&Order::new(pattern, Level::Time)).expect_err(pattern);
            assert!(why.contains(pattern), "{why}");
        }
        let why = with_async_bodies(&Order::new("A.B", Level::Count)).expect_err("it is counted");
        assert!(why.contains("no effect with count"), "{why}");
        let order = Order { domain: Some("Shop".into()), ..Order::new("A.B", Level::Time) };
        let along = with_async_bodies(&order).expect("an order");
        assert_eq!((along.pattern.as_str(), along.domain), ("A+<B>d__*.MoveNext", order.domain));
    }
}
