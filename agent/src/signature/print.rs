//! Prints parameter lists in C# form.
//!
//! The rules are those of `redial_protocol::pattern`:
//!
//! - C# keywords for types that have one (`nint` and `nuint` for native integers), `Outer+Inner` for nested
//!   types, `List<int>` for instantiations;
//! - `ref` before by-reference types; in the display form `in`, `out` or `ref readonly` where the parameter's
//!   own metadata row says so, since signatures do not;
//! - `int*`, `int[]` and `int[,]` (outermost array first, as in C#), `delegate*<int,void>` for function
//!   pointers, and `__arglist` where more arguments may follow; custom modifiers are omitted.
//!
//! The canonical form, for comparing patterns, numbers generic parameters (`!0` of the type, `!!0` of the
//! method) and has no spaces except the one after `ref`. The display form uses declared names, has a space
//! after each comma, and writes a star as `\*`, because it is a pattern for its method.

use std::fmt::Write;

use super::names::append_named;
use super::{Convention, Method, SignatureError, Type, TypeNames, parse_method};

/// Form in which a type is printed.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// For patterns: generic parameters by number, no spaces.
    Canonical,
    /// For people: generic parameters by name, or by number if they have none.
    Display {
        /// Names of the type's generic parameters, those of enclosing types first.
        of_type: &'a [String],
        /// Names of the method's own generic parameters.
        of_method: &'a [String],
        /// Passing of by-reference parameters, by their number from 1; missing ones are `ref`.
        passing: &'a [(u32, Passing)],
    },
}

/// The way C# passes a by-reference parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Passing {
    /// Read and written.
    #[default]
    Ref,
    /// Only read.
    In,
    /// Only read, and the argument must be a variable.
    RefReadonly,
    /// Only written.
    Out,
}

impl Passing {
    /// Decodes `CorParamAttr` (ECMA-335 II.23.1.13): `pdIn` alone, `pdOut` alone, or neither. `pdIn` alone may
    /// also mean `[In] ref`, for marshalling, or `ref readonly`; only attributes distinguish them. (Nothing
    /// distinguishes `out` from `[Out] ref`.)
    pub fn of_flags(flags: u32) -> Passing {
        const IN: u32 = 0x1;
        const OUT: u32 = 0x2;
        match flags & (IN | OUT) {
            IN => Passing::In,
            OUT => Passing::Out,
            _ => Passing::Ref,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Passing::Ref => "ref ",
            Passing::In => "in ",
            Passing::RefReadonly => "ref readonly ",
            Passing::Out => "out ",
        }
    }
}

/// Appends `(int,!0,!!0,System.Collections.Generic.List<string>)` for a method's signature; `(?)` for a blob
/// that is not one.
pub fn canonical_parameters(blob: &[u8], names: &impl TypeNames, out: &mut String) {
    print_or_mark(blob, Form::Canonical, names, out);
}

/// Appends `(int, T, out U, System.Collections.Generic.List<string>)` for a method's signature; `(?)` for a
/// blob that is not one. Names and `passing` as in [`Form::Display`].
pub fn display_parameters(
    blob: &[u8],
    names: &impl TypeNames,
    of_type: &[String],
    of_method: &[String],
    passing: &[(u32, Passing)],
    out: &mut String,
) {
    print_or_mark(blob, Form::Display { of_type, of_method, passing }, names, out);
}

/// Returns whether a parameter of a method's signature may be by reference; false means that none is.
pub fn may_pass_by_reference(blob: &[u8]) -> bool {
    const ELEMENT_TYPE_BYREF: u8 = 0x10;
    blob.get(1..).is_some_and(|after_convention| after_convention.contains(&ELEMENT_TYPE_BYREF))
}

fn print_or_mark(blob: &[u8], form: Form<'_>, names: &impl TypeNames, out: &mut String) {
    if print_parameters(blob, form, names, out).is_err() {
        out.push_str("(?)");
    }
}

/// Appends the parameter list of a method's signature.
///
/// # Errors
/// If the blob is not a method's signature; then nothing is appended.
pub fn print_parameters(
    blob: &[u8],
    form: Form<'_>,
    names: &impl TypeNames,
    out: &mut String,
) -> Result<(), SignatureError> {
    append_parameters(&parse_method(blob)?, form, names, out);
    Ok(())
}

/// Appends the parameter list of a method.
pub fn append_parameters(method: &Method, form: Form<'_>, names: &impl TypeNames, out: &mut String) {
    let printer = Printer { form, names };
    out.push('(');
    for (number, param) in (1..).zip(&method.params) {
        if number > 1 {
            out.push_str(printer.separator());
        }
        printer.parameter(number, param, out);
    }
    if method.convention == Convention::VarArg {
        if !method.params.is_empty() {
            out.push_str(printer.separator());
        }
        out.push_str("__arglist");
    }
    out.push(')');
}

/// Appends a type. A token without a name is printed as a number.
pub fn append_type(ty: &Type, form: Form<'_>, names: &impl TypeNames, out: &mut String) {
    Printer { form, names }.ty(ty, out);
}

struct Printer<'a, N> {
    form: Form<'a>,
    names: &'a N,
}

impl<N: TypeNames> Printer<'_, N> {
    fn separator(&self) -> &'static str {
        match self.form {
            Form::Canonical => ",",
            Form::Display { .. } => ", ",
        }
    }

    fn star(&self) -> &'static str {
        match self.form {
            Form::Canonical => "*",
            Form::Display { .. } => "\\*",
        }
    }

    /// Prints the parameter with this number, counted from 1.
    fn parameter(&self, number: u32, ty: &Type, out: &mut String) {
        let mut unmodified = ty;
        while let Type::Modified { inner, .. } = unmodified {
            unmodified = inner;
        }
        match (unmodified, self.form) {
            (Type::ByRef(inner), Form::Display { passing, .. }) => {
                let passing_of_parameter = passing
                    .iter()
                    .find(|(of, _)| *of == number)
                    .map(|(_, passing_of_parameter)| *passing_of_parameter);
                out.push_str(passing_of_parameter.unwrap_or_default().word());
                self.ty(inner, out);
            }
            _ => self.ty(ty, out),
        }
    }

    fn ty(&self, ty: &Type, out: &mut String) {
        match ty {
            Type::Class(token) | Type::ValueType(token) => self.named(*token, &[], out),
            Type::Generic { token, arguments, .. } => self.named(*token, arguments, out),
            Type::Var(number) => {
                let names = match self.form {
                    Form::Canonical => &[],
                    Form::Display { of_type, .. } => of_type,
                };
                parameter("!", *number, names, out);
            }
            Type::MVar(number) => {
                let names = match self.form {
                    Form::Canonical => &[],
                    Form::Display { of_method, .. } => of_method,
                };
                parameter("!!", *number, names, out);
            }
            Type::Ptr(inner) => {
                self.ty(inner, out);
                out.push_str(self.star());
            }
            Type::ByRef(inner) => {
                out.push_str("ref ");
                self.ty(inner, out);
            }
            Type::SzArray(_) | Type::Array { .. } => self.array(ty, out),
            Type::FnPtr(method) => self.function_pointer(method, out),
            Type::Modified { inner, .. } | Type::Pinned(inner) => self.ty(inner, out),
            simple => out.push_str(keyword(simple)),
        }
    }

    fn named(&self, token: u32, arguments: &[Type], out: &mut String) {
        match self.names.type_name(token) {
            Some(name) if arguments.is_empty() => {
                out.push_str(if name == "System.Decimal" { "decimal" } else { &name });
            }
            Some(name) => append_named(&name, arguments.len(), self.separator(), out, &mut |out, index| {
                if let Some(argument) = arguments.get(index) {
                    self.ty(argument, out);
                }
            }),
            // Writing to a string cannot fail.
            None => _ = write!(out, "0x{token:08x}"),
        }
    }

    /// Prints the element first, then the ranks from the outermost array inwards.
    fn array(&self, array: &Type, out: &mut String) {
        let mut element = array;
        while let Type::SzArray(inner) | Type::Array { element: inner, .. } = element {
            element = inner;
        }
        self.ty(element, out);
        let mut ty = array;
        while let Type::SzArray(inner) | Type::Array { element: inner, .. } = ty {
            out.push('[');
            if let Type::Array { rank, .. } = ty {
                // Only bad metadata has higher ranks than a runtime accepts.
                out.extend(std::iter::repeat_n(',', (*rank).clamp(1, 32) as usize - 1));
                // A one-dimensional array that need not start at 0 is another type than `[]`.
                if *rank == 1 {
                    out.push_str(self.star());
                }
            }
            out.push(']');
            ty = inner;
        }
    }

    fn function_pointer(&self, method: &Method, out: &mut String) {
        out.push_str("delegate");
        out.push_str(self.star());
        out.push('<');
        for param in &method.params {
            self.ty(param, out);
            out.push_str(self.separator());
        }
        self.ty(&method.result, out);
        out.push('>');
    }
}

fn parameter(mark: &str, number: u32, names: &[String], out: &mut String) {
    match names.get(number as usize) {
        Some(name) => out.push_str(name),
        // Writing to a string cannot fail.
        None => _ = write!(out, "{mark}{number}"),
    }
}

fn keyword(ty: &Type) -> &'static str {
    match ty {
        Type::Void => "void",
        Type::Boolean => "bool",
        Type::Char => "char",
        Type::I1 => "sbyte",
        Type::U1 => "byte",
        Type::I2 => "short",
        Type::U2 => "ushort",
        Type::I4 => "int",
        Type::U4 => "uint",
        Type::I8 => "long",
        Type::U8 => "ulong",
        Type::R4 => "float",
        Type::R8 => "double",
        Type::String => "string",
        Type::Object => "object",
        Type::I => "nint",
        Type::U => "nuint",
        Type::TypedByRef => "System.TypedReference",
        _ => "?",
    }
}
