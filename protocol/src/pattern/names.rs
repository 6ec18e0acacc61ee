//! Forms of names: keywords, brackets, lists of type parameters.

/// C# keywords for types, with the name after `System.` in metadata.
const KEYWORDS: [(&str, &str); 18] = [
    ("bool", "Boolean"),
    ("byte", "Byte"),
    ("sbyte", "SByte"),
    ("char", "Char"),
    ("decimal", "Decimal"),
    ("double", "Double"),
    ("float", "Single"),
    ("int", "Int32"),
    ("uint", "UInt32"),
    ("long", "Int64"),
    ("ulong", "UInt64"),
    ("nint", "IntPtr"),
    ("nuint", "UIntPtr"),
    ("object", "Object"),
    ("short", "Int16"),
    ("string", "String"),
    ("ushort", "UInt16"),
    ("void", "Void"),
];

/// Returns the metadata name of a keyword.
pub(super) fn metadata_of_keyword(word: &str) -> Option<String> {
    KEYWORDS.iter().find(|(keyword, _)| *keyword == word).map(|(_, name)| format!("System.{name}"))
}

/// Returns the keyword for a metadata name.
pub(super) fn keyword_of(name: &str) -> Option<&'static str> {
    let name = name.strip_prefix("System.")?;
    KEYWORDS.iter().find(|(_, metadata)| *metadata == name).map(|(keyword, _)| *keyword)
}

/// Returns the index of the bracket that closes the one at `open`, counting all three kinds.
pub(super) fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0usize;
    for (index, c) in text.get(open..)?.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(open + index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Returns the index of the bracket that opens the one at the very end of `text`.
pub(super) fn opening(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (index, c) in text.char_indices().rev() {
        match c {
            '>' | ')' | ']' => depth += 1,
            '<' | '(' | '[' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits at a separator outside all brackets; unbalanced closing brackets count as characters.
pub(super) fn split_outside(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut depth, mut start) = (0usize, 0);
    for (index, c) in text.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            _ if c == separator && depth == 0 => {
                parts.push(&text[start..index]);
                start = index + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Returns whether the `<` at `index` begins a list of type parameters, because it follows a name. At the start
/// of a name it is part of the name.
pub(super) fn begins_list(text: &str, index: usize) -> bool {
    text[..index].chars().next_back().is_some_and(|before| !matches!(before, '.' | '+' | '<' | ',' | '>'))
}

/// Splits a name into the name proper and the entries of its trailing type-parameter list, if it has one.
pub(super) fn cut_list(name: &str) -> (&str, Option<Vec<&str>>) {
    let open = name.ends_with('>').then(|| opening(name)).flatten();
    match open.filter(|open| begins_list(name, *open)) {
        Some(open) => (&name[..open], Some(split_outside(&name[open + 1..name.len() - 1], ','))),
        None => (name, None),
    }
}

/// Returns a type's C# form from its metadata form. Names of type parameters, which the metadata form lacks,
/// are invented: `T`, or `T1`, `T2` …. (In a pattern only their number counts.)
pub fn csharp_type(metadata: &str) -> String {
    let mut out = String::with_capacity(metadata.len());
    for (index, segment) in metadata.split('+').enumerate() {
        if index > 0 {
            out.push('+');
        }
        let arity = segment.rsplit_once('`').and_then(|(name, n)| Some((name, n.parse::<u16>().ok()?)));
        match arity {
            None | Some((_, 0)) => out.push_str(segment),
            Some((name, 1)) => {
                out.push_str(name);
                out.push_str("<T>");
            }
            Some((name, n)) => {
                let entries: Vec<String> = (1..=n).map(|number| format!("T{number}")).collect();
                out.push_str(name);
                out.push('<');
                out.push_str(&entries.join(","));
                out.push('>');
            }
        }
    }
    out
}
