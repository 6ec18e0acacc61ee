//! Explicit implementations: methods that a type declares to be those of members with another name
//! (ECMA-335 II.22.27), as C# does for `void IHandler.Handle()`.
#![forbid(unsafe_code)]

use super::matched_method::arity_of;
use super::names::ModuleNames;
use crate::clr::metadata::Import;
use std::sync::Arc;

/// Table numbers of MethodDef and MemberRef (ECMA-335 II.22).
const METHOD_DEF: u32 = 0x06;
const MEMBER_REF: u32 = 0x0A;

/// A method that its type declares to implement a member.
#[derive(Debug, PartialEq, Eq)]
pub struct ExplicitImplementation {
    /// MethodDef token of the method.
    pub method: u32,
    /// Full metadata name of the interface or base class.
    pub type_name: Arc<str>,
    /// Its type arguments in canonical form.
    pub arguments: Vec<String>,
    /// Metadata name of the member.
    pub member: String,
    /// Number of the member's own type parameters.
    pub arity: u32,
    /// Canonical parameters of the member, in terms of the type parameters of its type.
    pub parameters: String,
}

/// Returns the explicit implementations of a type.
pub fn explicit_implementations(
    import: &Import,
    names: &ModuleNames,
    type_def: u32,
) -> Vec<ExplicitImplementation> {
    let read = |(method, declaration): (u32, u32)| {
        let (parent, member, signature) = match declaration >> 24 {
            METHOD_DEF => {
                let member = import.method(declaration).ok()?;
                (member.type_def, member.name, member.signature)
            }
            MEMBER_REF => {
                let member = import.member_ref(declaration).ok()?;
                (member.parent, member.name, member.signature)
            }
            _ => return None,
        };
        let (parent, arguments) = names.instance(import, parent)?;
        Some(ExplicitImplementation {
            method,
            type_name: names.type_name(import, parent)?,
            arguments,
            arity: arity_of(&signature),
            parameters: names.canonical_parameters(import, &signature),
            member,
        })
    };
    let all = import.method_impls(type_def).into_iter();
    all.filter(|(method, _)| method >> 24 == METHOD_DEF).filter_map(read).collect()
}
