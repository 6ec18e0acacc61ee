//! Decodes a body whose bytes have all arrived, through serde. Integers and strings are bincode's own; this module
//! adds the structure, because bincode's allocates a string of any claimed length before it looks for the bytes.
//!
//! Nothing here allocates. A string is borrowed from the body, so a claim beyond its end is an error.

use crate::peer_text::{clean, shortened};
use bincode::BorrowDecode;
use bincode::error::DecodeError;
use serde::Deserializer;
use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, IntoDeserializer, SeqAccess, VariantAccess, Visitor,
};
use std::borrow::Cow;

/// The undecoded rest of a body.
pub(super) struct BodyDecoder<'de> {
    rest: &'de [u8],
    texts: Texts,
}

/// How texts are taken from a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Texts {
    /// As they are.
    Exact,
    /// Made safe to show (`peer_text`).
    Cleaned,
}

impl<'de> BodyDecoder<'de> {
    pub(super) fn new(body: &'de [u8], texts: Texts) -> BodyDecoder<'de> {
        BodyDecoder { rest: body, texts }
    }

    /// Returns the number of bytes not decoded yet.
    pub(super) fn remaining(&self) -> usize {
        self.rest.len()
    }

    fn take<T: BorrowDecode<'de, ()>>(&mut self) -> Result<T, DecodeError> {
        let (value, used) = bincode::borrow_decode_from_slice(self.rest, bincode::config::standard())?;
        self.rest = self.rest.get(used..).unwrap_or_default();
        Ok(value)
    }

    fn text<V: Visitor<'de>>(&mut self, whole: bool, visitor: V) -> Result<V::Value, DecodeError> {
        let text: &'de str = self.take()?;
        if self.texts == Texts::Exact {
            return visitor.visit_borrowed_str(text);
        }
        match clean(if whole { text } else { shortened(text) }) {
            Cow::Borrowed(text) => visitor.visit_borrowed_str(text),
            Cow::Owned(text) => visitor.visit_string(text),
        }
    }

    fn entries<V: Visitor<'de>>(&mut self, count: usize, visitor: V) -> Result<V::Value, DecodeError> {
        visitor.visit_seq(Entries { decoder: self, left: count })
    }
}

/// Deserializes values that bincode decodes alone.
macro_rules! plain {
    ($($deserialize:ident $visit:ident)+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
            visitor.$visit(self.take()?)
        }
    )+};
}

/// Refuses what no message contains.
macro_rules! never {
    ($($deserialize:ident)+) => {$(
        fn $deserialize<V: Visitor<'de>>(self, _: V) -> Result<V::Value, DecodeError> {
            Err(DecodeError::custom("messages contain no such type"))
        }
    )+};
}

impl<'de> Deserializer<'de> for &mut BodyDecoder<'de> {
    type Error = DecodeError;

    plain! {
        deserialize_bool visit_bool
        deserialize_u8 visit_u8
        deserialize_u16 visit_u16
        deserialize_u32 visit_u32
        deserialize_u64 visit_u64
        deserialize_i8 visit_i8
        deserialize_i16 visit_i16
        deserialize_i32 visit_i32
        deserialize_i64 visit_i64
    }

    never! {
        deserialize_any deserialize_f32 deserialize_f64 deserialize_char deserialize_bytes
        deserialize_unit deserialize_map deserialize_identifier deserialize_ignored_any
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(false, visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(false, visitor)
    }

    /// Several texts back to back, with offsets elsewhere ([`crate::catalogue::StringColumn`]).
    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        self.text(true, visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        match self.take::<u8>()? {
            0 => visitor.visit_none(),
            1 => visitor.visit_some(self),
            other => Err(DecodeError::custom(format_args!("an option marked {other}; only 0 and 1 exist"))),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DecodeError> {
        let count = self.take()?;
        self.entries(count, visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.entries(len, visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        len: usize,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.entries(len, visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.entries(fields.len(), visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_unit()
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        visitor.visit_enum(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The entries of a list, a tuple or a structure that are not decoded yet.
struct Entries<'a, 'de> {
    decoder: &'a mut BodyDecoder<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for Entries<'_, 'de> {
    type Error = DecodeError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DecodeError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        seed.deserialize(&mut *self.decoder).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> EnumAccess<'de> for &mut BodyDecoder<'de> {
    type Error = DecodeError;
    type Variant = Self;

    fn variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<(T::Value, Self), DecodeError> {
        let variant: u32 = self.take()?;
        Ok((seed.deserialize(IntoDeserializer::<DecodeError>::into_deserializer(variant))?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut BodyDecoder<'de> {
    type Error = DecodeError;

    fn unit_variant(self) -> Result<(), DecodeError> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DecodeError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, len: usize, visitor: V) -> Result<V::Value, DecodeError> {
        self.entries(len, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, DecodeError> {
        self.entries(fields.len(), visitor)
    }
}
