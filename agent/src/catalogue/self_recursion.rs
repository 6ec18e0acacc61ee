//! Finds calls of a method to itself, by the tokens in its body.
#![forbid(unsafe_code)]

use crate::clr::metadata::{Import, MethodDef};
use crate::il::{Body, last_calls};
use crate::signature::{Type, parse_type_spec};

/// Whether a method's last call is to itself: optimised, it may recurse without growing the stack. `token` is its
/// MethodDef.
pub fn ends_in_itself(import: &Import, body: &Body, token: u32, method: &MethodDef) -> bool {
    last_calls(body).any(|called| names_itself(import, called, token, method))
}

/// Whether `called` is the method itself or an instantiation of it, of its type, or of both. True if it cannot be
/// read.
fn names_itself(import: &Import, called: u32, token: u32, method: &MethodDef) -> bool {
    const MEMBER_REF: u32 = 0x0A;
    const METHOD_SPEC: u32 = 0x2B;
    let called = match called >> 24 {
        METHOD_SPEC => match import.method_spec(called) {
            Ok((generic, _)) => generic,
            Err(_) => return true,
        },
        _ => called,
    };
    if called >> 24 != MEMBER_REF {
        return called == token;
    }
    let Ok(member) = import.member_ref(called) else { return true };
    // A call with variable arguments names the method itself, with its own signature.
    member.parent == token
        || is_of(import, member.parent, method.type_def)
            && member.name == method.name
            && member.signature == method.signature
}

/// Whether a MemberRef's parent is this type or an instantiation of it.
fn is_of(import: &Import, parent: u32, type_def: u32) -> bool {
    const TYPE_SPEC: u32 = 0x1B;
    if parent >> 24 != TYPE_SPEC {
        return parent == type_def;
    }
    match import.type_spec(parent).map(|blob| parse_type_spec(&blob)) {
        Ok(Ok(Type::Generic { token, .. })) => token == type_def,
        Ok(Ok(_)) => false,
        _ => true,
    }
}
