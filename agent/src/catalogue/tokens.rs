//! Names the tokens in a method body.
#![forbid(unsafe_code)]

use super::names::{ModuleNames, Resolver};
use crate::clr::metadata::Import;
use crate::signature::{
    Form, Type, append_parameters, append_type, display_type_name, parse_field, parse_locals, parse_method,
    parse_method_spec, parse_type_spec,
};
use std::fmt::Write;

/// UTF-16 units of a string literal to show.
const SHOWN_OF_LITERAL: usize = 200;

/// Names the tokens of one body, with the declared names of its generic parameters.
pub struct Tokens<'a> {
    import: &'a Import<'a>,
    names: &'a ModuleNames,
    scope: &'a Scope,
}

/// Names of the generic parameters that a body may use.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    of_type: Vec<String>,
    of_method: Vec<String>,
}

impl Scope {
    /// Returns the scope of a method of a type.
    pub fn of(import: &Import, type_def: u32, method: u32) -> Scope {
        Scope { of_type: import.generic_parameters(type_def), of_method: import.generic_parameters(method) }
    }

    fn form(&self) -> Form<'_> {
        Form::Display { of_type: &self.of_type, of_method: &self.of_method, passing: &[] }
    }
}

/// Shows another method's generic parameters by number, because their arguments appear next to them.
const BY_NUMBER: Form<'_> = Form::Display { of_type: &[], of_method: &[], passing: &[] };

impl<'a> Tokens<'a> {
    /// Makes one for bodies of a module.
    pub fn new(import: &'a Import<'a>, names: &'a ModuleNames, scope: &'a Scope) -> Tokens<'a> {
        Tokens { import, names, scope }
    }

    /// Describes the token: a type, `int Shop.Cart.Add(int)`, a field with its type, a quoted literal, the
    /// signature of a call. None if the metadata lacks the token.
    pub fn name(&self, token: u32) -> Option<String> {
        let text = match token >> 24 {
            0x01 | 0x02 | 0x1B => self.type_name(token)?,
            0x04 => {
                let field = self.import.field(token).ok()?;
                self.field(&self.type_name(field.parent)?, &field.name, &field.signature)
            }
            0x06 => self.method_def(token, "")?,
            0x0A => self.member_ref(token, "")?,
            0x2B => self.method_spec(token)?,
            0x11 => self.call_site(token)?,
            0x70 => return self.literal(token),
            _ => return None,
        };
        // Names are listed as patterns, which have a backslash before a pointer's star.
        Some(text.replace(r"\*", "*"))
    }

    /// Returns the types of at most `limit` local variables that a blob declares, and the number of all.
    pub fn locals(&self, blob: &[u8], limit: usize) -> (Vec<String>, usize) {
        let Ok(locals) = parse_locals(blob) else { return (Vec::new(), 0) };
        let shown = locals.iter().take(limit).map(|local| {
            let pinned = if matches!(local, Type::Pinned(_)) { "pinned " } else { "" };
            format!("{pinned}{}", self.ty(local, self.scope.form())).replace(r"\*", "*")
        });
        (shown.collect(), locals.len())
    }

    fn ty(&self, ty: &Type, form: Form<'_>) -> String {
        let mut text = String::new();
        append_type(ty, form, &Resolver { names: self.names, import: self.import }, &mut text);
        text
    }

    fn type_name(&self, token: u32) -> Option<String> {
        match token >> 24 {
            0x1B => {
                let spec = parse_type_spec(&self.import.type_spec(token).ok()?).ok()?;
                Some(self.ty(&spec, self.scope.form()))
            }
            0x01 | 0x02 => {
                let name = self.names.type_name(self.import, token)?;
                let parameters = if token >> 24 == 0x02 && name.contains('`') {
                    self.import.generic_parameters(token)
                } else {
                    Vec::new()
                };
                Some(if parameters.is_empty() {
                    name.to_string()
                } else {
                    display_type_name(&name, &parameters)
                })
            }
            // A vararg call names the method itself; a global method of another module has no type.
            0x06 => self.import.method(token).ok().and_then(|method| self.type_name(method.type_def)),
            0x1A => Some("<Module>".into()),
            _ => None,
        }
    }

    fn field(&self, parent: &str, name: &str, signature: &[u8]) -> String {
        match parse_field(signature) {
            Ok(ty) => format!("{} {parent}.{name}", self.ty(&ty, BY_NUMBER)),
            Err(_) => format!("{parent}.{name}"),
        }
    }

    /// Formats a method with its result and parameters; `arguments` follow its name.
    fn method(&self, parent: &str, name: &str, arguments: &str, signature: &[u8]) -> String {
        let Ok(method) = parse_method(signature) else { return format!("{parent}.{name}{arguments}(?)") };
        let mut text = format!("{} {parent}.{name}{arguments}", self.ty(&method.result, BY_NUMBER));
        let resolver = Resolver { names: self.names, import: self.import };
        append_parameters(&method, BY_NUMBER, &resolver, &mut text);
        text
    }

    fn method_def(&self, token: u32, arguments: &str) -> Option<String> {
        let method = self.import.method(token).ok()?;
        Some(self.method(&self.type_name(method.type_def)?, &method.name, arguments, &method.signature))
    }

    fn member_ref(&self, token: u32, arguments: &str) -> Option<String> {
        let member = self.import.member_ref(token).ok()?;
        let parent = self.type_name(member.parent)?;
        // The low four bits of the first byte are the kind of signature: 6 is a field.
        Some(match member.signature.first() {
            Some(0x06) => self.field(&parent, &member.name, &member.signature),
            _ => self.method(&parent, &member.name, arguments, &member.signature),
        })
    }

    fn method_spec(&self, token: u32) -> Option<String> {
        let (method, blob) = self.import.method_spec(token).ok()?;
        let arguments = parse_method_spec(&blob).ok()?;
        let words: Vec<String> = arguments.iter().map(|ty| self.ty(ty, self.scope.form())).collect();
        let arguments = format!("<{}>", words.join(", "));
        match method >> 24 {
            0x06 => self.method_def(method, &arguments),
            _ => self.member_ref(method, &arguments),
        }
    }

    fn call_site(&self, token: u32) -> Option<String> {
        let method = parse_method(&self.import.stand_alone_sig(token).ok()?).ok()?;
        let mut text = format!("{} ", self.ty(&method.result, self.scope.form()));
        let resolver = Resolver { names: self.names, import: self.import };
        append_parameters(&method, self.scope.form(), &resolver, &mut text);
        Some(text)
    }

    fn literal(&self, token: u32) -> Option<String> {
        let (literal, more) = self.import.user_string(token, SHOWN_OF_LITERAL).ok()?;
        let mut text = String::from("\"");
        for letter in literal.chars() {
            match letter {
                '"' | '\\' => text.extend(['\\', letter]),
                '\n' => text.push_str("\\n"),
                '\r' => text.push_str("\\r"),
                '\t' => text.push_str("\\t"),
                // Writing to a string cannot fail.
                _ if letter.is_control() => _ = write!(text, "\\u{:04x}", u32::from(letter)),
                _ => text.push(letter),
            }
        }
        text.push_str(if more { "\"…" } else { "\"" });
        Some(text)
    }
}
