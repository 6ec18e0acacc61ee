//! Problems with patterns, as sentences that say what is wrong and where.

use crate::limits::{MAX_PATTERN, MAX_PATTERN_DOTS};
use serde::{Deserialize, Serialize};

/// Problem with a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub enum PatternError {
    /// The text is empty.
    #[error("the pattern is empty; write [ASSEMBLY!]TYPE.METHOD[(PARAMS)], for example Shop.Cart.*")]
    Empty,
    /// Longer than [`MAX_PATTERN`].
    #[error("the pattern is {length} bytes long; the limit is {MAX_PATTERN} bytes")]
    TooLong {
        /// Length in bytes.
        length: usize,
    },
    /// A control character.
    #[error("character {position} of the pattern '{escaped}' is a control character")]
    Control {
        /// The pattern in readable form.
        escaped: String,
        /// Position of the character, from 1.
        position: usize,
    },
    /// A backslash that does not precede a star or a backslash.
    #[error(r"in the pattern '{pattern}', the backslash at character {position} does not precede a star or another backslash")]
    Backslash {
        /// The pattern.
        pattern: String,
        /// Position of the backslash, from 1.
        position: usize,
    },
    /// No text before the `!`.
    #[error("the pattern '{pattern}' names no assembly before its '!'")]
    NoAssembly {
        /// The pattern.
        pattern: String,
    },
    /// No text after the `!` or before the `(`.
    #[error("the pattern '{pattern}' names no method; for all methods of an assembly write ASSEMBLY!*")]
    NoMethod {
        /// The pattern.
        pattern: String,
    },
    /// More dots than any name has. Each is a place to split type and method.
    #[error("the pattern has {dots} dots outside brackets; the limit is {MAX_PATTERN_DOTS}")]
    TooManyDots {
        /// Number of dots.
        dots: usize,
    },
    /// Brackets that do not match.
    #[error("the brackets of the parameters in the pattern '{pattern}' do not match")]
    Brackets {
        /// The pattern.
        pattern: String,
    },
    /// Two adjacent commas, or one at an end.
    #[error("parameter {position} of the pattern '{pattern}' is empty")]
    EmptyParameter {
        /// The pattern.
        pattern: String,
        /// Position of the parameter, from 1.
        position: usize,
    },
    /// A tuple in C#'s short form.
    #[error("in the pattern '{pattern}', write the tuple '{tuple}' as System.ValueTuple<…>")]
    Tuple {
        /// The pattern.
        pattern: String,
        /// The parameter.
        tuple: String,
    },
    /// `0x06000012` without an assembly, or with wildcards in its name.
    #[error(
        "the token in the pattern '{pattern}' needs its assembly's name, without wildcards: ASSEMBLY!0x06000012"
    )]
    TokenAlone {
        /// The pattern.
        pattern: String,
    },
    /// The token of something other than a method.
    #[error("'{token}' is not a method token; method tokens are 0x06000001 to 0x06ffffff")]
    BadToken {
        /// The token.
        token: String,
    },
    /// A `[` without `]`.
    #[error(
        "in the pattern '{pattern}', the '[' at character {position} has no ']'; write an attribute as [HttpGet]"
    )]
    OpenAttribute {
        /// The pattern.
        pattern: String,
        /// Position of the bracket, from 1.
        position: usize,
    },
    /// `[]`.
    #[error(
        "in the pattern '{pattern}', the brackets at character {position} name no attribute; write, for example, [HttpGet]"
    )]
    NoAttribute {
        /// The pattern.
        pattern: String,
        /// Position of the opening bracket, from 1.
        position: usize,
    },
    /// An attribute with more than its name.
    #[error(
        "in the pattern '{pattern}', the attribute at character {position} has more than a name; write only its type, as in [HttpGet]"
    )]
    AttributeArguments {
        /// The pattern.
        pattern: String,
        /// Position of the opening bracket, from 1.
        position: usize,
    },
    /// No text after `implements:`.
    #[error(
        "in the pattern '{pattern}', no interface or base class follows the ':' at character {position}; write, for example, implements:Shop.IOrderHandler"
    )]
    NoInterface {
        /// The pattern.
        pattern: String,
        /// Position of the colon, from 1.
        position: usize,
    },
    /// A token with an attribute or after `implements:`.
    #[error("the token in the pattern '{pattern}' already names one method; write only ASSEMBLY!0x06000012")]
    SelectedToken {
        /// The pattern.
        pattern: String,
    },
}
