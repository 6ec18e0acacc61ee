//! Patterns: the way users name methods, `[ASSEMBLY!]TYPE.METHOD[(PARAMS)]`, or select them by attribute
//! (`[HttpGet]`) or by the interface whose members they implement (`implements:Shop.IOrderHandler`).
//!
//! Owns the grammar and the matching; pure. It must not know where names come from. Names have three forms
//! here: the *metadata form* of types (``Ns.Outer`1+Inner``), which callers pass for matching; *canonical
//! params* (below), which matching requests if a pattern has `(PARAMS)`; and the *printed form*, which users
//! see and type.
//!
//! # Grammar
//! - The assembly is its simple name, without extension.
//! - A pattern matches if *some* dot splits it so that the left half matches the whole type name and the right
//!   half the whole method name. Dots inside `<…>` do not split. `*` matches any run of characters within a
//!   half; alone it matches everything. A pattern without a dot matches nothing (suggestions help).
//! - Types have their C# form: `List<T>`, `Dictionary<TKey, TValue>` or `Dictionary<,>`, `Outer<T>+Inner`; of
//!   type parameters only the number counts. A C# keyword alone is its type (`string.Concat`). A `<` at the
//!   start of a name is part of it (`<>c`, `<Main>$`).
//! - Members have their metadata names: `get_Total`, `.ctor` (`Shop.Cart..ctor`), `Shop.ICart.Add`. `Put<U>` is
//!   the `Put` with one type parameter; `Put` is every `Put`, but `Put(…)` only one without type parameters.
//! - `ASSEMBLY!0x06000012` is one method by its token.
//! - `[NAME]` before the names, once or several times, matches only methods that carry the attribute themselves or by
//!   their type; without names, all of them. Its end `Attribute` may be omitted, and its namespace, unless NAME has a
//!   dot or a plus.
//! - `implements:TYPE` in place of the names matches the methods that a call of a member of that interface or class may
//!   run, `implements:TYPE.MEMBER` only those of such members; `(PARAMS)` are those of the method. A type without a
//!   list of type parameters also means generic types.
//! - Spaces are ignored, case counts. `\*` is a literal star (of a pointer), `\\` a backslash.
//!
//! # Canonical params
//! `(` types `)` separated by `,`, without spaces except the one after `ref`:
//! - C# keywords where there is one (`int`, `string`, `nint`, `void`), else the full name with namespace;
//! - `Outer+Inner`; generic instances with the arguments of each level: `System.Collections.Generic.List<int>`,
//!   `Outer<int>+Inner<string>`;
//! - type parameters `!0`, `!1` … of the type (nested types count their outer types' first), `!!0` … of the
//!   method;
//! - arrays `int[]`, `int[,]` (arrays of arrays outermost first, as in C#: `int[][,]` is an array of `int[,]`);
//! - pointers `int*`; function pointers `delegate*<int,void>`, the return type last;
//! - `ref int` for every by-reference parameter, also `in` and `out`, because the signature does not
//!   distinguish them (ECMA-335 II.23.2.10); no custom modifiers; `__arglist` at the end of the fixed
//!   parameters.
//!
//! The printed form is the same except for `, ` between types, `\*` for the stars of pointers, and declared
//! names of type parameters (which a pattern maps back through `Box<T>` and `Put<U>`). `module!method` with the
//! printed params is a pattern for exactly that method. In a pattern, `ref`, `in`, `out` and `ref readonly`
//! mean the same, a keyword's type may be written out (`System.Int32`), and `int?` is `System.Nullable<int>`.

mod attribute_name;
mod error;
mod glob;
mod matching;
mod names;
mod params;
mod parse;
mod selectors;
mod suggest;
mod suggest_supertypes;

pub use attribute_name::AttributeName;
pub use error::PatternError;
pub use glob::NameBytes;
pub use matching::{Pattern, TypeMatch};
pub use names::csharp_type;

/// Returns the pattern of all methods of the types that `[ASSEMBLY!]TYPE` names: patterns for types are patterns without
/// a method.
pub fn types_pattern(types: &str) -> String {
    format!("{}.*", types.trim())
}

/// Returns the patterns nearest to one that matched nothing, at most [`crate::limits::MAX_SUGGESTIONS`], nearest first;
/// equal distances keep the order of `names`. There are none for attributes, whose names are not among these.
///
/// `names` are assembly (simple name), type (metadata form) and method (metadata name), those of the program
/// before those of the framework. Methods of one type should be adjacent.
pub fn suggestions<'a>(
    pattern: &Pattern,
    names: impl IntoIterator<Item = (&'a str, &'a str, &'a str)>,
) -> Vec<String> {
    if !pattern.attributes().is_empty() {
        Vec::new()
    } else if pattern.names_supertype() {
        suggest_supertypes::suggest_supertypes(pattern, names)
    } else {
        suggest::suggest_names(pattern, names)
    }
}
