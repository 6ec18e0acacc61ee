//! `redial dial … time --completions`: the orders that bring the bodies of async methods along.

use redial_protocol::level::Level;
use redial_protocol::order::Order;

/// The order for the state machines of the async methods that an order means: where the compiler puts the work of
/// `Shop.Cart.AddAsync` is `Shop.Cart+<AddAsync>d__3.MoveNext`.
///
/// # Errors
/// A sentence, where that cannot be told from the pattern.
pub fn along(order: &Order) -> Result<Order, String> {
    if order.level < Level::Time {
        let level = order.level;
        return Err(format!("--completions brings along what is to be timed: it has no use with {level}"));
    }
    let pattern = machines(&order.pattern).ok_or_else(|| {
        format!(
            "--completions needs a pattern with the names of a type and a method, which '{}' is not",
            order.pattern
        )
    })?;
    Ok(Order { pattern, ..order.clone() })
}

/// The pattern of the state machines of what a pattern means; parameters are no part of their names.
fn machines(pattern: &str) -> Option<String> {
    let (assembly, names) = match pattern.split_once('!') {
        Some((assembly, names)) => (Some(assembly.trim()), names.trim()),
        None => (None, pattern.trim()),
    };
    if names.starts_with("0x") || names.starts_with("0X") {
        return None;
    }
    let names = names.split_once('(').map_or(names, |(names, _)| names).trim();
    let (owner, method) = if names == "*" { ("*", "*") } else { names.rsplit_once('.')? };
    // A method's own type parameters are not part of it either; a `<` at the start is part of the name.
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
    use redial_protocol::pattern::Pattern;

    /// Whether the machines' pattern means the `MoveNext` of a type.
    fn means(pattern: &str, machine: &str) -> bool {
        let pattern = Pattern::parse(&machines(pattern).expect("a pattern")).expect("a good one");
        pattern.for_type(machine).is_some_and(|of| of.matches("MoveNext", 0, || "()".to_owned()))
    }

    #[test]
    fn state_machines_are_found_where_the_compiler_puts_them() {
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
    fn what_names_no_method_or_is_not_timed_is_refused() {
        for pattern in ["Shop!0x06000012", "AddAsync", ".AddAsync", "Shop."] {
            let why = along(&Order::new(pattern, Level::Time)).expect_err(pattern);
            assert!(why.contains(pattern), "{why}");
        }
        let why = along(&Order::new("A.B", Level::Count)).expect_err("it is counted");
        assert!(why.contains("no use with count"), "{why}");
        let order = Order { domain: Some("Shop".into()), ..Order::new("A.B", Level::Time) };
        let along = along(&order).expect("an order");
        assert_eq!((along.pattern.as_str(), along.domain), ("A+<B>d__*.MoveNext", order.domain));
    }
}
