//! Parses blobs into [`Type`]s and [`Method`]s.

use super::{Convention, Method, Property, SignatureError, Type};

/// Maximum nesting of types: compilers reach about ten, and each level uses stack.
pub(super) const MAX_DEPTH: usize = 64;

pub(super) const FIELD: u8 = 0x06;
pub(super) const LOCALS: u8 = 0x07;
pub(super) const PROPERTY: u8 = 0x08;
pub(super) const METHOD_SPEC: u8 = 0x0A;
pub(super) const GENERIC: u8 = 0x10;
pub(super) const HAS_THIS: u8 = 0x20;
pub(super) const EXPLICIT_THIS: u8 = 0x40;
pub(super) const SENTINEL: u8 = 0x41;
const KIND_MASK: u8 = 0x0F;

/// Parses a method's signature, of a MethodDef, a MemberRef or a StandAloneSig for a call site.
///
/// # Errors
/// If the blob is not exactly such a signature.
pub fn parse_method(blob: &[u8]) -> Result<Method, SignatureError> {
    whole(blob, |reader| reader.method(0))
}

/// Parses the type of a field.
///
/// # Errors
/// If the blob is not exactly a field's signature.
pub fn parse_field(blob: &[u8]) -> Result<Type, SignatureError> {
    whole(blob, |reader| {
        reader.kind(FIELD, "field signature")?;
        reader.ty(0)
    })
}

/// Parses the types of local variables.
///
/// # Errors
/// If the blob is not exactly a local-variable signature.
pub fn parse_locals(blob: &[u8]) -> Result<Vec<Type>, SignatureError> {
    whole(blob, |reader| {
        reader.kind(LOCALS, "local-variable signature")?;
        let count = reader.count()?;
        reader.types(count, 0)
    })
}

/// Parses a property's type and the parameters of an indexer.
///
/// # Errors
/// If the blob is not exactly a property's signature.
pub fn parse_property(blob: &[u8]) -> Result<Property, SignatureError> {
    whole(blob, |reader| {
        let first = reader.byte()?;
        if first & KIND_MASK != PROPERTY {
            return Err(SignatureError::WrongKind { found: first, wanted: "property signature" });
        }
        let count = reader.count()?;
        let ty = reader.ty(0)?;
        Ok(Property { has_this: first & HAS_THIS != 0, ty, params: reader.types(count, 0)? })
    })
}

/// Parses the type that a TypeSpec stands for.
///
/// # Errors
/// If the blob is not exactly a type.
pub fn parse_type_spec(blob: &[u8]) -> Result<Type, SignatureError> {
    whole(blob, |reader| reader.ty(0))
}

/// Parses the type arguments of a MethodSpec.
///
/// # Errors
/// If the blob is not exactly a method instantiation.
pub fn parse_method_spec(blob: &[u8]) -> Result<Vec<Type>, SignatureError> {
    whole(blob, |reader| {
        reader.kind(METHOD_SPEC, "method instantiation")?;
        let count = reader.count()?;
        reader.types(count, 0)
    })
}

/// Returns the first argument of an attribute whose constructor takes a string or a type, from its value
/// (ECMA-335 II.23.3); None if there is none or it is null.
pub fn first_string(value: &[u8]) -> Option<String> {
    const PROLOG: [u8; 2] = [1, 0];
    let mut reader = Reader { rest: value.strip_prefix(&PROLOG)? };
    let length = usize::try_from(reader.number().ok()?).ok()?;
    String::from_utf8(reader.rest.get(..length)?.to_vec()).ok()
}

fn whole<T>(
    blob: &[u8],
    read: impl FnOnce(&mut Reader<'_>) -> Result<T, SignatureError>,
) -> Result<T, SignatureError> {
    let mut reader = Reader { rest: blob };
    let value = read(&mut reader)?;
    match reader.rest.len() {
        0 => Ok(value),
        more => Err(SignatureError::Trailing(more)),
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn byte(&mut self) -> Result<u8, SignatureError> {
        let (first, rest) = self.rest.split_first().ok_or(SignatureError::Truncated)?;
        self.rest = rest;
        Ok(*first)
    }

    fn kind(&mut self, kind: u8, wanted: &'static str) -> Result<(), SignatureError> {
        let found = self.byte()?;
        if found == kind { Ok(()) } else { Err(SignatureError::WrongKind { found, wanted }) }
    }

    /// Reads a compressed unsigned number (ECMA-335 II.23.2); returns it and the number of bits of its form.
    fn number_and_bits(&mut self) -> Result<(u32, u32), SignatureError> {
        let first = self.byte()?;
        let (mut value, more, bits) = match first {
            0x00..=0x7F => (u32::from(first), 0, 7),
            0x80..=0xBF => (u32::from(first & 0x3F), 1, 14),
            0xC0..=0xDF => (u32::from(first & 0x1F), 3, 29),
            _ => return Err(SignatureError::BadNumber(first)),
        };
        for _ in 0..more {
            value = value << 8 | u32::from(self.byte()?);
        }
        Ok((value, bits))
    }

    fn number(&mut self) -> Result<u32, SignatureError> {
        self.number_and_bits().map(|(value, _)| value)
    }

    /// Reads a compressed signed number, which is rotated left by one within the bits of its form.
    fn signed(&mut self) -> Result<i32, SignatureError> {
        let (value, bits) = self.number_and_bits()?;
        let magnitude = (value >> 1) as i32;
        Ok(if value & 1 == 0 { magnitude } else { magnitude - (1 << (bits - 1)) })
    }

    /// Reads the number of items that follow, each of at least one byte.
    fn count(&mut self) -> Result<usize, SignatureError> {
        let count = self.number()? as usize;
        if count > self.rest.len() { Err(SignatureError::Truncated) } else { Ok(count) }
    }

    /// Reads a TypeDef, TypeRef or TypeSpec token (ECMA-335 II.23.2.8).
    fn token(&mut self) -> Result<u32, SignatureError> {
        let coded = self.number()?;
        let table = match coded & 3 {
            0 => 0x0200_0000,
            1 => 0x0100_0000,
            2 => 0x1B00_0000,
            _ => return Err(SignatureError::BadToken(coded)),
        };
        let row = coded >> 2;
        // 29 bits can hold more rows than a token.
        if row > 0x00FF_FFFF { Err(SignatureError::BadToken(coded)) } else { Ok(table | row) }
    }

    fn types(&mut self, count: usize, depth: usize) -> Result<Vec<Type>, SignatureError> {
        let mut types = Vec::with_capacity(count.min(self.rest.len()));
        for _ in 0..count {
            types.push(self.ty(depth)?);
        }
        Ok(types)
    }

    fn boxed(&mut self, depth: usize) -> Result<Box<Type>, SignatureError> {
        self.ty(depth + 1).map(Box::new)
    }

    fn ty(&mut self, depth: usize) -> Result<Type, SignatureError> {
        if depth > MAX_DEPTH {
            return Err(SignatureError::TooDeep(MAX_DEPTH));
        }
        Ok(match self.byte()? {
            0x01 => Type::Void,
            0x02 => Type::Boolean,
            0x03 => Type::Char,
            0x04 => Type::I1,
            0x05 => Type::U1,
            0x06 => Type::I2,
            0x07 => Type::U2,
            0x08 => Type::I4,
            0x09 => Type::U4,
            0x0A => Type::I8,
            0x0B => Type::U8,
            0x0C => Type::R4,
            0x0D => Type::R8,
            0x0E => Type::String,
            0x0F => Type::Ptr(self.boxed(depth)?),
            0x10 => Type::ByRef(self.boxed(depth)?),
            0x11 => Type::ValueType(self.token()?),
            0x12 => Type::Class(self.token()?),
            0x13 => Type::Var(self.number()?),
            0x14 => self.array(depth)?,
            0x15 => self.generic(depth)?,
            0x16 => Type::TypedByRef,
            0x18 => Type::I,
            0x19 => Type::U,
            0x1B => Type::FnPtr(Box::new(self.method(depth + 1)?)),
            0x1C => Type::Object,
            0x1D => Type::SzArray(self.boxed(depth)?),
            0x1E => Type::MVar(self.number()?),
            first @ (0x1F | 0x20) => {
                Type::Modified { required: first == 0x1F, modifier: self.token()?, inner: self.boxed(depth)? }
            }
            0x45 => Type::Pinned(self.boxed(depth)?),
            other => return Err(SignatureError::BadType(other)),
        })
    }

    fn array(&mut self, depth: usize) -> Result<Type, SignatureError> {
        let element = self.boxed(depth)?;
        let rank = self.number()?;
        let mut sizes = Vec::new();
        for _ in 0..self.count()? {
            sizes.push(self.number()?);
        }
        let mut lower_bounds = Vec::new();
        for _ in 0..self.count()? {
            lower_bounds.push(self.signed()?);
        }
        Ok(Type::Array { element, rank, sizes, lower_bounds })
    }

    fn generic(&mut self, depth: usize) -> Result<Type, SignatureError> {
        let value_type = match self.byte()? {
            0x11 => true,
            0x12 => false,
            other => return Err(SignatureError::BadType(other)),
        };
        let token = self.token()?;
        let count = self.count()?;
        Ok(Type::Generic { value_type, token, arguments: self.types(count, depth + 1)? })
    }

    fn method(&mut self, depth: usize) -> Result<Method, SignatureError> {
        let first = self.byte()?;
        let convention = match first & KIND_MASK {
            0x00 => Convention::Default,
            0x01 => Convention::Cdecl,
            0x02 => Convention::StdCall,
            0x03 => Convention::ThisCall,
            0x04 => Convention::FastCall,
            0x05 => Convention::VarArg,
            0x09 => Convention::Unmanaged,
            _ => return Err(SignatureError::WrongKind { found: first, wanted: "method signature" }),
        };
        let generic = if first & GENERIC != 0 { self.number()? } else { 0 };
        let count = self.count()?;
        let result = self.ty(depth)?;
        let mut params = Vec::with_capacity(count.min(self.rest.len()));
        let mut fixed = None;
        for number in 0..count {
            if fixed.is_none() && self.rest.first() == Some(&SENTINEL) {
                self.byte()?;
                fixed = Some(number as u32);
            }
            params.push(self.ty(depth)?);
        }
        Ok(Method {
            convention,
            has_this: first & HAS_THIS != 0,
            explicit_this: first & EXPLICIT_THIS != 0,
            generic,
            result,
            params,
            fixed,
        })
    }
}
