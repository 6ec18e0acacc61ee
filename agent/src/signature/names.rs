//! Names of types in C# form, from their metadata names.

/// Resolves the names of TypeDef and TypeRef tokens.
pub trait TypeNames {
    /// Returns the full metadata name, as in ``Ns.Outer`1+Inner``; `None` if the token has no name.
    fn type_name(&self, token: u32) -> Option<String>;
}

/// Formats ``Ns.Outer`1+Inner`1`` with `["T", "U"]` as `Ns.Outer<T>+Inner<U>`: each part takes as many names as
/// its arity. Extra names follow the last part; if names are missing, the arity stays in the text.
pub fn display_type_name<S: AsRef<str>>(metadata_name: &str, parameters: &[S]) -> String {
    let mut out = String::with_capacity(metadata_name.len() + 2 * parameters.len());
    append_type_name(metadata_name, parameters.len(), &mut out, |out, index| {
        out.push_str(parameters.get(index).map_or("?", AsRef::as_ref));
    });
    out
}

/// Like [`display_type_name`], but appends to a string; `append` writes the argument with the given number.
pub fn append_type_name(
    metadata_name: &str,
    arguments: usize,
    out: &mut String,
    mut append: impl FnMut(&mut String, usize),
) {
    append_named(metadata_name, arguments, ", ", out, &mut append);
}

/// Like [`append_type_name`], with the separator between two arguments.
pub(super) fn append_named(
    metadata_name: &str,
    arguments: usize,
    separator: &str,
    out: &mut String,
    append: &mut dyn FnMut(&mut String, usize),
) {
    let mut next = 0;
    let mut list = |out: &mut String, count: usize| {
        out.push('<');
        for number in 0..count {
            if number > 0 {
                out.push_str(separator);
            }
            append(out, next);
            next += 1;
        }
        out.push('>');
    };
    let mut left = arguments;
    let mut rest = metadata_name;
    while left > 0 {
        let Some(tick) = rest.find('`') else { break };
        let (before, after) = rest.split_at(tick);
        let after = after.get(1..).unwrap_or_default();
        let digits = after.bytes().take_while(u8::is_ascii_digit).count();
        let (number, behind) = after.split_at(digits);
        out.push_str(before);
        // The mark is an arity only at the end of a part.
        let ends_part = behind.is_empty() || behind.starts_with('+');
        match number.parse::<usize>() {
            Ok(arity) if ends_part && (1..=left).contains(&arity) => {
                list(out, arity);
                left -= arity;
            }
            _ => {
                out.push('`');
                out.push_str(number);
            }
        }
        rest = behind;
    }
    out.push_str(rest);
    if left > 0 {
        list(out, left);
    }
}
