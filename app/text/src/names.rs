//! The parts of a method's full name.

/// Returns the length of the namespace in a type's full C# name. Ignores the dots in names of nested types
/// and type arguments.
pub fn namespace_length(name: &str) -> usize {
    let end = name
        .char_indices()
        // A `<` at the start is part of the name, as in `<Module>`.
        .find(|(at, c)| *c == '+' || (*c == '<' && *at > 0))
        .map_or(name.len(), |(at, _)| at);
    name.get(..end).and_then(|head| head.rfind('.')).unwrap_or(0)
}

/// Returns the length of the interface's name in an explicit implementation, including the dot:
/// `System.Collections.Generic.IEnumerator<int>.get_Current`.
pub fn explicit_length(method: &str) -> usize {
    let mut depth = 0;
    let mut length = 0;
    for (at, letter) in method.char_indices() {
        match letter {
            '<' => depth += 1,
            '>' => depth -= 1,
            // The dot of `.ctor` separates nothing.
            '.' if depth == 0 && at > 0 => length = at + 1,
            _ => {}
        }
    }
    length
}

/// Returns the offset of the method in a name with its type: `Touch` in `Shop.Cart.Touch`, `.ctor` in
/// `Shop.Cart..ctor`.
pub fn method_start(name: &str) -> usize {
    let start = explicit_length(name);
    let special = name.get(..start).is_some_and(|before| before.ends_with(".."));
    start - usize::from(special)
}

/// Shortens a method's name by leaving out parts from its beginning: first its assembly, then its namespaces, one after
/// the other. Yields the name from each of these places on, longest first; the last is `Type.Method` with its parameters.
pub fn shorter(name: &str) -> impl Iterator<Item = &str> {
    let rest = name.split_once('!').map_or(name, |(_, rest)| rest);
    let path = rest.split('(').next().unwrap_or_default();
    let type_name = path.get(..method_start(path)).unwrap_or_default().trim_end_matches('.');
    let namespace = rest.get(..namespace_length(type_name) + 1).unwrap_or_default();
    let dots = namespace.match_indices('.').map(|(at, _)| at + 1);
    std::iter::once(0).chain(dots).filter_map(move |at| rest.get(at..))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_end_before_nested_types_and_type_parameters() {
        for (name, namespace) in [
            ("Shop.Cart", "Shop"),
            ("A.B.Box<T>", "A.B"),
            ("A.Outer<X>+In.ner", "A"),
            ("<Module>", ""),
            ("Top", ""),
            ("A.<>c", "A"),
            ("Shop.Cart+<Add>d__1", "Shop"),
            (".", ""),
        ] {
            assert_eq!(&name[..namespace_length(name)], namespace, "{name}");
        }
    }

    #[test]
    fn interface_prefix_is_not_part_of_the_method() {
        for (name, own) in [
            ("Add", "Add"),
            (".ctor", ".ctor"),
            ("Shop.ICart.Touch", "Touch"),
            ("System.Collections.Generic.IEnumerator<System.String>.get_Current", "get_Current"),
            ("Map<A.B, C.D>", "Map<A.B, C.D>"),
            ("", ""),
        ] {
            assert_eq!(name.get(explicit_length(name)..), Some(own), "{name}");
        }
    }

    #[test]
    fn finds_the_method_after_its_type() {
        for (name, own) in [
            ("Shop.Till.Ring", "Ring"),
            ("Shop.Till..ctor", ".ctor"),
            ("Shop.Box<T>+Lid<A.B>.Open<U.V>", "Open<U.V>"),
            ("Program.<Main>$", "<Main>$"),
            ("Main", "Main"),
        ] {
            assert_eq!(name.get(method_start(name)..), Some(own), "{name}");
        }
    }

    #[test]
    fn assembly_and_namespaces_go_before_the_type() {
        for (name, shorter_names) in [
            ("Shop!A.B.Cart.Add(C.D)", &["A.B.Cart.Add(C.D)", "B.Cart.Add(C.D)", "Cart.Add(C.D)"][..]),
            ("Shop!A.Cart+Inner<B.C>..ctor()", &["A.Cart+Inner<B.C>..ctor()", "Cart+Inner<B.C>..ctor()"]),
            ("Shop!Program.<Main>$(string[])", &["Program.<Main>$(string[])"]),
            ("Main", &["Main"]),
        ] {
            assert_eq!(shorter(name).collect::<Vec<_>>(), shorter_names, "{name}");
        }
    }
}
