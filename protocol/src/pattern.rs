//! Patterns: how users name methods, `[ASSEMBLY!]TYPE.METHOD[(PARAMS)]`.
//!
//! Owns the grammar and the matching; pure. Must not know where names come from. Three forms of a name meet here:
//! *metadata form* of types (``Ns.Outer`1+Inner``), which matching is given; *canonical params*, which matching
//! asks for when a pattern has `(PARAMS)` (below); and the *printed form* users see and type.
//!
//! # Grammar
//! - The assembly is its simple name, without extension.
//! - A pattern matches when *some* dot splits it so that the left half matches the whole type name and the right
//!   half the whole method name. Dots inside `<…>` split nothing. `*` is any run of characters within a half;
//!   alone it is everything. A pattern without a dot matches nothing (suggestions help).
//! - Types in C# form: `List<T>`, `Dictionary<TKey, TValue>` or `Dictionary<,>`, `Outer<T>+Inner`; type parameters
//!   count by number only. A C# keyword alone is its type (`string.Concat`). A `<` at the start of a name is part
//!   of it (`<>c`, `<Main>$`).
//! - Members have their metadata names: `get_Total`, `.ctor` (`Shop.Cart..ctor`), `Shop.ICart.Add`. `Put<U>` is the
//!   `Put` with one type parameter; `Put` is every `Put`, but `Put(…)` only one without type parameters.
//! - `ASSEMBLY!0x06000012` is one method by its token.
//! - Spaces are ignored, case counts. `\*` is a star that is no wildcard (a pointer's), `\\` a backslash.
//!
//! # Canonical params
//! `(` types `)` with `,` between them and no spaces but the one after `ref`:
//! - C# keywords where there is one (`int`, `string`, `nint`, `void`), else the full name with namespace;
//! - `Outer+Inner`; generic instances with each level's own arguments: `System.Collections.Generic.List<int>`,
//!   `Outer<int>+Inner<string>`;
//! - type parameters `!0`, `!1` … of the type (nested types count their outer types' first), `!!0` … of the method;
//! - arrays `int[]`, `int[,]` (arrays of arrays outermost first, as in C#: `int[][,]` is an array of `int[,]`);
//! - pointers `int*`; function pointers `delegate*<int,void>`, the return type last;
//! - `ref int` for every by-reference parameter, `in` and `out` too, because their difference is no part of the
//!   signature (ECMA-335 II.23.2.10); custom modifiers are left out; `__arglist` where the fixed parameters end.
//!
//! The printed form is the same but for `, ` between types, `\*` for pointers' stars, and type parameters by their
//! declared names (which a pattern maps back through `Box<T>` and `Put<U>`): `module!method` with the printed params
//! is a pattern for exactly that method. In a pattern, `ref`, `in`, `out` and `ref readonly` mean the same, a
//! keyword's type may be written out (`System.Int32`), and `int?` is `System.Nullable<int>`.

mod glob;
mod names;
mod params;
mod parse;
mod suggest;

pub use names::csharp_type;
pub use parse::PatternError;
pub use suggest::suggestions;

use glob::Glob;
use std::cell::LazyCell;

/// A parsed pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    assembly: Option<Glob>,
    target: Target,
    wildcard: bool,
}

#[derive(Clone, Debug)]
enum Target {
    Token(u32),
    /// Every way to split it; none when there is no dot.
    Named {
        splits: Vec<Split>,
        /// What stands between the assembly and the params, spaces gone, stars as [`glob::STAR`].
        body: String,
    },
}

/// One way to split a pattern into a type and a method.
#[derive(Clone, Debug)]
struct Split {
    /// Of the metadata form.
    type_name: Glob,
    method: Glob,
    /// Type parameters the method must have of its own; None: any number.
    arity: Option<u32>,
    /// Of the canonical form, normalised.
    params: Option<Glob>,
}

/// Which bytes a name has, or must have: a bit for each, those of ASCII apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NameBytes(u128);

impl NameBytes {
    /// Those of this name.
    pub fn of(name: &str) -> NameBytes {
        NameBytes(name.bytes().fold(0, |all, byte| all | 1 << (byte & 0x7F)))
    }
}

/// A pattern restricted to a type that it can match.
#[derive(Clone, Debug)]
pub struct TypeMatch<'p> {
    splits: &'p [Split],
    /// Of these, one bit each: those whose left half matches. A pattern has fewer (`limits::MAX_PATTERN_DOTS`).
    which: u128,
    /// What a method's name must have to match any of them.
    needs: u128,
}

impl Pattern {
    /// Parses a pattern as typed.
    ///
    /// # Errors
    /// A sentence that says what is wrong and where.
    pub fn parse(text: &str) -> Result<Pattern, PatternError> {
        parse::parse(text)
    }

    /// The pattern as typed, without spaces around it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a wildcard is anywhere in it, so that it names no single method.
    pub fn has_wildcard(&self) -> bool {
        self.wildcard
    }

    /// The MethodDef token of `ASSEMBLY!0x06000012`. Such a pattern matches by assembly and token; `for_type`
    /// finds nothing for it.
    pub fn token(&self) -> Option<u32> {
        match self.target {
            Target::Token(token) => Some(token),
            Target::Named { .. } => None,
        }
    }

    /// Whether methods of the assembly with this simple name can match.
    pub fn matches_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_none_or(|glob| glob.matches(assembly))
    }

    /// The pattern as far as it concerns a type, given in metadata form; None when none of its methods match.
    pub fn for_type<'p>(&'p self, type_name: &str) -> Option<TypeMatch<'p>> {
        let Target::Named { splits, .. } = &self.target else { return None };
        let bit = |(index, split): (usize, &Split)| u128::from(split.type_name.matches(type_name)) << index;
        let which =
            splits.iter().take(u128::BITS as usize).enumerate().map(bit).fold(0, |all, one| all | one);
        (which != 0).then(|| {
            let matched = TypeMatch { splits, which, needs: 0 };
            let needs = matched.of_type().fold(u128::MAX, |all, split| all & split.method.needs());
            TypeMatch { needs, ..matched }
        })
    }
}

impl<'p> TypeMatch<'p> {
    /// The ways to split it whose left half matches.
    fn of_type(&self) -> impl Iterator<Item = &'p Split> {
        let (splits, mut left) = (self.splits, self.which);
        std::iter::from_fn(move || {
            let split = splits.get(left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(split)
        })
    }

    /// Whether no method with these bytes in its name matches. It costs next to nothing, and is so for most.
    pub fn rules_out(&self, bytes: NameBytes) -> bool {
        self.needs & !bytes.0 != 0
    }

    /// Whether a method matches: its metadata name, the number of its own type parameters, and a way to get its
    /// canonical params. `params` is called, once, only when the pattern has `(PARAMS)` and everything else
    /// matches; without it nothing is allocated.
    pub fn matches(&self, method: &str, arity: u32, params: impl FnOnce() -> String) -> bool {
        let params = LazyCell::new(|| params::normalise_canonical(&params()));
        self.of_type().any(|split| {
            split.arity.is_none_or(|wanted| wanted == arity)
                && split.method.matches(method)
                && split.params.as_ref().is_none_or(|glob| glob.matches(&params))
        })
    }
}
