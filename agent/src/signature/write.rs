//! Writes [`Type`]s and [`Method`]s to blobs.

use super::parse::{EXPLICIT_THIS, GENERIC, HAS_THIS, LOCALS, SENTINEL, parse_locals};
use super::{Convention, Method, SignatureError, Type};

/// Returns the signature of a call site, for a `calli`: `void(int32)` by unmanaged cdecl, `int32(int32)` by
/// managed default. `modifiers` are TypeDef or TypeRef tokens that become `modopt`s of the return type, as
/// [`Convention::Unmanaged`] requires (`CallConvSuppressGCTransition`).
///
/// # Errors
/// If a modifier is not a type's token.
pub fn call_site(
    convention: Convention,
    modifiers: &[u32],
    result: Type,
    params: &[Type],
) -> Result<Vec<u8>, SignatureError> {
    let result = modifiers.iter().rev().fold(result, |inner, modifier| Type::Modified {
        required: false,
        modifier: *modifier,
        inner: Box::new(inner),
    });
    write_method(&Method {
        convention,
        has_this: false,
        explicit_this: false,
        generic: 0,
        result,
        params: params.to_vec(),
        fixed: None,
    })
}

/// Returns the signature of local variables.
///
/// # Errors
/// If a token or number does not fit.
pub fn write_locals(locals: &[Type]) -> Result<Vec<u8>, SignatureError> {
    let mut out = vec![LOCALS];
    number(locals.len() as u32, &mut out)?;
    for local in locals {
        write_type(local, &mut out)?;
    }
    Ok(out)
}

/// Appends the locals `more` to those of `existing` (empty for none); returns the signature and the number of
/// the first of `more`. The existing ones stay byte for byte.
///
/// # Errors
/// If `existing` is not a local-variable signature, or `more` does not fit.
pub fn append_locals(existing: &[u8], more: &[Type]) -> Result<(Vec<u8>, u32), SignatureError> {
    if existing.is_empty() {
        return Ok((write_locals(more)?, 0));
    }
    let first = parse_locals(existing)?.len() as u32;
    let mut out = vec![LOCALS];
    number(first + more.len() as u32, &mut out)?;
    // The kind takes one byte; the first byte of the count determines the size of the count.
    let count_bytes = match existing.get(1) {
        Some(0x00..=0x7F) => 1,
        Some(0x80..=0xBF) => 2,
        _ => 4,
    };
    out.extend_from_slice(existing.get(1 + count_bytes..).unwrap_or_default());
    for local in more {
        write_type(local, &mut out)?;
    }
    Ok((out, first))
}

/// Returns the blob of a method's signature.
///
/// # Errors
/// If a token or number does not fit.
pub fn write_method(method: &Method) -> Result<Vec<u8>, SignatureError> {
    let mut out = Vec::with_capacity(4 + 2 * method.params.len());
    append_method(method, &mut out)?;
    Ok(out)
}

fn append_method(method: &Method, out: &mut Vec<u8>) -> Result<(), SignatureError> {
    let mut first = match method.convention {
        Convention::Default => 0x00,
        Convention::Cdecl => 0x01,
        Convention::StdCall => 0x02,
        Convention::ThisCall => 0x03,
        Convention::FastCall => 0x04,
        Convention::VarArg => 0x05,
        Convention::Unmanaged => 0x09,
    };
    for (present, flag) in
        [(method.generic > 0, GENERIC), (method.has_this, HAS_THIS), (method.explicit_this, EXPLICIT_THIS)]
    {
        first |= if present { flag } else { 0 };
    }
    out.push(first);
    if method.generic > 0 {
        number(method.generic, out)?;
    }
    number(method.params.len() as u32, out)?;
    write_type(&method.result, out)?;
    for (index, param) in method.params.iter().enumerate() {
        if method.fixed == Some(index as u32) {
            out.push(SENTINEL);
        }
        write_type(param, out)?;
    }
    Ok(())
}

/// Appends a type to a blob.
///
/// # Errors
/// If a token or number does not fit.
pub fn write_type(ty: &Type, out: &mut Vec<u8>) -> Result<(), SignatureError> {
    let mut with = |first: u8, inner: &Type| {
        out.push(first);
        write_type(inner, out)
    };
    let simple = match ty {
        Type::Void => 0x01,
        Type::Boolean => 0x02,
        Type::Char => 0x03,
        Type::I1 => 0x04,
        Type::U1 => 0x05,
        Type::I2 => 0x06,
        Type::U2 => 0x07,
        Type::I4 => 0x08,
        Type::U4 => 0x09,
        Type::I8 => 0x0A,
        Type::U8 => 0x0B,
        Type::R4 => 0x0C,
        Type::R8 => 0x0D,
        Type::String => 0x0E,
        Type::TypedByRef => 0x16,
        Type::I => 0x18,
        Type::U => 0x19,
        Type::Object => 0x1C,
        Type::Ptr(inner) => return with(0x0F, inner),
        Type::ByRef(inner) => return with(0x10, inner),
        Type::SzArray(inner) => return with(0x1D, inner),
        Type::Pinned(inner) => return with(0x45, inner),
        Type::ValueType(coded) => return tagged(0x11, *coded, out),
        Type::Class(coded) => return tagged(0x12, *coded, out),
        Type::Var(index) => {
            out.push(0x13);
            return number(*index, out);
        }
        Type::MVar(index) => {
            out.push(0x1E);
            return number(*index, out);
        }
        Type::Array { element, rank, sizes, lower_bounds } => {
            with(0x14, element)?;
            number(*rank, out)?;
            number(sizes.len() as u32, out)?;
            sizes.iter().try_for_each(|size| number(*size, out))?;
            number(lower_bounds.len() as u32, out)?;
            return lower_bounds.iter().try_for_each(|bound| signed(*bound, out));
        }
        Type::Generic { value_type, token, arguments } => {
            out.push(0x15);
            tagged(if *value_type { 0x11 } else { 0x12 }, *token, out)?;
            number(arguments.len() as u32, out)?;
            return arguments.iter().try_for_each(|argument| write_type(argument, out));
        }
        Type::FnPtr(method) => {
            out.push(0x1B);
            return append_method(method, out);
        }
        Type::Modified { required, modifier, inner } => {
            tagged(if *required { 0x1F } else { 0x20 }, *modifier, out)?;
            return write_type(inner, out);
        }
    };
    out.push(simple);
    Ok(())
}

fn tagged(first: u8, token: u32, out: &mut Vec<u8>) -> Result<(), SignatureError> {
    let coded = coded(token).ok_or(SignatureError::BadToken(token))?;
    out.push(first);
    number(coded, out)
}

/// Encodes a TypeDef, TypeRef or TypeSpec token for signatures (ECMA-335 II.23.2.8).
fn coded(token: u32) -> Option<u32> {
    let tag = match token >> 24 {
        0x02 => 0,
        0x01 => 1,
        0x1B => 2,
        _ => return None,
    };
    Some((token & 0x00FF_FFFF) << 2 | tag)
}

/// Appends a TypeDef, TypeRef or TypeSpec token in the form of signatures. Any other token becomes the null
/// TypeDef, which no reader accepts.
pub fn write_type_token(out: &mut Vec<u8>, token: u32) {
    // 26 bits always fit.
    let _ = number(coded(token).unwrap_or(0), out);
}

/// Appends a compressed unsigned number in its shortest form (ECMA-335 II.23.2).
fn number(value: u32, out: &mut Vec<u8>) -> Result<(), SignatureError> {
    match value {
        0..=0x7F => out.push(value as u8),
        0x80..=0x3FFF => out.extend_from_slice(&(value as u16 | 0x8000).to_be_bytes()),
        0x4000..=0x1FFF_FFFF => out.extend_from_slice(&(value | 0xC000_0000).to_be_bytes()),
        _ => return Err(SignatureError::NumberTooLarge(value)),
    }
    Ok(())
}

/// Appends a compressed signed number in its shortest form.
fn signed(value: i32, out: &mut Vec<u8>) -> Result<(), SignatureError> {
    let rotated = |bits: u32| {
        let mask = (1_u32 << bits) - 1;
        let value = value as u32 & mask;
        (value << 1 | value >> (bits - 1)) & mask
    };
    match value {
        -0x40..0x40 => out.push(rotated(7) as u8),
        -0x2000..0x2000 => out.extend_from_slice(&(rotated(14) as u16 | 0x8000).to_be_bytes()),
        -0x1000_0000..0x1000_0000 => {
            out.extend_from_slice(&(rotated(29) | 0xC000_0000).to_be_bytes());
        }
        _ => return Err(SignatureError::NumberTooLarge(value as u32)),
    }
    Ok(())
}
