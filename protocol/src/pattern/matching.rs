//! A parsed pattern, and matching names against it.

use super::attribute_name::{AttributeName, without_arity};
use super::glob::{Glob, NameBytes};
use super::params;
use std::cell::LazyCell;

/// A parsed pattern.
#[derive(Clone, Debug)]
pub struct Pattern {
    pub(super) text: String,
    pub(super) assembly: Option<Glob>,
    pub(super) attributes: Vec<AttributeName>,
    pub(super) target: Target,
    pub(super) wildcard: bool,
}

#[derive(Clone, Debug)]
pub(super) enum Target {
    Token(u32),
    /// Every way to split it; none if there is no dot.
    Named {
        splits: Vec<Split>,
        /// Text between the assembly and the params, without spaces, with stars as [`super::glob::STAR`].
        body: String,
    },
    /// Members of an interface or base class; every way to split it, also into a type alone.
    Implements {
        splits: Vec<Split>,
        /// As in `Named`.
        body: String,
    },
}

/// One way to split a pattern into a type and a method.
#[derive(Clone, Debug)]
pub(super) struct Split {
    /// In metadata form.
    pub(super) type_name: Glob,
    pub(super) method: Glob,
    /// Number of the method's own type parameters; None: any number.
    pub(super) arity: Option<u32>,
    /// In canonical form, normalised.
    pub(super) params: Option<Glob>,
}

/// A pattern restricted to a type that it can match.
#[derive(Clone, Debug)]
pub struct TypeMatch<'p> {
    splits: &'p [Split],
    /// Splits whose left half matches, one bit each. A pattern has fewer splits than bits
    /// (`limits::MAX_PATTERN_DOTS`).
    matching: u128,
    /// Bytes that a method's name must have to match any of them.
    required: u128,
}

impl Pattern {
    /// Returns the pattern as typed, without surrounding spaces.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the pattern has a wildcard, so that it may match several methods.
    pub fn has_wildcard(&self) -> bool {
        self.wildcard
    }

    /// Returns the MethodDef token of `ASSEMBLY!0x06000012`. Such a pattern matches by assembly and token;
    /// `for_type` returns None for it.
    pub fn token(&self) -> Option<u32> {
        match self.target {
            Target::Token(token) => Some(token),
            Target::Named { .. } | Target::Implements { .. } => None,
        }
    }

    /// Returns whether methods of the assembly with this simple name can match.
    pub fn matches_assembly(&self, assembly: &str) -> bool {
        self.assembly.as_ref().is_none_or(|glob| glob.matches(assembly))
    }

    /// Restricts the pattern to a type, given in metadata form; None if none of its methods can match by name. A
    /// pattern that names an interface or base class matches no type.
    pub fn for_type<'p>(&'p self, type_name: &str) -> Option<TypeMatch<'p>> {
        let Target::Named { splits, .. } = &self.target else { return None };
        TypeMatch::of(splits, |name| name.matches(type_name))
    }

    /// Returns whether the pattern names an interface or base class: it matches the methods that implement the
    /// members that [`Pattern::for_supertype`] describes.
    pub fn names_supertype(&self) -> bool {
        matches!(self.target, Target::Implements { .. })
    }

    /// Restricts the pattern to the members of an interface or base class, given in metadata form; None if it names
    /// another, or none. A name without type parameters also means generic types.
    pub fn for_supertype<'p>(&'p self, type_name: &str) -> Option<TypeMatch<'p>> {
        let Target::Implements { splits, .. } = &self.target else { return None };
        let generic = type_name.contains('`').then(|| without_arity(type_name));
        let is_it = |name: &Glob| {
            name.matches(type_name) || generic.as_deref().is_some_and(|generic| name.matches(generic))
        };
        TypeMatch::of(splits, is_it)
    }

    /// Returns the attributes that a matching method, or its type, must carry, each of them.
    pub fn attributes(&self) -> &[AttributeName] {
        &self.attributes
    }

    /// Returns whether names alone do not decide what the pattern matches.
    pub fn needs_metadata(&self) -> bool {
        self.names_supertype() || !self.attributes.is_empty()
    }
}

impl<'p> TypeMatch<'p> {
    /// Keeps the splits with a left half that matches; None if there is none.
    fn of(splits: &'p [Split], is_it: impl Fn(&Glob) -> bool) -> Option<TypeMatch<'p>> {
        let bit = |(index, split): (usize, &Split)| u128::from(is_it(&split.type_name)) << index;
        let matching =
            splits.iter().take(u128::BITS as usize).enumerate().map(bit).fold(0, |all, one| all | one);
        (matching != 0).then(|| {
            let matched = TypeMatch { splits, matching, required: 0 };
            let required =
                matched.matching_splits().fold(u128::MAX, |all, split| all & split.method.required_bytes());
            TypeMatch { required, ..matched }
        })
    }

    /// Iterates over the splits whose left half matches.
    fn matching_splits(&self) -> impl Iterator<Item = &'p Split> {
        let (splits, mut remaining) = (self.splits, self.matching);
        std::iter::from_fn(move || {
            let split = splits.get(remaining.trailing_zeros() as usize)?;
            remaining &= remaining - 1;
            Some(split)
        })
    }

    /// Returns whether no method with these bytes in its name matches. This costs next to nothing and rules out
    /// most methods.
    pub fn rules_out(&self, bytes: NameBytes) -> bool {
        self.required & !bytes.bits() != 0
    }

    /// Returns whether a method matches, given its metadata name and the number of its own type parameters.
    /// `params` returns its canonical params. It is called, once, only if the pattern has `(PARAMS)` and
    /// everything else matches; without it nothing is allocated.
    pub fn matches(&self, method: &str, arity: u32, params: impl FnOnce() -> String) -> bool {
        let params = LazyCell::new(|| params::normalise_canonical(&params()));
        self.matching_splits().any(|split| {
            split.arity.is_none_or(|wanted| wanted == arity)
                && split.method.matches(method)
                && split.params.as_ref().is_none_or(|glob| glob.matches(&params))
        })
    }
}
